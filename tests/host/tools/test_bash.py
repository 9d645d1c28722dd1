"""Running commands: what they say, how they end, and that nothing of them is left."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.host.tools.tool_bench import (
    ToolBench,
    marked_processes,
    size_of,
    sleeping_processes,
    unique_duration,
    wait_until,
)
from tildone.host.tools import command_output, process_tree
from tildone.host.tools.command_output import CommandOutput
from tildone.host.tools.tool_failure import ToolFailure
from tildone.kit.definition import ToolResult
from tildone.kit.signal import AbortController

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")


@pytest.fixture
def marked() -> Iterator[str]:
    """How long to sleep so as to be found; whoever is still there after the test is ended."""
    seconds = unique_duration()
    yield seconds
    for pid in {*sleeping_processes(seconds), *marked_processes(seconds)}:
        os.kill(pid, signal.SIGKILL)


@contextmanager
def an_open_input() -> Iterator[None]:
    """The host's own input, where somebody might still type."""
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
    """How long a process has been at work; an error when it is gone."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11])


async def test_output_and_errors_come_back_together(bench: ToolBench) -> None:
    result = await bench.bash("echo one; echo two >&2; echo three; pwd")

    assert result.text == f"one\ntwo\nthree\n{bench.folder}"
    assert not result.is_error
    assert (result.details["exitCode"], result.details["totalLines"]) == (0, 4)


async def test_a_failure_is_told_with_its_output(bench: ToolBench) -> None:
    result = await bench.bash("echo so far; exit 3")

    assert result.is_error
    assert result.text == "so far\n\n[Exit code 3]"
    assert result.details["exitCode"] == 3


async def test_a_command_may_have_nothing_to_say(bench: ToolBench) -> None:
    assert (await bench.bash("true")).text == "(no output)"
    assert (await bench.bash("kill -KILL $$")).text == "(no output)\n\n[Ended by signal 9 (Killed)]"


async def test_there_is_no_input_and_no_pager(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question is answered by nobody, and the rest of the environment is the host's."""
    monkeypatch.setenv("PAGER", "less")
    monkeypatch.setenv("MINE", "kept")

    with an_open_input():
        result = await bench.bash(
            "cat; read x; echo $? $TERM $PAGER $GIT_PAGER $MINE; (: </dev/tty) 2>&1 | wc -l", timeout=9
        )

    assert result.text == "1 dumb cat cat kept\n1"


@pytest.mark.parametrize(
    ("params", "said"), [({"command": " "}, "empty"), ({"command": "ls", "timeout": 0}, "timeout")]
)
async def test_a_call_that_makes_no_sense_is_refused(bench: ToolBench, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolFailure, match=said):
        await bench.call("bash", **params)


async def test_what_cannot_be_started_says_why(bench: ToolBench) -> None:
    with pytest.raises(ToolFailure, match="cannot be started: embedded null byte"):
        await bench.bash("echo \0")
    with pytest.raises(ToolFailure, match="cannot be started: Argument list too long"):
        await bench.bash("#" * 3_000_000)
    bench.folder.rmdir()
    with pytest.raises(ToolFailure, match=r"The working directory .* is not there"):
        await bench.bash("true")


async def test_output_is_told_before_the_end(bench: ToolBench) -> None:
    """The command goes on only when its first words have arrived."""
    os.mkfifo(bench.folder / "go")
    heard: list[ToolResult] = []

    running = asyncio.create_task(bench.bash("echo one; cat go; echo two", on_update=heard.append))
    await wait_until(lambda: heard)
    first = heard[0]
    (bench.folder / "go").write_text("on\n", encoding="utf-8")
    result = await running

    assert (first.text, first.details) == ("one\n", {"totalLines": 1, "totalBytes": 4})
    assert result.text == "one\non\ntwo"


async def test_updates_do_not_come_with_every_line(bench: ToolBench) -> None:
    heard: list[ToolResult] = []

    result = await bench.bash("for i in $(seq 60); do echo $i; sleep 0.005; done", on_update=heard.append)

    assert result.details["totalLines"] == 60
    assert 1 <= len(heard) <= result.details["durationMs"] / 200 + 1


async def test_a_command_that_takes_too_long_is_ended(bench: ToolBench, marked: str) -> None:
    result = await bench.bash(f"echo begun; sleep {marked}", timeout=0.2)

    assert result.is_error
    assert result.text == "begun\n\n[Ended after 0.2 seconds: give a longer timeout if it needs more]"
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


async def test_an_abort_leaves_nothing_within_a_second(bench: ToolBench, marked: str) -> None:
    """Not even those who ignore the request, were stopped, lost their parents, or left for a session of their own."""
    turn, heard = AbortController(), list[ToolResult]()
    running = asyncio.create_task(bench.bash(STUBBORN.format(marked), signal=turn.signal, on_update=heard.append))
    await wait_until(lambda: heard and len(sleeping_processes(marked)) == 9)

    turn.abort()
    began = monotonic()
    result = await running

    assert monotonic() - began < 1
    assert sleeping_processes(marked) == marked_processes(marked) == []
    assert result.is_error
    assert result.text == "ready\n\n[Aborted]"


