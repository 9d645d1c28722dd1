"""The processes that belong to a lease, found by their environment: what a killed minder leaves behind.

Every process of an agent has its lease in the variable `TILDONE_LEASE`, unless it has removed it. Only `/proc` shows
the environment of another process, and only to its user. While a process executes another program, its environment is
empty for a moment: it is read again then, or a process that is to be ended would be missed.
"""

from __future__ import annotations

import os
import signal
import time

from tildone.agents.processes import ENV_END, ENV_START, FLAGS, START_CODE, START_TIME, STATE, process_stat
from tildone.errors import TildoneError
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LEASE_VARIABLE = "TILDONE_LEASE"
_PAUSE = 0.01
_STOPPED, _ENDED = (b"T", b"t"), (b"Z", b"X")
"""States of processes (proc(5))."""

_KERNEL_THREAD = 0x00200000
"""The flag `PF_KTHREAD` of the kernel."""

_EXEC_PAUSE, _EXEC_SECONDS = 0.001, 1.0
"""The pause before the environment of a process that executes a program is read again, and how long it is tried."""


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
    until = time.monotonic() + _EXEC_SECONDS
    while not (variables := _environ(entry)) and _may_have_variables(int(entry)) and time.monotonic() < until:
        time.sleep(_EXEC_PAUSE)
    prefix = f"{LEASE_VARIABLE}=".encode()
    found = next((variable for variable in variables.split(b"\0") if variable.startswith(prefix)), prefix)
    return found.removeprefix(prefix).decode("utf-8", "replace")


def _environ(entry: str) -> bytes:
    """The variables of a process; a single separator if they are not for this user or the process has ended."""
    try:
        if os.stat(f"/proc/{entry}").st_uid != os.geteuid():
            return b"\0"
        with open(f"/proc/{entry}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b"\0"


def _may_have_variables(pid: int) -> bool:
    """Whether a process without variables may have some: they are not in place yet, or were replaced meanwhile.

    The addresses of a new program are set last: as long as that of its code is 0, those of its variables are not valid.
    """
    fields = process_stat(pid)[1]
    if len(fields) <= ENV_END or fields[STATE] in _ENDED or int(fields[FLAGS]) & _KERNEL_THREAD:
        return False
    return fields[START_CODE] == b"0" or fields[ENV_START] != fields[ENV_END]


def _kill(process: LeasedProcess) -> None:
    try:
        os.kill(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
