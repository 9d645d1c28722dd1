"""Which tasks have to be done again, because the files of those who did them are lost."""

from __future__ import annotations

from tildone.core.plan import Plan, Status
from tildone.log.events import Actor, PlanChanged
from tildone.log.fleet.facts import Kept, RunTaken
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease


def lost_tasks(events: Sequence[Event], lease: Lease, plan: Plan, hands: int) -> list[int]:
    """Return the numbers of the tasks of `plan` that agents of a hand have completed since its newest checkpoint.

    Without a checkpoint, since it was first taken. What people have completed needs no files. With several hands, only
    the shell agent tells in its name which hand it is, and only its tasks are known.
    """
    since = max(_positions(events, lease, Kept)[-1:] or _positions(events, lease, RunTaken)[:1], default=len(events))
    done = _completed(_plan_before(events, since))
    lost: set[int] = set()
    for event in events[since:]:
        if isinstance(event.fact, PlanChanged):
            now = _completed(event.fact.plan)
            is_ours = hands == 1 or event.author.agent.endswith(f":{lease.run}/{lease.hand}")
            if event.actor is Actor.AGENT and is_ours:
                lost |= now - done
            done = now
    return sorted(lost & _completed(plan))


def _positions(events: Sequence[Event], lease: Lease, kind: type[Kept | RunTaken]) -> list[int]:
    return [
        position
        for position, event in enumerate(events)
        if isinstance(event.fact, kind) and (event.fact.run, event.fact.hand) == (lease.run, lease.hand)
    ]


def _plan_before(events: Sequence[Event], position: int) -> Plan:
    plans = (event.fact.plan for event in reversed(events[:position]) if isinstance(event.fact, PlanChanged))
    return next(plans, Plan())


def _completed(plan: Plan) -> set[int]:
    return {task.number for task in plan.tasks if task.status is Status.COMPLETED}
