"""Runs a program of which nothing outlives the test, however the test ends.

Between the two stands this file, as a program of its own: `leash.py SECONDS LIFELINE PROGRAM…`. LIFELINE is a file
descriptor; the test holds the other end. The program and all that it has started are killed when the program ends, when
the seconds have passed, and when the test lets go of the line, which it does by ending in whatever way. The streams and
the environment are the program's own, and so is the exit code, unless it is LATE or LET_GO.
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

LATE, LET_GO = 124, 125
ADOPT_ORPHANS = 36
"""Linux: orphaned descendants are reparented to this process, whatever group or session they are in."""
PATIENCE = 20.0


@contextlib.contextmanager
def leashed(
    command: Sequence[str], *, seconds: float, cwd: Path, env: Mapping[str, str], **streams: Any
) -> Iterator["subprocess.Popen[bytes]"]:
    """A program in this environment and no other; with everything it has started it is gone when this is left."""
    line, hand = os.pipe()
    try:
        leash = [sys.executable, "-I", __file__, str(seconds), str(line), *command]
        process = subprocess.Popen(leash, cwd=cwd, env=env, pass_fds=[line], start_new_session=True, **streams)
    except BaseException:
        os.close(hand)
        raise
    finally:
        os.close(line)
    try:
        yield process
    finally:
        os.close(hand)
        with process:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def main(seconds: float, lifeline: int, command: list[str]) -> int:
    """Run the program, and return when none of its descendants is left."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    try:
        program = subprocess.Popen(command, start_new_session=True)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    try:
        return _watched(program, time.monotonic() + seconds, lifeline)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        _kill_children()


def _watched(program: "subprocess.Popen[bytes]", until: float, lifeline: int) -> int:
    while (code := program.poll()) is None:
        if time.monotonic() > until:
            return LATE
        let_go, _, _ = select.select([lifeline], [], [], 0.02)
        if let_go:
            return LET_GO
    return code if code >= 0 else 128 - code


def _kill_children() -> None:
    """Kill what is left until nothing is: whoever dies leaves us its own children."""
    with contextlib.suppress(ChildProcessError):
        while True:
            for child in _children():
                os.kill(child, signal.SIGKILL)
            os.wait()


def _children() -> Iterator[int]:
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The program's name stands in parentheses, and may hold any character.
            _state, parent, *_ = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(parent) == os.getpid():
                yield int(entry.parent.name)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
