"""Run a short command with a timeout and capture its output, without importing `subprocess` on Unix.

`subprocess` takes longer to import than the command takes to run, and a hook pays for it at every stop of an agent.
"""

from __future__ import annotations

import os
import sys
from time import monotonic

if sys.platform == "win32":

    def command_output(command: list[str], environ: dict[str, str], timeout: float) -> bytes | None:
        """Return the standard output of a command; None if it fails or times out.

        Raises:
            OSError: it cannot be started.
        """
        # Late, for the reason given above; Windows has no `posix_spawn`.
        from subprocess import DEVNULL, SubprocessError, run  # noqa: PLC0415  see above

        try:
            done = run(command, stdin=DEVNULL, capture_output=True, env=environ, timeout=timeout, check=True)  # noqa: S603  the command is not user input
        except SubprocessError:
            return None
        return done.stdout

else:
    import select

    _SIGKILL = 9
    """The value of `signal.SIGKILL`. Importing `signal` would take as long as importing this module."""

    def command_output(command: list[str], environ: dict[str, str], timeout: float) -> bytes | None:
        """Return the standard output of a command; None if it fails or times out.

        Raises:
            OSError: it cannot be started.
        """
        read_end, write_end = os.pipe()
        try:
            to_null = (
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
            )
            actions = [*to_null, (os.POSIX_SPAWN_DUP2, write_end, 1)]
            child = os.posix_spawnp(command[0], command, environ, file_actions=actions)
            os.close(write_end)
            write_end = -1
            output = _read(read_end, timeout)
            if output is None:
                os.kill(child, _SIGKILL)
            _, status = os.waitpid(child, 0)
            return output if status == 0 else None
        finally:
            os.close(read_end)
            if write_end >= 0:
                os.close(write_end)

    def _read(pipe: int, timeout: float) -> bytes | None:
        """Read a pipe until it is closed. Return None if that takes longer than `timeout` seconds."""
        deadline, output = monotonic() + timeout, bytearray()
        while (left := deadline - monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
            chunk = os.read(pipe, 1 << 16)
            if not chunk:
                return bytes(output)
            output += chunk
        return None
