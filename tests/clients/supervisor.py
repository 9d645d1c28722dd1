"""Runs a program whose processes never outlive the test, however the test ends.

This file runs as a process between the test and the program: `supervisor.py SECONDS PIPE PROGRAM…`. PIPE is the file
descriptor of a pipe whose other end the test keeps open. The program and all its descendants are killed when the
program ends, when the seconds have passed, or when the other end of the pipe is closed, which happens however the test
ends. The program inherits the streams and the environment. Its exit code is passed on, unless it was killed: then it is
TIMED_OUT or TEST_ENDED.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

TIMED_OUT, TEST_ENDED = 124, 125
ADOPT_ORPHANS = 36
"""Linux: orphaned descendants are reparented to this process, whatever group or session they are in."""
KILL_TIMEOUT_SECONDS = 20.0


@contextlib.contextmanager
def supervised(
    command: Sequence[str], *, seconds: float, cwd: Path, env: Mapping[str, str], **streams: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program with exactly this environment; on exit, it and all its descendants have ended."""
    read_end, write_end = os.pipe()
    try:
        supervisor = [sys.executable, "-I", __file__, str(seconds), str(read_end), *command]
        process = subprocess.Popen(supervisor, cwd=cwd, env=env, pass_fds=[read_end], start_new_session=True, **streams)
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    try:
        yield process
    finally:
        os.close(write_end)
        with process:
            try:
                process.wait(KILL_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def main(seconds: float, pipe: int, command: list[str]) -> int:
    """Run the program, and return when none of its descendants is left."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    try:
        program = subprocess.Popen(command, start_new_session=True)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    try:
        return _wait(program, time.monotonic() + seconds, pipe)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        _kill_children()


def _wait(program: "subprocess.Popen[bytes]", deadline: float, pipe: int) -> int:
    while (code := program.poll()) is None:
        if time.monotonic() > deadline:
            return TIMED_OUT
        closed, _, _ = select.select([pipe], [], [], 0.02)
        if closed:
            return TEST_ENDED
    return code if code >= 0 else 128 - code


def _kill_children() -> None:
    """Kill all child processes until none is left: the children of a killed process become ours."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for child in _children():
                os.kill(child, signal.SIGKILL)
            os.wait()


def _children() -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The program's name is in parentheses and may contain any character.
            _state, parent, *_ = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(parent) == os.getpid():
                yield int(entry.parent.name)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
