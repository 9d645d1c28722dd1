"""A process and its descendants: which are alive, and how to end all of them.

Theory of operation. The root process leads a session of its own, so most descendants are found by their session id. A
descendant may call `setsid` and leave; it is found as the child of a known process, and its new session is remembered,
so that its own children are found even after it has died. The table in `/proc` is a snapshot: a process may fork while
it is read, so termination repeats reading and signalling until no process is left. Without `/proc` only the process
group of the root is known.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

from tildone.value import value

TERM_GRACE_SECONDS = 0.3
"""The time between SIGTERM and SIGKILL."""

_KILL_TIMEOUT_SECONDS = 0.5
_POLL_SECONDS = 0.02
_MAX_KILL_ROUNDS = 5
_PROC = "/proc"
_ENDED_STATES = b"ZX"


@value
class ProcessInfo:
    """One row of the process table."""

    pid: int
    parent: int
    group: int
    session: int
    name: str


class ProcessTree:
    """The process with id `root`, which leads a session, and all its descendants."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._sessions = {root}

    def alive(self) -> list[ProcessInfo]:
        """Return the live processes; without `/proc`, the root represents its process group."""
        if not os.path.isdir(_PROC):
            return [ProcessInfo(self._root, 0, self._root, self._root, "")] if self._group_exists() else []
        table = list(_table())
        members: dict[int, ProcessInfo] = {}
        grown = True
        while grown:
            found = {
                row.pid: row
                for row in table
                if row.session in self._sessions or row.parent in members or row.parent == self._root
            }
            grown = len(found) > len(members)
            members = found
            # A process that started a session of its own leads it; its children are found there.
            self._sessions.update(row.session for row in found.values())
        return list(members.values())

    async def terminate(self) -> None:
        """Send SIGTERM, then SIGKILL to the processes that remain."""
        self._signal(signal.SIGTERM)
        if not await self._wait_until_gone(TERM_GRACE_SECONDS):
            await self._wait_until_gone(_KILL_TIMEOUT_SECONDS, kill=True)

    def kill(self) -> None:
        """Send SIGKILL until no process is left, including those that are started meanwhile."""
        for _ in range(_MAX_KILL_ROUNDS):
            self._signal(_KILL)
            if not self.alive():
                return

    async def _wait_until_gone(self, seconds: float, *, kill: bool = False) -> bool:
        for _ in range(round(seconds / _POLL_SECONDS)):
            if kill:
                self._signal(_KILL)
            if not self.alive():
                return True
            await asyncio.sleep(_POLL_SECONDS)
        return False

    def _signal(self, number: signal.Signals) -> None:
        if sys.platform == "win32":
            tree = ["taskkill", "/T", "/F", "/PID", str(self._root)]
            subprocess.run(tree, capture_output=True, check=False)  # noqa: S603  fixed arguments and a number
            return
        others = [process for process in self.alive() if process.group != self._root]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._root, number)
        for process in others:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)

    def _group_exists(self) -> bool:
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self._root, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def _table() -> Iterator[ProcessInfo]:
    """Read the process table, without zombies."""
    for entry in os.listdir(_PROC):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError), open(f"{_PROC}/{entry}/stat", "rb") as file:
            # The name is in parentheses, and may contain spaces and parentheses.
            front, _, rest = file.read().rpartition(b")")
            state, parent, group, session = rest.split()[:4]
            if state not in _ENDED_STATES:
                name = front.partition(b"(")[2].decode("utf-8", "replace")
                yield ProcessInfo(int(entry), int(parent), int(group), int(session), name)


_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