async def test_where_there_is_no_table_of_processes_the_group_is_ended(
    bench: ToolBench, marked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on systems other than Linux."""
    monkeypatch.setattr(process_tree, "_PROC", "/nowhere")

    result = await bench.bash(f"trap '' TERM; sleep {marked} & (sleep {marked} &); wait", timeout=0.2)

    assert result.details["ending"] == "timeout"
    await wait_until(lambda: sleeping_processes(marked) == [], 1)


async def test_a_command_may_clean_up_when_it_is_told_to_end(bench: ToolBench, marked: str) -> None:
    """It is asked before it is made to."""
    turn, heard = AbortController(), list[ToolResult]()
    line = f"trap 'echo cleaned; exit' TERM; echo ready; sleep {marked} & wait"
    running = asyncio.create_task(bench.bash(line, signal=turn.signal, on_update=heard.append))
    await wait_until(lambda: heard)

    turn.abort()

    assert (await running).text == "ready\ncleaned\n\n[Aborted]"


async def test_a_call_that_is_cancelled_leaves_nothing(bench: ToolBench, marked: str) -> None:
    """As when the host itself is ended."""
    running = asyncio.create_task(bench.bash(f"trap '' TERM; sleep {marked} & sleep {marked} & wait"))
    await wait_until(lambda: len(sleeping_processes(marked)) == 2)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    await wait_until(lambda: sleeping_processes(marked) == [], 1)


async def test_what_runs_in_the_background_is_not_waited_for(bench: ToolBench, marked: str) -> None:
    """It holds the pipe open, and goes on; the model is told how to find it."""
    result = await bench.bash(f"sleep {marked} & echo started")

    [pid] = sleeping_processes(marked)
    assert result.text == f"started\n\n[Still running: {pid} sleep]"
    assert not result.is_error
    assert result.details["durationMs"] < 1000


async def test_what_talks_in_the_background_is_not_waited_for(bench: ToolBench) -> None:
    """And does not die of nobody listening."""
    result = await bench.bash("touch go; (while [ -e go ]; do echo talking; done) & echo $! > pid")

    try:
        pid = int(kept(f"{bench.folder}/pid"))
        before = busy(pid)
        await wait_until(lambda: busy(pid) > before)
    finally:
        (bench.folder / "go").unlink()
    assert result.details["durationMs"] < 3000


async def test_words_that_come_after_the_end_are_heard(bench: ToolBench) -> None:
    """The shell does not wait for those it passes its output through."""
    assert (await bench.bash("seq 30000 > >(sort -rn | tail -3)")).text.startswith("3\n2\n1")


async def test_of_long_output_the_end_is_told_and_all_is_kept(bench: ToolBench) -> None:
    result = await bench.bash("seq 1 100000")

    path = result.details["fullOutputPath"]
    lines = result.text.split("\n")
    assert lines[:2] == ["98001", "98002"]
    assert lines[-3:] == ["100000", "", f"[The last 2,000 of 100,000 lines; all of it is in {path}]"]
    assert kept(path) == "".join(f"{number}\n" for number in range(1, 100_001))
    assert (await bench.call("read", path=path, offset=5, limit=1)).text.startswith("5\n")


async def test_one_long_line_is_cut_as_well(bench: ToolBench) -> None:
    result = await bench.bash("head -c 300000 /dev/zero | tr '\\0' x; printf END")

    text, _, note = result.text.partition("\n\n")
    assert (len(text), text[-4:]) == (50_000, "xEND")
    assert "The last 1 of 1 line;" in note
    assert size_of(result.details["fullOutputPath"]) == 300_003


async def test_a_file_of_output_may_be_read_but_not_written(bench: ToolBench) -> None:
    result = await bench.bash("seq 3000")
    path = result.details["fullOutputPath"]

    with pytest.raises(ToolFailure, match="outside"):
        await bench.call("write", path=path, content="")

    assert size_of(path) > 0


async def test_output_that_is_no_text_harms_nobody(bench: ToolBench) -> None:
    """Bytes that are no characters, colours, and controls."""
    result = await bench.bash(r"printf 'a\xff\xe2\x9cb \033[31mred\033[0m \033]0;title\007\000\r\nok ✓\n'")

    assert result.text == "a\ufffd\ufffdb red \ufffd\r\nok ✓"


def test_a_character_that_comes_in_two_parts_is_one(tmp_path: Path) -> None:
    written = CommandOutput(lambda: ((tmp_path / "all").open("wb"), "all"))

    written.feed("✓".encode()[:2])
    before = written.excerpt().text
    written.feed("✓".encode()[2:])

    assert (before, written.excerpt().text) == ("", "✓")


def test_what_never_stops_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end is still told, and what comes after the end is forgotten."""
    monkeypatch.setattr(command_output, "MAX_FILE_BYTES", 95_000)
    written = CommandOutput(lambda: ((tmp_path / "all").open("wb"), "all"))

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


async def test_nothing_is_left_open(bench: ToolBench) -> None:
    await bench.bash("true")
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(5):
        await bench.bash("echo x")

    await wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_commands_can_run_side_by_side(bench: ToolBench) -> None:
    """Neither holds up the event loop."""
    os.mkfifo(bench.folder / "a")

    results = await asyncio.gather(bench.bash("cat a"), bench.bash("echo hello > a"))

    assert [result.text for result in results] == ["hello", "(no output)"]
