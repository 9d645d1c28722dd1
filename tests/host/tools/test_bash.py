"""The `bash` tool: output, exit, timeouts and the end of all processes; and secrets, neither passed on nor shown."""

import asyncio
import os
import signal
import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.host.tools.tool_bench import ToolBench, marked_processes, size_of, sleeping_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.base.secrets import MAX_HELD_BYTES, REDACTED, Redactor, StreamRedactor, command_environment, is_secret
from tildone.run.kit.definition import AbortController, ToolResult
from tildone.run.providers.provider_model import KEY_VARIABLES
from tildone.run.tools import commands as command_output
from tildone.run.tools import commands as process_tree
from tildone.run.tools.commands import CommandOutput
from tildone.run.tools.files import ToolFailure
from tildone.run.tools.permissions import PermissionPolicy

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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_output_and_errors_come_back_together(bench: ToolBench) -> None:
    result = await bench.bash("echo one; echo two >&2; echo three; pwd")

    assert result.text == f"one\ntwo\nthree\n{bench.folder}"
    assert not result.is_error
    assert (result.details["exitCode"], result.details["totalLines"]) == (0, 4)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_a_failed_command_returns_its_output(bench: ToolBench) -> None:
    result = await bench.bash("echo so far; exit 3")

    assert result.is_error
    assert result.text == "so far\n\n[Exit code 3]"
    assert result.details["exitCode"] == 3


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_a_command_may_have_no_output(bench: ToolBench) -> None:
    assert (await bench.bash("true")).text == "(no output)"
    assert (await bench.bash("kill -KILL $$")).text == "(no output)\n\n[Ended by signal 9 (Killed)]"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_there_is_no_input_and_no_pager(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is empty, and the rest of the environment is inherited."""
    monkeypatch.setenv("PAGER", "less")
    monkeypatch.setenv("MINE", "kept")

    with an_open_input():
        result = await bench.bash(
            "cat; read x; echo $? $TERM $PAGER $GIT_PAGER $MINE; (: </dev/tty) 2>&1 | wc -l", timeout=9
        )

    assert result.text == "1 dumb cat cat kept\n1"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    ("params", "said"), [({"command": " "}, "empty"), ({"command": "ls", "timeout": 0}, "timeout")]
)
async def test_invalid_parameters_are_refused(bench: ToolBench, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolFailure, match=said):
        await bench.call("bash", **params)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_a_command_that_cannot_be_started_is_an_error(bench: ToolBench) -> None:
    with pytest.raises(ToolFailure, match="cannot be started: embedded null byte"):
        await bench.bash("echo \0")
    with pytest.raises(ToolFailure, match="cannot be started: Argument list too long"):
        await bench.bash("#" * 3_000_000)
    bench.folder.rmdir()
    with pytest.raises(ToolFailure, match=r"The working directory .* is not there"):
        await bench.bash("true")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_updates_are_rate_limited(bench: ToolBench) -> None:
    heard: list[ToolResult] = []

    result = await bench.bash("for i in $(seq 60); do echo $i; sleep 0.005; done", on_update=heard.append)

    assert result.details["totalLines"] == 60
    assert 1 <= len(heard) <= result.details["durationMs"] / 200 + 1


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_a_command_is_ended_at_its_timeout(bench: ToolBench, marked: str) -> None:
    result = await bench.bash(f"echo begun; sleep {marked}", timeout=2)

    assert result.is_error
    assert result.text == "begun\n\n[Ended after 2 seconds: give a longer timeout if it needs more]"
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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_without_a_process_table_the_process_group_is_ended(
    bench: ToolBench, marked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems other than Linux have none."""
    monkeypatch.setattr(process_tree, "_PROC", "/nowhere")

    result = await bench.bash(f"trap '' TERM; sleep {marked} & (sleep {marked} &); wait", timeout=0.2)

    assert result.details["ending"] == "timeout"
    await until_async(lambda: sleeping_processes(marked) == [])


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_a_command_can_clean_up_on_sigterm(bench: ToolBench, marked: str) -> None:
    """SIGTERM is sent before SIGKILL."""
    turn, heard = AbortController(), list[ToolResult]()
    line = f"trap 'echo cleaned; exit' TERM; echo ready; sleep {marked} & wait"
    running = asyncio.create_task(bench.bash(line, signal=turn.signal, on_update=heard.append))
    await until_async(lambda: heard)

    turn.abort()

    assert (await running).text == "ready\ncleaned\n\n[Aborted]"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_a_cancelled_call_ends_all_processes(bench: ToolBench, marked: str) -> None:
    """The host cancels calls when it is closed."""
    running = asyncio.create_task(bench.bash(f"trap '' TERM; sleep {marked} & sleep {marked} & wait"))
    await until_async(lambda: len(sleeping_processes(marked)) == 2)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    await until_async(lambda: sleeping_processes(marked) == [])


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_background_processes_are_not_waited_for(bench: ToolBench, marked: str) -> None:
    """They keep the pipe open and continue; the result names them."""
    result = await bench.bash(f"sleep {marked} & echo started")

    [pid] = sleeping_processes(marked)
    assert result.text == f"started\n\n[Still running: {pid} sleep]"
    assert not result.is_error


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_output_after_the_exit_of_the_shell_is_collected(bench: ToolBench) -> None:
    """The shell does not wait for process substitutions."""
    assert (await bench.bash("seq 30000 > >(sort -rn | tail -3)")).text.startswith("3\n2\n1")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_long_output_is_truncated_and_saved_to_a_file(bench: ToolBench) -> None:
    result = await bench.bash("seq 1 100000")

    path = result.details["fullOutputPath"]
    lines = result.text.split("\n")
    assert lines[:2] == ["98001", "98002"]
    assert lines[-3:] == ["100000", "", f"[The last 2,000 of 100,000 lines; all of it is in {path}]"]
    assert kept(path) == "".join(f"{number}\n" for number in range(1, 100_001))
    assert (await bench.call("read", path=path, offset=5, limit=1)).text.startswith("5\n")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_a_long_line_is_truncated(bench: ToolBench) -> None:
    result = await bench.bash("head -c 300000 /dev/zero | tr '\\0' x; printf END")

    text, _, note = result.text.partition("\n\n")
    assert (len(text), text[-4:]) == (50_000, "xEND")
    assert "The last 1 of 1 line;" in note
    assert size_of(result.details["fullOutputPath"]) == 300_003


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_an_output_file_can_be_read_but_not_written(bench: ToolBench) -> None:
    result = await bench.bash("seq 3000")
    path = result.details["fullOutputPath"]

    with pytest.raises(ToolFailure, match="outside"):
        await bench.call("write", path=path, content="")

    assert size_of(path) > 0


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_binary_output_is_sanitized(bench: ToolBench) -> None:
    """Invalid bytes, colours and control characters."""
    result = await bench.bash(r"printf 'a\xff\xe2\x9cb \033[31mred\033[0m \033]0;title\007\000\r\nok ✓\n'")

    assert result.text == "a\ufffd\ufffdb red \ufffd\r\nok ✓"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
def test_a_character_can_be_split_between_two_reads(tmp_path: Path) -> None:
    written = CommandOutput(lambda: ((tmp_path / "all").open("wb"), "all"), Redactor({}))

    written.feed("✓".encode()[:2])
    before = written.excerpt().text
    written.feed("✓".encode()[2:] + b" ")

    assert (before, written.excerpt().text) == ("", "✓ ")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
def test_endless_output_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tail is still returned, and output after closing is discarded."""
    monkeypatch.setattr(command_output, "MAX_FILE_BYTES", 95_000)
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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_no_file_descriptor_is_left_open(bench: ToolBench) -> None:
    await bench.bash("true")
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(5):
        await bench.bash("echo x")

    await until_async(lambda: len(os.listdir("/proc/self/fd")) <= before)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for in /proc")
async def test_commands_can_run_concurrently(bench: ToolBench) -> None:
    """They do not block the event loop."""
    os.mkfifo(bench.folder / "a")

    results = await asyncio.gather(bench.bash("cat a"), bench.bash("echo hello > a"))

    assert [result.text for result in results] == ["hello", "(no output)"]


LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 2
PRIVATE_KEY = (
    f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{LETTERS}\n{LETTERS}=\n-----END RSA PRIVATE KEY-----"
)
KEYS = {
    "OpenAI": f"sk-{LETTERS}",
    "OpenAI project": f"sk-proj-{LETTERS}_x-y",
    "Anthropic": f"sk-ant-api03-{LETTERS}-AA",
    "GitHub": f"ghp_{LETTERS}",
    "GitHub app": f"ghs_{LETTERS}",
    "GitHub fine-grained": f"github_pat_{LETTERS}_{LETTERS}",
    "GitLab": f"glpat-{LETTERS[:20]}",
    "AWS": "AKIAIOSFODNN7EXAMPLE",
    "Google": f"AIza{LETTERS[:35]}",
    "Slack": "xoxb-1234567890-abcdefghij",
    "Hugging Face": f"hf_{LETTERS[:34]}",
    "npm": f"npm_{LETTERS[:36]}",
    "JWT": f"eyJ{LETTERS}.{LETTERS}.{LETTERS}",
    "private key": PRIVATE_KEY,
    "OpenSSH": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{LETTERS}\n-----END OPENSSH PRIVATE KEY-----",
}
VALUE = "correct horse battery stäple"
ENVIRON = {"MY_PASSWORD": VALUE, "SHORT_TOKEN": "none", "AWS_REGION": "eu-central-1", "HOME": "/home/ada/project"}


SECRET_NAMES = [
    *sorted(set(KEY_VARIABLES.values())),
    *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "PGPASSWORD", "MYSQL_PWD", "GH_TOKEN"),
    *(
        "NPM_CONFIG__AUTH",
        "SSH_KEY",
        "X_APIKEY",
        "GITHUBTOKEN",
        "SMTP_PASS",
        "my_secret_thing",
        "DB_PASSWORD_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "SSH_PASSPHRASE",
        "NPM_TOKEN",
    ),
]


def test_a_command_does_not_get_a_secret_unless_it_is_passed() -> None:
    path = {"PATH": "/bin"}

    assert [name for name in SECRET_NAMES if command_environment(path | {name: "x"}) != path] == []
    assert [name for name in SECRET_NAMES if name not in command_environment({name: "x"}, [name])] == []


OTHER_NAMES = [
    *("PATH", "PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "KEYBOARD", "SSH_AUTH_SOCK", "LANG", "AUTHOR"),
    "TILDONE_MAX_TOKENS",
]


def test_other_variables_are_not_secrets() -> None:
    assert [name for name in OTHER_NAMES if is_secret(name, "x")] == []


def test_a_url_with_a_password_is_a_secret_unless_it_is_a_proxy() -> None:
    urls = {"DATABASE_URL": "postgresql://app:s3cret@db/app", "REDIS": "rediss://:pw@cache:6379"}
    others = {
        "HTTPS_PROXY": "http://me:password@proxy",
        "HOMEPAGE": "https://example.org:8080/a@b",
        "MAIL": "a:b@c.org",
    }

    assert command_environment(urls | others) == others
    assert command_environment(urls | others, ["REDIS"]) == others | {"REDIS": urls["REDIS"]}


def test_what_looks_like_a_key_is_redacted() -> None:
    shown = {name: Redactor({}).text(f'key={key}, and more "{key}"') for name, key in KEYS.items()}

    assert shown == dict.fromkeys(KEYS, f'key={REDACTED}, and more "{REDACTED}"')


def test_values_of_secret_variables_are_redacted() -> None:
    redactor = Redactor(ENVIRON)

    assert redactor.text(f"It is {VALUE}!") == f"It is {REDACTED}!"
    assert redactor.data(f"It is {VALUE}!".encode()) == f"It is {REDACTED}!".encode()
    assert redactor.text("none eu-central-1 /home/ada/project") == "none eu-central-1 /home/ada/project"


def test_passwords_of_urls_are_redacted() -> None:
    """Where they stand in a URL, whatever it is; those of the environment anywhere, unless they are ordinary words."""
    redactor = Redactor(
        {"DATABASE_URL": "postgresql://app:p%40ssw0rd%21@db/app", "TEST_DB": "mysql://mysql-test:mysql-test@db"}
    )
    for text, shown in (
        ("postgresql://app:p%40ssw0rd%21@db/app", f"postgresql://app:{REDACTED}@db/app"),
        ("it is p@ssw0rd! here", f"it is {REDACTED} here"),
        ("mysql-test:mysql-test@db", f"mysql-test:{REDACTED}@db"),
        ("the database mysql-test", "the database mysql-test"),
        ("'amqp://guest:x@[::1]:5672'", f"'amqp://guest:{REDACTED}@[::1]:5672'"),
        (
            "https://example.org:8080/a@b http://a@b git@host:path",
            "https://example.org:8080/a@b http://a@b git@host:path",
        ),
    ):
        assert redactor.text(text) == shown, text
        assert redactor.data(text.encode()).decode() == shown, text


def test_without_forms_only_the_values_of_the_environment_are_redacted() -> None:
    redactor = Redactor({"MY_PASSWORD": VALUE, "DB": "x://u:pw@h"}, forms=False)
    text = f"{KEYS['GitHub']} y://u:other@h Bearer {LETTERS}"

    assert redactor.text(f"{text} {VALUE} u:pw@h") == f"{text} {REDACTED} u:{REDACTED}@h"
    assert Redactor({}, forms=False).text(text) == text


def test_the_word_before_a_token_stays() -> None:
    header = f"Authorization: Bearer {LETTERS}"

    assert Redactor({}).text(header) == f"Authorization: Bearer {REDACTED}"


ORDINARY = [
    "a task-oriented-but-very-long-word disk-usage-of-the-machine",
    "The bearer of this letter",
    "AKIAIOSFODNN7EXAMPLEandmore",
    "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
    "0123456789abcdef0123456789abcdef01234567",
    "ünïcode ✓",
]


def test_ordinary_text_stays() -> None:
    redactor = Redactor(ENVIRON)

    assert [redactor.text(text) for text in ORDINARY] == ORDINARY
    assert [redactor.data(text.encode()).decode() for text in ORDINARY] == ORDINARY


@given(
    st.lists(st.sampled_from([*KEYS.values(), VALUE, " ", "\n", "word ", "-----BEGIN x\n", "\r"]), max_size=8),
    st.lists(st.integers(1, 60), min_size=1),
)
@example([PRIVATE_KEY, PRIVATE_KEY], [1])
def test_a_stream_is_redacted_wherever_it_is_cut(pieces: list[str], sizes: list[int]) -> None:
    """A preview never shows a part of a secret."""
    redactor, text = Redactor(ENVIRON), "".join(f"{piece} " for piece in pieces)
    stream, data, out, at = StreamRedactor(redactor), text.encode(), b"", 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        out += stream.feed(data[at : at + size])
        at += size
        assert redactor.data(data).startswith(out)
        assert LETTERS[:12].encode() not in stream.preview()

    assert out + stream.finish() == redactor.data(data)


@pytest.mark.parametrize("fill", ["x", "x ", f"{KEYS['AWS']}/"])
def test_a_long_line_is_not_held_back_for_ever(fill: str) -> None:
    """And where it is cut, no key is cut."""
    key = KEYS["Anthropic"]
    data = (fill * (MAX_HELD_BYTES // len(fill)) + f" {key} ").encode() * 3
    stream, out = StreamRedactor(Redactor({})), b""
    for at in range(0, len(data), 997):
        out += stream.feed(data[at : at + 997])
        assert len(out) > 0 or at < MAX_HELD_BYTES
    out += stream.finish()

    assert out == Redactor({}).data(data)
    assert LETTERS.encode() not in out


BEGINNINGS = [
    "a://",
    "a://b:",
    "x:y@",
    "eyJ",
    "sk-",
    "-----BEGIN PRIVATE KEY-----",
    "Bearer ",
    "a.",
    "AKIA",
    "ghp_a",
    "-",
]


def test_the_time_is_proportional_to_the_length() -> None:
    """Twice as long a text takes about twice as long; with a quadratic step it would take four times as long."""
    redactor = Redactor(ENVIRON)

    def seconds(piece: str, size: int) -> float:
        text = piece * (size // len(piece))
        return timeit.timeit(lambda: redactor.text(text), number=1, timer=time.process_time)

    def is_proportional(piece: str) -> bool:
        return seconds(piece, 400_000) <= 3.2 * seconds(piece, 200_000) + 0.005

    # Other programs disturb a measurement, so one of several is enough: a quadratic step fails in all of them.
    assert [piece for piece in BEGINNINGS if not any(is_proportional(piece) for _ in range(10))] == []


async def test_a_command_sees_and_shows_no_secret(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "own-key-of-this-test")
    monkeypatch.setenv("PGPASSWORD", "own-password-of-this-test")
    line = f'echo "[$ANTHROPIC_API_KEY] [$PGPASSWORD]"; echo own-key-of-this-test; printf {KEYS["GitHub"]}'

    held = await ToolBench(folder).bash(line)
    passed = await ToolBench(folder, PermissionPolicy(allow=("*",), pass_env=("PGPASSWORD",))).bash(line)

    assert held.text == f"[] []\n{REDACTED}\n{REDACTED}"
    assert passed.text == f"[] [{REDACTED}]\n{REDACTED}\n{REDACTED}"


async def test_the_password_of_a_database_reaches_no_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://app:correct-horse@db/app"
    monkeypatch.setenv("DATABASE_URL", url)
    (folder / ".env").write_text(f"DATABASE_URL={url}\nKEY={KEYS['GitHub']}\n")

    printed = await ToolBench(folder).bash('echo "[$DATABASE_URL]"; cat .env; grep -o "correct.*@" .env')
    read = await ToolBench(folder).call("read", path=".env")

    shown = f"DATABASE_URL=postgresql://app:{REDACTED}@db/app"
    assert printed.text == f"[]\n{shown}\nKEY={REDACTED}\n{REDACTED}@"
    assert read.text == f"{shown}\nKEY={KEYS['GitHub']}\n"


async def test_the_file_with_all_of_an_output_is_redacted(folder: Path) -> None:
    result = await ToolBench(folder).bash(f"for i in $(seq 3000); do echo $i {KEYS['OpenAI']}; done")

    path = result.details["fullOutputPath"]
    assert path is not None
    with open(path, encoding="utf-8") as file:  # noqa: ASYNC230  nothing else runs
        assert file.read() == "".join(f"{i} {REDACTED}\n" for i in range(1, 3001))
    assert LETTERS not in result.text
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert "all of it is in" in result.text
