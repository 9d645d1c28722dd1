"""`RunLists`: reads some of the leases of a store, for screens.

No call reads more than it returns, apart from counting, which stops at a limit: runs that ended long ago cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

from tildone.log.fleet.lease import Lease, LeaseState
from tildone.log.fleet.workers import RunView
from tildone.value import value


class RunGroup(Enum):
    """The groups of a list of runs, in their order. Each hand of a run is in one of them."""

    WAITING = "waiting"
    RUNNING = "running"
    QUEUED = "queued"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def state(self) -> LeaseState:
        """The state of its leases."""
        return LeaseState.OPEN if self in (RunGroup.RUNNING, RunGroup.QUEUED) else LeaseState(self.value)

    @property
    def is_held(self) -> bool | None:
        """Whether workers hold its leases; None if that makes no difference."""
        return self is RunGroup.RUNNING if self.state is LeaseState.OPEN else None


@value
class RunPlace:
    """The place of a lease in its group: the newest state first."""

    since: int
    run: str
    hand: int


FIRST = RunPlace(2**62, "", 0)
"""Before the first lease of every group."""


def group_of(lease: Lease) -> RunGroup:
    if lease.state is not LeaseState.OPEN:
        return RunGroup(lease.state.value)
    return RunGroup.RUNNING if lease.is_held else RunGroup.QUEUED


class RunLists(Protocol):
    """The leases of a store, to be read. The views have neither sessions nor workers. Safe for several threads."""

    def page(self, group: RunGroup, after: RunPlace, limit: int) -> list[RunView]:
        """Return the leases of a group that follow a place, at most `limit`."""

    def held(self) -> list[RunView]:
        """Return all leases that workers hold, by run and hand."""

    def asking(self) -> list[Lease]:
        """Return the leases with open questions, by run and hand."""

    def of_sessions(self, sessions: Sequence[str]) -> list[RunView]:
        """Return all leases of some sessions, by run and hand."""

    def counts(self, limit: int) -> Mapping[RunGroup, int]:
        """Return how many leases are in each group, counted up to a limit."""

    def taken_over(self, since: int) -> int:
        """Return how many leases whose state is newer than a time were lost by a worker before."""

    def recent_sessions(self, since: int) -> list[str]:
        """Return the sessions of leases whose state is newer than a time, or that workers hold, each once."""

    def exists(self) -> bool:
        """Return whether there is a lease or a worker."""

    def now(self) -> int:
        """Return the time by the clock of the store, which signs of life have, in milliseconds since 1970."""
