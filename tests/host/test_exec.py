"""`api.exec`: programs that extensions run."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.host.test_host import Script, extend, host_with
from tests.host.tools.tool_bench import marked_processes, unique_duration
from tests.suite.waiting import until_async
from tildone.run.host import ExtensionAPI
from tildone.run.kit.definition import AbortController
from tildone.run.tools import commands as command_exec
from tildone.run.tools.commands import ExecResult
from tildone.run.tools.result_view import ToolFailure

Exec = Callable[..., Awaitable[ExecResult]]


@pytest.fixture
def execute(tmp_path: Path) -> Exec:
    host, _ = host_with(Script())
    host.cwd = str(tmp_path)
    apis = list[ExtensionAPI]()
    extend(host, apis.append)
    return apis[0].exec


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> str:
    """A value in the environment of everything that the test starts."""
    duration = unique_duration()
    monkeypatch.setenv("MARK", duration)
    return duration


async def test_the_result_has_both_outputs_and_the_exit_code(execute: Exec) -> None:
    result = await execute("sh", ["-c", "echo out; echo err >&2; exit 3"])

    assert result == ExecResult("out\n", "err\n", 3, killed=False)


async def test_there_is_no_shell_and_no_input(execute: Exec) -> None:
    """Arguments are passed as they are."""
    assert (await execute("printf", ["%s|", "a b", "$HOME", "*; x"])).stdout == "a b|$HOME|*; x|"
    assert (await execute("cat")).stdout == ""


async def test_the_working_directory_is_that_of_the_host_or_given(execute: Exec, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()

    assert (await execute("ls")).stdout == "sub\n"
    assert (await execute("ls", ["-d", "../sub"], cwd="sub")).stdout == "../sub\n"
    assert (await execute("pwd", cwd="/")).stdout == "/\n"


async def test_secrets_are_not_in_the_environment(execute: Exec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "hidden")
    monkeypatch.setenv("ACME_REGION", "north")

    assert (await execute("sh", ["-c", "echo $ACME_API_KEY-$ACME_REGION"])).stdout == "-north\n"


async def test_bytes_that_are_not_utf8_are_replaced(execute: Exec) -> None:
    assert (await execute("printf", [r"a\377\303\244"])).stdout == "a\ufffdä"


async def test_output_is_bounded_and_the_program_runs_to_its_end(
    execute: Exec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_exec, "MAX_OUTPUT_BYTES", 10)
    program = "import sys; print('x' * 300_000); print('e' * 300_000, file=sys.stderr); sys.exit(4)"

    assert await execute(sys.executable, ["-c", program]) == ExecResult(
        "x" * 10, "e" * 10, 4, killed=False, truncated=True
    )


async def test_a_timeout_kills_the_whole_process_tree(execute: Exec, marked: str) -> None:
    """What was written until then is kept."""
    result = await execute("sh", ["-c", "echo begun; setsid sleep 7777 & sleep 7777"], timeout=2)

    assert (result.stdout, result.killed) == ("begun\n", True)
    assert result.code < 0
    await until_async(lambda: not marked_processes(marked))


async def test_a_program_may_choose_its_exit_code_when_it_is_ended(execute: Exec) -> None:
    result = await execute("bash", ["-c", "trap 'echo bye; exit 7' TERM; sleep 7777 & wait"], timeout=2)

    assert result == ExecResult("bye\n", "", 7, killed=True)


async def test_an_abort_kills_the_whole_process_tree(execute: Exec, marked: str) -> None:
    controller = AbortController()
    running = asyncio.ensure_future(execute("sh", ["-c", "sleep 7777 & sleep 7777"], signal=controller.signal))
    await until_async(lambda: len(marked_processes(marked)) >= 2)

    controller.abort()

    assert (await running).killed
    await until_async(lambda: not marked_processes(marked))


async def test_a_program_is_not_started_after_an_abort(execute: Exec, tmp_path: Path) -> None:
    controller = AbortController()
    controller.abort()

    result = await execute("touch", ["there"], signal=controller.signal)

    assert (result.killed, result.stdout) == (True, "")
    assert not (tmp_path / "there").exists()


async def test_a_signal_that_is_not_set_changes_nothing(execute: Exec) -> None:
    signal = AbortController().signal

    assert await execute("true", signal=signal, timeout=60) == ExecResult("", "", 0, killed=False)


async def test_a_cancelled_call_kills_the_whole_process_tree(execute: Exec, marked: str) -> None:
    running = asyncio.ensure_future(execute("sleep", ["7777"]))
    await until_async(lambda: marked_processes(marked))

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    await until_async(lambda: not marked_processes(marked))


async def test_background_processes_are_not_waited_for(execute: Exec, marked: str) -> None:
    """They keep both pipes open."""
    async with asyncio.timeout(30):
        result = await execute("sh", ["-c", "sleep 7777 & echo $!"])

    assert (result.code, result.killed) == (0, False)
    assert marked_processes(marked) == [int(result.stdout)]
    await execute("kill", [result.stdout.strip()])


@pytest.mark.parametrize(("command", "cwd"), [("no-such-program", None), ("true", "no-such-folder")])
async def test_a_program_that_cannot_be_started_is_an_error(execute: Exec, command: str, cwd: str | None) -> None:
    with pytest.raises(ToolFailure, match=r"cannot be started|is not there"):
        await execute(command, cwd=cwd)
