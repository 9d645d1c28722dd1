"""Workers and schedules, as a store keeps them beside the leases."""

from __future__ import annotations

from tildone.log.fleet.lease import PROTOCOL, Ask, Work
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from tildone.log.fleet.lease import Lease
    from tildone.log.tree import SessionInfo


@value
class WorkerInfo:
    """A worker: `id` is `host/pid/nonce`. `seen` is its newest sign of life, in milliseconds since 1970."""

    id: str
    host: str = ""
    pid: int = 0
    version: str = ""
    protocol: int = PROTOCOL
    slots: int = 1
    labels: tuple[str, ...] = ()
    seen: int = 0
    ask: Ask = Ask.NOTHING


@value
class RunSchedule:
    """A plan that is run again and again. `plan` is JSON text as `tildone.log.codec.plan_to_json` makes it.

    `cron` is read in the time zone `zone`, which is UTC if it is empty. `next` is the next time, in milliseconds since
    1970. `last` is the last run, which is not joined by another one while it lives.
    """

    name: str
    cron: str
    plan: str
    next: int
    work: Work = Work()
    zone: str = ""
    last: str = ""


@value
class RunView:
    """A lease with its session and its worker, as far as there are any, for lists.

    `remaining` is how many milliseconds a held lease had left when it was read; at 0 it has lapsed.
    """

    lease: Lease
    session: SessionInfo | None = None
    worker: WorkerInfo | None = None
    remaining: int = 0
