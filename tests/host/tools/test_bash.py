"""The `bash` tool: output, exit, timeouts and the end of all processes."""

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.host.tools.tool_bench import ToolBench, marked_processes, size_of, sleeping_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.base.secrets import Redactor
from tildone.run.kit.definition import AbortController, ToolResult
from tildone.run.tools import commands
from tildone.run.tools.commands import CommandOutput

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")

TOO_LONG = 60.0
"""In seconds. The processes sleep for hours."""


@pytest.fixture
def marked() -> Iterator[str]:
    """A unique duration to sleep; processes that remain after the test are killed."""
    seconds = unique_duration()
    yield seconds
    for pid in {*sleeping_processes(seconds), *marked_processes(seconds)}:
        os.kill(pid, signal.SIGKILL)


@contextmanager
def an_open_input() -> Iterator[None]:
    """Replace standard input by a pipe that stays open."""
    typed, typing = os.pipe()
    before = os.dup(0)
    os.dup2(typed, 0)
    yield
    os.dup2(before, 0)
    for descriptor in (before, typed, typing):
        os.close(descriptor)


def kept(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def busy(pid: int) -> int:
    """Return the CPU time of a process; raise an error if it has ended."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11])


@pytest.mark.parametrize(
    ("command", "text", "exit_code"),
    [
        ("echo one; echo two >&2; echo three", "one\ntwo\nthree", 0),
        ("echo so far; exit 3", "so far\n\n[Exit code 3]", 3),
        ("true", "(no output)", 0),
        ("kill -KILL $$", "(no output)\n\n[Ended by signal 9 (Killed)]", -9),
        (
            r"printf 'a\xff\xe2\x9cb \033[31mred\033[0m \033]0;title\007\000\r\nok ✓\n'",
            "a\ufffd\ufffdb red \ufffd\r\nok ✓",
            0,
        ),
    ],
)
async def test_output_and_errors_come_back_together(bench: ToolBench, command: str, text: str, exit_code: int) -> None:
    """Without colours, control characters and what is not UTF-8; the result says whether the command has failed."""
    result = await bench.bash(command)

    assert (result.text, result.details["exitCode"], result.is_error) == (text, exit_code, exit_code != 0)
    assert (await bench.bash("pwd; echo")).details["totalLines"] == 2
    assert (await bench.bash("pwd")).text == str(bench.folder)


async def test_there_is_no_input_and_no_pager(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is empty, and the rest of the environment is inherited."""
    monkeypatch.setenv("PAGER", "less")
    monkeypatch.setenv("MINE", "kept")

    with an_open_input():
        result = await bench.bash(
            "cat; read x; echo $? $TERM $PAGER $GIT_PAGER $MINE; (: </dev/tty) 2>&1 | wc -l", timeout=9
        )

    assert result.text == "1 dumb cat cat kept\n1"


async def test_a_command_that_cannot_be_started_is_an_error(bench: ToolBench) -> None:
    """So are invalid parameters."""
    assert "empty" in await bench.refusal("bash", command=" ")
    assert "timeout" in await bench.refusal("bash", command="ls", timeout=0)
    assert "cannot be started: embedded null byte" in await bench.refusal("bash", command="echo \0")
    assert "cannot be started: Argument list too long" in await bench.refusal("bash", command="#" * 3_000_000)
    bench.folder.rmdir()
    said = await bench.refusal("bash", command="true")
    assert re.search(r"The working directory .* is not there", said)


async def test_output_is_reported_while_the_command_runs(bench: ToolBench) -> None:
    """The command continues only after its first output has arrived."""
    os.mkfifo(bench.folder / "go")
    heard: list[ToolResult] = []

    running = asyncio.create_task(bench.bash("echo one; cat go; echo two", on_update=heard.append))
    await until_async(lambda: heard)
    first = heard[0]
    (bench.folder / "go").write_text("on\n", encoding="utf-8")
    result = await running

    assert (first.text, first.details) == ("one\n", {"totalLines": 1, "totalBytes": 4})
    assert result.text == "one\non\ntwo"


async def test_updates_are_rate_limited(bench: ToolBench) -> None:
    heard: list[ToolResult] = []

    result = await bench.bash("for i in $(seq 60); do echo $i; sleep 0.005; done", on_update=heard.append)

    assert result.details["totalLines"] == 60
    assert 1 <= len(heard) <= result.details["durationMs"] / 200 + 1


async def test_a_command_is_ended_at_its_timeout(bench: ToolBench, marked: str) -> None:
    result = await bench.bash(f"echo begun; sleep {marked}", timeout=2)

    note = "[Ended after 2 seconds: give a longer timeout if it needs more]"
    assert (result.is_error, result.text) == (True, f"begun\n\n{note}")
    assert (result.details["ending"], result.details["exitCode"]) == ("timeout", None)
    assert sleeping_processes(marked) == []


STUBBORN = """
export MARK={0}
setsid bash -c 'bash -c "trap \\"\\" TERM; exec sleep {0}" & wait' &
trap '' TERM
sleep {0} &
(sleep {0} &)
(bash -c 'sleep {0} & exit' &)
(set -m; sleep {0} &)
setsid sleep {0} &
setsid bash -c 'sleep {0} & sleep {0} & wait' &
bash -c 'sleep {0} & kill -STOP $$' &
echo ready
wait
"""


async def test_an_abort_ends_all_processes(bench: ToolBench, marked: str) -> None:
    """This includes processes that ignore SIGTERM, are stopped, are orphaned, or have a session of their own."""
    turn, heard = AbortController(), list[ToolResult]()
    running = asyncio.create_task(bench.bash(STUBBORN.format(marked), signal=turn.signal, on_update=heard.append))
    await until_async(lambda: heard and len(sleeping_processes(marked)) == 9)

    turn.abort()
    result = await asyncio.wait_for(running, TOO_LONG)

    assert sleeping_processes(marked) == marked_processes(marked) == []
    assert result.is_error
    assert result.text == "ready\n\n[Aborted]"


async def test_without_a_process_table_the_process_group_is_ended(
    bench: ToolBench, marked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems other than Linux have none."""
    monkeypatch.setattr(commands, "_PROC", str(bench.folder / "nowhere"))

    result = await bench.bash(f"trap '' TERM; sleep {marked} & (sleep {marked} &); wait", timeout=0.2)

    assert result.details["ending"] == "timeout"
    await until_async(lambda: sleeping_processes(marked) == [])


async def test_a_command_can_clean_up_on_sigterm(bench: ToolBench, marked: str) -> None:
    """SIGTERM is sent before SIGKILL."""
    turn, heard = AbortController(), list[ToolResult]()
    line = f"trap 'echo cleaned; exit' TERM; echo ready; sleep {marked} & wait"
    running = asyncio.create_task(bench.bash(line, signal=turn.signal, on_update=heard.append))
    await until_async(lambda: heard)

    turn.abort()

    assert (await running).text == "ready\ncleaned\n\n[Aborted]"


async def test_a_cancelled_call_ends_all_processes(bench: ToolBench, marked: str) -> None:
    """The host cancels calls when it is closed."""
    running = asyncio.create_task(bench.bash(f"trap '' TERM; sleep {marked} & sleep {marked} & wait"))
    await until_async(lambda: len(sleeping_processes(marked)) == 2)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    await until_async(lambda: sleeping_processes(marked) == [])


async def test_background_processes_are_not_waited_for(bench: ToolBench, marked: str) -> None:
    """They keep the pipe open and continue; the result names them."""
    result = await bench.bash(f"sleep {marked} & echo started")

    [pid] = sleeping_processes(marked)
    assert result.text == f"started\n\n[Still running: {pid} sleep]"
    assert not result.is_error


async def test_background_processes_that_write_are_not_waited_for(bench: ToolBench) -> None:
    """They are not killed by SIGPIPE."""
    result = await bench.bash("touch go; (while [ -e go ]; do echo talking; done) & echo $! > pid")

    try:
        pid = int(kept(f"{bench.folder}/pid"))
        before = busy(pid)
        await until_async(lambda: busy(pid) > before)
    finally:
        (bench.folder / "go").unlink()
    assert not result.is_error


async def test_output_after_the_exit_of_the_shell_is_collected(bench: ToolBench) -> None:
    """The shell does not wait for process substitutions."""
    assert (await bench.bash("seq 30000 > >(sort -rn | tail -3)")).text.startswith("3\n2\n1")


async def test_long_output_is_truncated_and_saved_to_a_file(bench: ToolBench) -> None:
    result = await bench.bash("seq 1 100000")

    path = result.details["fullOutputPath"]
    lines = result.text.split("\n")
    assert lines[:2] == ["98001", "98002"]
    assert lines[-3:] == ["100000", "", f"[The last 2,000 of 100,000 lines; all of it is in {path}]"]
    assert (await bench.read(path, offset=5, limit=1)).startswith("5\n")
    assert "outside" in await bench.refusal("write", path=path, content="")
    assert kept(path) == "".join(f"{number}\n" for number in range(1, 100_001))


async def test_a_long_line_is_truncated(bench: ToolBench) -> None:
    result = await bench.bash("head -c 300000 /dev/zero | tr '\\0' x; printf END")

    text, _, note = result.text.partition("\n\n")
    assert (len(text), text[-4:]) == (50_000, "xEND")
    assert "The last 1 of 1 line;" in note
    assert size_of(result.details["fullOutputPath"]) == 300_003


def test_a_character_can_be_split_between_two_reads(tmp_path: Path) -> None:
    written = CommandOutput(lambda: ((tmp_path / "all").open("wb"), "all"), Redactor({}))

    written.feed("✓".encode()[:2])
    before = written.excerpt().text
    written.feed("✓".encode()[2:] + b" ")

    assert (before, written.excerpt().text) == ("", "✓ ")


def test_endless_output_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tail is still returned, and output after closing is discarded."""
    monkeypatch.setattr(commands, "MAX_FILE_BYTES", 95_000)
    written = CommandOutput(lambda: ((tmp_path / "all").open("wb"), "all"), Redactor({}))

    told = []
    for number in range(50):
        written.feed(b"%9d\n" % number * 1000)
        told.append(written.excerpt().lines)
    written.close()
    written.feed(b"later\n")

    last = written.excerpt()
    assert told == [1000] + [2000] * 49
    assert last.text.endswith("       49\n")
    assert (last.total_lines, last.total_bytes, last.file_bytes) == (50_000, 500_000, 95_000)
    assert (tmp_path / "all").stat().st_size == 95_000


async def test_no_file_descriptor_is_left_open(bench: ToolBench) -> None:
    await bench.bash("true")
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(5):
        await bench.bash("echo x")

    await until_async(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_commands_can_run_concurrently(bench: ToolBench) -> None:
    """They do not block the event loop."""
    os.mkfifo(bench.folder / "a")

    results = await asyncio.gather(bench.bash("cat a"), bench.bash("echo hello > a"))

    assert [result.text for result in results] == ["hello", "(no output)"]
