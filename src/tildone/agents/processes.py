"""Process queries: the process of an agent, the start time of a process, and whether it is still running."""

from __future__ import annotations

import os

WRAPPERS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "env", "timeout", "nice"})
"""Programs that start another program and are not the agent themselves."""

_PARENT, _START_TIME = 1, 19
"""Positions in `/proc/PID/stat` (proc(5)), counted after the command name."""


def agent_process() -> int:
    """Return the nearest ancestor process that is not a shell or similar wrapper; 0 if it cannot be determined.

    Without `/proc`, this is the parent process, because most shells replace themselves to run a single command.
    """
    pid = os.getppid()
    while pid > 1:
        command, fields = _stat(pid)
        if command not in WRAPPERS:
            return pid
        pid = int(fields[_PARENT])
    return 0


def start_time(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 if that cannot be determined."""
    fields = _stat(pid)[1] if pid else []
    return int(fields[_START_TIME]) if len(fields) > _START_TIME else 0


def is_running(pid: int) -> bool:
    """Return whether a process with this id exists. Not for Windows, where signal 0 would interrupt the process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It exists and belongs to another user.
        return True
    return True


def _stat(pid: int) -> tuple[str, list[bytes]]:
    """The command name and the fields after it; empty if there is no such process or no `/proc`."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            command, _, rest = file.read().partition(b"(")[2].rpartition(b")")
    except OSError:
        return "", []
    return command.decode("utf-8", "replace"), rest.split()
