"""Which tasks have to be done again, because the files of those who did them are lost."""

from __future__ import annotations

from tildone.core.plan import Plan, Status
from tildone.log.events import Actor, PlanChanged
from tildone.log.fleet.facts import Kept, RunTaken
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease


def lost_tasks(events: Sequence[Event], lease: Lease, plan: Plan, hands: int) -> list[int]:
    """Return the numbers of the tasks of `plan` that agents of a hand have completed since its newest checkpoint.

    Without a checkpoint, since it was first taken. What people have completed needs no files. With several hands, only
    the shell agent tells in its name which hand it is, and only its tasks are known.
    """
    since = _kept_until(events, lease)
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


def covered(fact: Kept, at: int, positions: Mapping[str, int]) -> int:
    """Return the position of the last event whose files a checkpoint has.

    `at` is the position of the fact itself, and `positions` has those of the events before it, by their ids.
    """
    return positions.get(fact.as_of, at)


def _kept_until(events: Sequence[Event], lease: Lease) -> int:
    """Return the position of the first event whose files may not be kept."""
    positions: dict[str, int] = {}
    taken = kept = None
    for at, event in enumerate(events):
        positions[event.id] = at
        fact = event.fact
        if isinstance(fact, Kept | RunTaken) and (fact.run, fact.hand) == (lease.run, lease.hand):
            if isinstance(fact, Kept):
                kept = covered(fact, at, positions) + 1
            elif taken is None:
                taken = at
    return next((found for found in (kept, taken) if found is not None), len(events))


def _plan_before(events: Sequence[Event], position: int) -> Plan:
    plans = (event.fact.plan for event in reversed(events[:position]) if isinstance(event.fact, PlanChanged))
    return next(plans, Plan())


def _completed(plan: Plan) -> set[int]:
    return {task.number for task in plan.tasks if task.status is Status.COMPLETED}
