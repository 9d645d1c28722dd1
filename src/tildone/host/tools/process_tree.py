"""A process and everything that it started: who is still there, and how they are all made to end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

from tildone.value import value

GRACE = 0.3
"""Seconds between the request to end and the end."""

_LAST = 0.5
_LOOK = 0.02
_TRIES = 5
_PROC = "/proc"
_ENDED = b"ZX"


@value
class ProcessInfo:
    """One row of the system's table."""

    pid: int
    parent: int
    group: int
    session: int
    name: str


class ProcessTree:
    """A process that leads a session, all that is in the session, and all that left it but came from there."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._sessions = {leader}

    def alive(self) -> list[ProcessInfo]:
        """Who is still there; where the system has no table to read, the leader stands for its group."""
        if not os.path.isdir(_PROC):
            return [ProcessInfo(self._leader, 0, self._leader, self._leader, "")] if self._group_exists() else []
        table = list(_table())
        members: dict[int, ProcessInfo] = {}
        grown = True
        while grown:
            found = {
                row.pid: row
                for row in table
                if row.session in self._sessions or row.parent in members or row.parent == self._leader
            }
            grown = len(found) > len(members)
            members = found
            # One that left for a session of its own leads it, and its children are found there.
            self._sessions.update(row.session for row in found.values())
        return list(members.values())

    async def end(self) -> None:
        """Ask everyone to end, then end those who do not. Nobody is left when this is done."""
        self._signal(signal.SIGTERM)
        if not await self._gone(GRACE):
            await self._gone(_LAST, kill=True)

    def kill(self) -> None:
        """End everyone at once, also those who are being started meanwhile."""
        for _ in range(_TRIES):
            self._signal(_KILL)
            if not self.alive():
                return

    async def _gone(self, seconds: float, *, kill: bool = False) -> bool:
        for _ in range(round(seconds / _LOOK)):
            if kill:
                self._signal(_KILL)
            if not self.alive():
                return True
            await asyncio.sleep(_LOOK)
        return False

    def _signal(self, number: signal.Signals) -> None:
        if sys.platform == "win32":
            tree = ["taskkill", "/T", "/F", "/PID", str(self._leader)]
            subprocess.run(tree, capture_output=True, check=False)  # noqa: S603  a number and our own words
            return
        others = [process for process in self.alive() if process.group != self._leader]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)
        for process in others:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)

    def _group_exists(self) -> bool:
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self._leader, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def _table() -> Iterator[ProcessInfo]:
    """The processes that run; those that have ended and wait for their parent to notice do not count."""
    for entry in os.listdir(_PROC):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError), open(f"{_PROC}/{entry}/stat", "rb") as file:
            # The name is in parentheses, and may itself hold spaces and parentheses.
            front, _, rest = file.read().rpartition(b")")
            state, parent, group, session = rest.split()[:4]
            if state not in _ENDED:
                name = front.partition(b"(")[2].decode("utf-8", "replace")
                yield ProcessInfo(int(entry), int(parent), int(group), int(session), name)


_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
