"""Leases from the log of a plan. Everything but the time of renewals and the wishes of persons is recorded there."""

from __future__ import annotations

from contextlib import suppress

from tildone.errors import UsageError
from tildone.log.fleet.facts import Answered, Asked, RunEnded, RunLost, RunQueued, RunReleased, RunTaken
from tildone.log.fleet.lease import Lease, LeaseState
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.log.events import Event


def leases_in(session: str, events: Iterable[Event]) -> list[Lease]:
    """Return the leases that events lead to, by run and hand.

    The events are those of all branches, in the order they were written: undoing a change does not undo a run.
    """
    leases: dict[tuple[str, int], Lease] = {}
    for event in events:
        fact = event.fact
        if not isinstance(fact, RunQueued | RunTaken | RunLost | RunReleased | RunEnded | Asked | Answered):
            continue
        # Whoever can write to a log can put anything into it, too: what breaks the rules of leases did not happen.
        with suppress(UsageError, TypeError):
            lease = leases.get((fact.run, fact.hand))
            if isinstance(fact, RunQueued):
                lease = lease or Lease(fact.run, fact.hand, session, made=event.at)
                leases[fact.run, fact.hand] = _queued(lease, fact, event.at)
            elif lease is not None:
                leases[fact.run, fact.hand] = _after(lease, fact, event.at)
    return [leases[key] for key in sorted(leases)]


def _queued(lease: Lease, fact: RunQueued, at: int) -> Lease:
    return replace(
        lease,
        work=fact.work,
        state=LeaseState.OPEN,
        epoch=fact.epoch,
        attempt=fact.attempt,
        owner="",
        not_before=fact.not_before,
        fails=0,
        losses=0,
        task=0,
        refused=(),
        questions=() if fact.why == "retried" else lease.questions,
        since=at,
    )


def _after(lease: Lease, fact: RunTaken | RunLost | RunReleased | RunEnded | Asked | Answered, at: int) -> Lease:
    match fact:
        case RunTaken(epoch=epoch, owner=owner):
            return replace(lease, epoch=epoch, owner=owner, since=at)
        case RunLost(epoch=epoch, task=task, losses=losses):
            attempt = lease.attempt + 1
            return replace(lease, epoch=epoch, attempt=attempt, owner="", task=task, losses=losses, since=at)
        case RunReleased(epoch=epoch, state=state, fails=fails, not_before=not_before, refused_by=worker):
            attempt = lease.attempt + (state is LeaseState.OPEN)
            released = replace(lease, epoch=epoch, state=state, attempt=attempt, owner="", fails=fails, since=at)
            return replace(released, not_before=not_before, refused=lease.refused_also_by(worker))
        case RunEnded(epoch=epoch, state=state, fails=fails):
            ended = replace(lease, epoch=epoch, state=state, owner="", questions=(), fails=fails, since=at)
            return replace(ended, not_before=0)
        case Asked(question=question):
            return replace(lease, questions=(*(each for each in lease.questions if each != question), question))
        case Answered(question=question):  # exhaustive
            return replace(lease, questions=tuple(each for each in lease.questions if each != question))
