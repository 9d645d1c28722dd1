"""The command of a check: its environment, its time limit, its output, and everything that it started."""

import os
import signal
import sys
from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from tests.suite.waiting import until
from tildone.app import check_commands as running
from tildone.app.check_commands import MAX_OUTPUT_BYTES, CommandResult, run_command, small_environment

ENVIRON = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "GITHUB_TOKEN": "secret", "AWS_SECRET": "secret"}
posix = pytest.mark.skipif(sys.platform == "win32", reason="process groups and signals of POSIX")

WITH_GRANDCHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import signal, time; {prelude}; time.sleep(600)"])
open("pid", "w").write(str(child.pid))
os.rename("pid", "started")
{then}
"""


def run(script: str, folder: Path, seconds: float = 20) -> CommandResult:
    return run_command((sys.executable, "-c", script), str(folder), seconds, ENVIRON)


def is_running(pid: int) -> bool:
    """Return whether a process runs: a zombie that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def ends(pid: int) -> bool:
    """Wait until a process ends, and return that."""
    return until(lambda: not is_running(pid))


def test_both_outputs_and_the_exit_code_are_returned(tmp_path: Path) -> None:
    result = run("import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)", tmp_path)

    assert (result.exit_code, result.problem) == (3, "")
    assert result.output.splitlines() == ["out", "err"]
    assert result.milliseconds >= 0


def test_standard_input_is_empty(tmp_path: Path) -> None:
    assert run("import sys; print(repr(sys.stdin.read()))", tmp_path).output == "''\n"


def test_it_runs_in_its_folder(tmp_path: Path) -> None:
    assert run("import os; print(os.getcwd())", tmp_path).output.strip() == os.path.realpath(tmp_path)


def test_it_gets_no_secrets(tmp_path: Path) -> None:
    output = run("import os; print(sorted(os.environ))", tmp_path).output

    assert "PATH" in output
    assert "LC_ALL" in output
    assert "TOKEN" not in output
    assert "SECRET" not in output


def test_names_of_secrets_are_not_among_the_variables() -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "DATABASE_URL", "SSH_AUTH_SOCK", "PASSWORD"):
        assert name not in small_environment({name: "x", "PATH": "/bin"}), name


def test_a_program_that_does_not_exist_is_said_to_be_unable_to_start(tmp_path: Path) -> None:
    result = run_command(("no-such-program-at-all",), str(tmp_path), 5, ENVIRON)

    assert result.exit_code is None
    assert result.problem == "it could not be started: No such file or directory"


def test_a_command_that_no_system_can_start_does_not_raise(tmp_path: Path) -> None:
    for command in (("a\0b",), (sys.executable, "\0")):
        result = run_command(command, str(tmp_path), 5, ENVIRON)

        assert result.exit_code is None, command
        assert "could not be started" in result.problem, command


def test_a_folder_that_does_not_exist_is_said_to_be_the_problem(tmp_path: Path) -> None:
    result = run("print(1)", tmp_path / "missing")

    assert (result.exit_code, result.output) == (None, "")
    assert "could not be started" in result.problem


def test_only_the_end_of_a_long_output_is_kept(tmp_path: Path) -> None:
    script = f"import sys; sys.stdout.write('a' * {3 * MAX_OUTPUT_BYTES} + 'the end')"

    output = run(script, tmp_path).output

    notice, _, kept = output.partition("\n")
    assert notice == f"[the first {2 * MAX_OUTPUT_BYTES + len('the end'):,} bytes are left out]"
    assert len(kept) == MAX_OUTPUT_BYTES
    assert output.endswith("athe end")


def test_output_that_is_not_utf_8_is_replaced(tmp_path: Path) -> None:
    assert run("import os; os.write(1, b'\\xff\\xfe!')", tmp_path).output == "\ufffd\ufffd!"


@posix
def test_a_signal_is_no_exit_code(tmp_path: Path) -> None:
    result = run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", tmp_path)

    assert (result.exit_code, result.problem) == (None, f"it was ended by signal {int(signal.SIGKILL)}")


@posix
@pytest.mark.parametrize("prelude", ["pass", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"])
def test_at_the_time_limit_the_whole_group_is_ended(prelude: str, tmp_path: Path) -> None:
    """Also a grandchild that ignores being asked to end."""
    script = WITH_GRANDCHILD.format(prelude=prelude, then="print('waiting', flush=True); time.sleep(600)")

    result = run(script, tmp_path, seconds=3)

    assert (result.exit_code, result.problem) == (None, "it took longer than 3 s")
    assert result.output == "waiting\n"
    assert ends(int((tmp_path / "started").read_text()))


@posix
def test_what_it_left_in_the_background_is_ended_with_it(tmp_path: Path) -> None:
    result = run(WITH_GRANDCHILD.format(prelude="pass", then="print('done')"), tmp_path)

    assert (result.exit_code, result.output) == (0, "done\n")
    assert ends(int((tmp_path / "started").read_text()))


@posix
def test_a_process_that_left_the_group_and_keeps_the_output_open_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "KILL_SECONDS", 0.1)
    script = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"

    result = run(script, tmp_path)

    pid = int(result.output)
    try:
        assert (result.exit_code, is_running(pid)) == (0, True)
    finally:
        os.kill(pid, signal.SIGKILL)


@posix
def test_an_interrupted_run_ends_the_group(tmp_path: Path) -> None:
    """Ctrl-C reaches the process that waits; the command has a process group of its own."""

    def interrupt() -> None:
        while not (tmp_path / "started").exists():
            sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    Thread(target=interrupt, daemon=True).start()
    script = WITH_GRANDCHILD.format(prelude="pass", then="time.sleep(600)")

    with pytest.raises(KeyboardInterrupt):
        run(script, tmp_path, seconds=60)

    assert ends(int((tmp_path / "started").read_text()))
