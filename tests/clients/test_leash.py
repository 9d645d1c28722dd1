"""Nothing that a test has started outlives it."""

import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.clients.leash import LATE, leashed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has neither process groups nor these pipes")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere what leaves its process group gets away")

PATIENCE = 20.0
STAY = "echo $$; exec sleep 60 > /dev/null 2>&1"
LEAVE_ONE_BEHIND = f"echo $(setsid sh -c '{STAY}' &)"


def test_a_program_has_its_own_streams_environment_and_exit_code(tmp_path: Path) -> None:
    """Nothing of this process's environment is in its own."""
    script = 'read word; echo "$word $NAME $(pwd)"; echo bad >&2; env > environment; exit 7'

    with held(tmp_path, script, NAME="mine") as process:
        out, err = process.communicate(b"hello\n", PATIENCE)

    assert (process.returncode, out, err) == (7, f"hello mine {tmp_path}\n".encode(), b"bad\n")
    names = {line.partition("=")[0] for line in (tmp_path / "environment").read_text(encoding="utf-8").splitlines()}
    assert names <= {"NAME", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """And the exit code says why."""
    with held(tmp_path, STAY, seconds=0.1) as process:
        assert process.wait(PATIENCE) == LATE


@on_linux
def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    """Also in a session of its own, where no signal to a group finds it."""
    with held(tmp_path, LEAVE_ONE_BEHIND) as process:
        left, _ = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert not alive(int(left))


def test_a_test_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """Whatever was started is gone when the failure is heard of."""
    started: list[int] = []

    with pytest.raises(ZeroDivisionError):
        fail_with(tmp_path, started)

    assert not any(map(alive, started))
    assert started


@on_linux
def test_a_test_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    """Nobody is left to clean up then, and it is done all the same."""
    code = f"""
from pathlib import Path
from tests.clients.leash import leashed
script = {f"{LEAVE_ONE_BEHIND}; {STAY}"!r}
with leashed(["sh", "-c", script], seconds=600, cwd=Path({str(tmp_path)!r}), env={{"PATH": {os.defpath!r}}}) as process:
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
        # The leash has the stream from the test, and lets go of it when it has nothing left to do.
        test.communicate(timeout=PATIENCE)

    assert not any(map(alive, started))


def test_a_program_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    """In a sentence, not in a trace."""
    command, env = ["no-such-program"], {"PATH": os.defpath}

    with leashed(command, seconds=PATIENCE, cwd=tmp_path, env=env, stderr=subprocess.PIPE) as process:
        _, err = process.communicate()

    assert (process.returncode, err) == (127, b"no-such-program: No such file or directory\n")


def fail_with(folder: Path, started: list[int]) -> None:
    with held(folder, STAY) as process:
        assert process.stdout is not None
        started.append(int(process.stdout.readline()))
        raise ZeroDivisionError


def held(
    folder: Path, script: str, seconds: float = 60.0, **environ: str
) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    """A script of the shell on a leash."""
    pipe = subprocess.PIPE
    env = {"PATH": os.defpath, **environ}
    return leashed(["sh", "-c", script], seconds=seconds, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
