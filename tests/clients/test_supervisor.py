"""No process that a test has started outlives the test."""

import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.clients.supervisor import TIMED_OUT, supervised

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has neither process groups nor these pipes")
on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere a process that leaves its process group is not found"
)

TIMEOUT_SECONDS = 20.0
SLEEP = "echo $$; exec sleep 60 > /dev/null 2>&1"
LEAVE_A_CHILD = f"echo $(setsid sh -c '{SLEEP}' &)"


def test_a_program_has_its_own_streams_environment_and_exit_code(tmp_path: Path) -> None:
    script = 'read word; echo "$word $NAME $(pwd)"; echo bad >&2; env > environment; exit 7'

    with run_script(tmp_path, script, NAME="mine") as process:
        out, err = process.communicate(b"hello\n", TIMEOUT_SECONDS)

    assert (process.returncode, out, err) == (7, f"hello mine {tmp_path}\n".encode(), b"bad\n")
    names = {line.partition("=")[0] for line in (tmp_path / "environment").read_text(encoding="utf-8").splitlines()}
    assert names <= {"NAME", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}


def test_a_program_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    with run_script(tmp_path, SLEEP, seconds=0.1) as process:
        assert process.wait(TIMEOUT_SECONDS) == TIMED_OUT


@on_linux
def test_descendants_of_a_program_are_killed_when_it_ends(tmp_path: Path) -> None:
    """Also in a session of their own, where a signal to the process group does not reach them."""
    with run_script(tmp_path, LEAVE_A_CHILD) as process:
        output, _ = process.communicate(timeout=TIMEOUT_SECONDS)

    assert process.returncode == 0
    assert not alive(int(output))


def test_a_failing_test_leaves_no_process_behind(tmp_path: Path) -> None:
    started: list[int] = []

    with pytest.raises(ZeroDivisionError):
        fail_with(tmp_path, started)

    assert not any(map(alive, started))
    assert started


@on_linux
def test_a_killed_test_leaves_no_process_behind(tmp_path: Path) -> None:
    """The supervisor cleans up, because the test cannot."""
    code = f"""
from pathlib import Path
from tests.clients.supervisor import supervised
script = {f"{LEAVE_A_CHILD}; {SLEEP}"!r}
cwd, env = Path({str(tmp_path)!r}), {{"PATH": {os.defpath!r}}}
with supervised(["sh", "-c", script], seconds=600, cwd=cwd, env=env) as process:
    process.wait()
"""
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE) as test:
        try:
            assert test.stdout is not None
            started = [int(test.stdout.readline()), int(test.stdout.readline())]
            assert all(map(alive, started))
        finally:
            test.kill()
        # The supervisor inherits the stream from the test, and closes it when it ends.
        test.communicate(timeout=TIMEOUT_SECONDS)

    assert not any(map(alive, started))


def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    command, env = ["no-such-program"], {"PATH": os.defpath}

    with supervised(command, seconds=TIMEOUT_SECONDS, cwd=tmp_path, env=env, stderr=subprocess.PIPE) as process:
        _, err = process.communicate()

    assert (process.returncode, err) == (127, b"no-such-program: No such file or directory\n")


def fail_with(folder: Path, started: list[int]) -> None:
    with run_script(folder, SLEEP) as process:
        assert process.stdout is not None
        started.append(int(process.stdout.readline()))
        raise ZeroDivisionError


def run_script(
    folder: Path, script: str, seconds: float = 60.0, **environ: str
) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    """Run a shell script under the supervisor."""
    pipe = subprocess.PIPE
    env = {"PATH": os.defpath, **environ}
    return supervised(["sh", "-c", script], seconds=seconds, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
