"""Workers and schedules, as a store keeps them beside the leases, and `RunLists`: some of the leases, for screens.

No call of `RunLists` reads more than it returns, apart from counting, which stops at a limit: runs that ended long ago
cost nothing.
"""

from __future__ import annotations

from enum import Enum

from tildone.base import value
from tildone.plan.events import SessionInfo
from tildone.plan.names import LATEST_MS, MAX_PRIORITY, check_name, check_number, check_text
from tildone.plan.runs import PROTOCOL, Lease, LeaseRequest, LeaseState, Work, check_work


@value
class WorkerInfo:
    """A worker: `id` is `host/pid/nonce`. `seen` is its newest sign of life, in milliseconds since 1970.

    A value that is not allowed (`tildone.plan.names`) raises `UsageError`.
    """

    id: str
    host: str = ""
    pid: int = 0
    version: str = ""
    protocol: int = PROTOCOL
    slots: int = 1
    labels: tuple[str, ...] = ()
    seen: int = 0
    request: LeaseRequest = LeaseRequest.NOTHING

    def __check__(self) -> None:
        for text in (self.id, self.host, self.version, *self.labels):
            check_text(text)
        for name in ("pid", "protocol", "slots"):
            check_number(f"`{name}` of a worker", getattr(self, name), MAX_PRIORITY)
        check_number("`seen` of a worker", self.seen, LATEST_MS)


@value
class RunSchedule:
    """A plan that is run again and again. `plan` is JSON text as `tildone.plan.codec.plan_to_json` makes it.

    `cron` is read in the time zone `zone`, which is UTC if it is empty. `next` is the next time, in milliseconds since
    1970. `last` is the last run, which is not joined by another one while it lives.

    A value that is not allowed (`tildone.plan.names`) raises `UsageError`.
    """

    name: str
    cron: str
    plan: str
    next: int
    work: Work = Work()
    zone: str = ""
    last: str = ""

    def __check__(self) -> None:
        check_name("the name of a schedule", self.name)
        if self.last:
            check_name("the name of a run", self.last)
        check_text(self.cron)
        check_text(self.zone)
        check_number("`next` of a schedule", self.next, LATEST_MS)
        check_work(self.work)


@value
class RunView:
    """A lease with its session and worker, if any. `remaining` is how many ms a held lease had when it was read."""

    lease: Lease
    session: SessionInfo | None = None
    worker: WorkerInfo | None = None
    remaining: int = 0


@value
class BadRow:
    """A row of a fleet's tables that somebody has changed against the rules of `names`. It is left alone."""

    table: str
    name: str
    why: str


class RunGroup(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    QUEUED = "queued"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"
    CANCELLED = "cancelled"

    @property
    def state(self) -> LeaseState:
        return LeaseState.OPEN if self in (RunGroup.RUNNING, RunGroup.QUEUED) else LeaseState(self.value)

    @property
    def is_held(self) -> bool | None:
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
