"""Workers and schedules, as a store keeps them beside the leases."""

from __future__ import annotations

from tildone.log.fleet.lease import PROTOCOL, Ask, Work, check_work
from tildone.log.fleet.names import LATEST_MS, MAX_PRIORITY, check_name, check_number, check_text
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.log.fleet.lease import Lease
    from tildone.log.tree import SessionInfo


@value
class WorkerInfo:
    """A worker: `id` is `host/pid/nonce`. `seen` is its newest sign of life, in milliseconds since 1970.

    Raises:
        UsageError: a value is not allowed (`tildone.log.fleet.names`).
    """

    id: str
    host: str = ""
    pid: int = 0
    version: str = ""
    protocol: int = PROTOCOL
    slots: int = 1
    labels: tuple[str, ...] = ()
    seen: int = 0
    ask: Ask = Ask.NOTHING

    def __check__(self) -> None:
        for text in (self.id, self.host, self.version, *self.labels):
            check_text(text)
        for name in ("pid", "protocol", "slots"):
            check_number(f"`{name}` of a worker", getattr(self, name), MAX_PRIORITY)
        check_number("`seen` of a worker", self.seen, LATEST_MS)


@value
class RunSchedule:
    """A plan that is run again and again. `plan` is JSON text as `tildone.log.codec.plan_to_json` makes it.

    `cron` is read in the time zone `zone`, which is UTC if it is empty. `next` is the next time, in milliseconds since
    1970. `last` is the last run, which is not joined by another one while it lives.

    Raises:
        UsageError: a value is not allowed (`tildone.log.fleet.names`).
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
    """A lease with its session and its worker, as far as there are any, for lists.

    `remaining` is how many milliseconds a held lease had left when it was read; at 0 it has lapsed.
    """

    lease: Lease
    session: SessionInfo | None = None
    worker: WorkerInfo | None = None
    remaining: int = 0


@value
class BadRow:
    """A row of a fleet's tables that breaks the rules of `names`: somebody else has changed it. It is left alone.

    `name` is the key of the row, as it stands there.
    """

    table: str
    name: str
    why: str
