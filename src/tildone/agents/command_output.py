"""The standard output of a short command, with a timeout, without importing `subprocess` on Unix.

`subprocess` takes longer to import than the command takes to run, and a hook pays for it at every stop of an agent.
"""

from __future__ import annotations

import os
import sys
from time import monotonic

if sys.platform == "win32":

    def command_output(command: list[str], environ: dict[str, str], timeout: float) -> bytes | None:
        """What a command prints; None if it fails, or does not end in time.

        Raises:
            OSError: it cannot be started.
        """
        # Late, for the reason given above; Windows has no `posix_spawn`.
        from subprocess import DEVNULL, SubprocessError, run  # noqa: PLC0415  see above

        try:
            done = run(command, stdin=DEVNULL, capture_output=True, env=environ, timeout=timeout, check=True)  # noqa: S603  its words are ours
        except SubprocessError:
            return None
        return done.stdout

else:
    import select

    _SIGKILL = 9
    """The number of `signal.SIGKILL`, whose module takes as long to import as all of this."""

    def command_output(command: list[str], environ: dict[str, str], timeout: float) -> bytes | None:
        """What a command prints; None if it fails, or does not end in time.

        Raises:
            OSError: it cannot be started.
        """
        ours, theirs = os.pipe()
        try:
            to_null = (
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
            )
            actions = [*to_null, (os.POSIX_SPAWN_DUP2, theirs, 1)]
            child = os.posix_spawnp(command[0], command, environ, file_actions=actions)
            os.close(theirs)
            theirs = -1
            output = _read(ours, timeout)
            if output is None:
                os.kill(child, _SIGKILL)
            _, status = os.waitpid(child, 0)
            return output if status == 0 else None
        finally:
            os.close(ours)
            if theirs >= 0:
                os.close(theirs)

    def _read(pipe: int, timeout: float) -> bytes | None:
        """What comes out of a pipe until it is closed; None if that takes longer."""
        deadline, output = monotonic() + timeout, bytearray()
        while (left := deadline - monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
            piece = os.read(pipe, 1 << 16)
            if not piece:
                return bytes(output)
            output += piece
        return None
