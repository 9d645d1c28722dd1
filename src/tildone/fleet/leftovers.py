"""The processes that belong to a lease, found by their environment: what a killed minder leaves behind.

Every process of an agent has its lease in the variable `TILDONE_LEASE`, unless it has removed it. Only `/proc` shows
the environment of another process, and only to its user.
"""

from __future__ import annotations

import os
import signal
import time

from tildone.agents.processes import START_TIME, STATE, process_stat
from tildone.errors import TildoneError
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LEASE_VARIABLE = "TILDONE_LEASE"
_PAUSE = 0.01
_STOPPED, _ENDED = (b"T", b"t"), (b"Z", b"X")
"""States of processes (proc(5))."""


class Unsupported(TildoneError):
    """This system lacks what a fleet needs."""


@value
class LeasedProcess:
    """A process with a lease in its environment.

    `name` is the name of its program, which it chooses itself: it may contain control characters. `started` is its
    start time in clock ticks since boot, and `stopped` whether it has been stopped by a signal.
    """

    pid: int
    lease: str
    name: str
    started: int
    stopped: bool


def orphans(living: Collection[str]) -> list[LeasedProcess]:
    """Return the processes of this user whose lease is not among the living ones.

    Raises:
        Unsupported: there is no `/proc`.
    """
    if not os.path.exists("/proc/self/environ"):
        raise Unsupported("processes of lost leases cannot be found: this system has no /proc")
    return [process for process in _leased_processes() if process.lease not in living]


def end_processes(lease: str, seconds: float) -> bool:
    """Kill the processes of a lease until none is left, for a limited time; return whether none is left.

    Without `/proc`, none is found.
    """
    until = time.monotonic() + seconds
    while found := [process for process in _leased_processes() if process.lease == lease]:
        if time.monotonic() > until:
            return False
        for process in found:
            _kill(process)
        time.sleep(_PAUSE)
    return True


def _leased_processes() -> Iterator[LeasedProcess]:
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        lease = _lease_of(entry) if entry.isdigit() else ""
        name, fields = process_stat(int(entry)) if lease else ("", [])
        if fields and fields[STATE] not in _ENDED:
            yield LeasedProcess(int(entry), lease, name, int(fields[START_TIME]), fields[STATE] in _STOPPED)


def _lease_of(entry: str) -> str:
    """The lease of a process of this user; empty if it has none or has ended."""
    try:
        if os.stat(f"/proc/{entry}").st_uid != os.geteuid():
            return ""
        with open(f"/proc/{entry}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return ""
    prefix = f"{LEASE_VARIABLE}=".encode()
    found = next((variable for variable in variables if variable.startswith(prefix)), prefix)
    return found.removeprefix(prefix).decode("utf-8", "replace")


def _kill(process: LeasedProcess) -> None:
    try:
        os.kill(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
