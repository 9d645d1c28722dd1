"""How the work of one of several hands of a run ends, with regard to the others."""

from __future__ import annotations

from tildone.core.query import is_ready, open_tasks, progress
from tildone.core.touches import conflicting
from tildone.fleet.endings import RunEnding
from tildone.log.events import PlanChanged
from tildone.log.fleet.facts import RunQueued, RunReleased
from tildone.log.fleet.lease import WorkOutcome
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.core.plan import Plan
    from tildone.log.claims import Claim
    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease

OTHERS_HAVE_IT, LOOKS_AGAIN = "other hands have the rest", "it looks again for a task"
FIRST_LOOK_MS, MAX_LOOKS = 1000, 4
"""How a hand looks again for a task: soon, and a few times while no task is closed."""


@value
class OtherHands:
    """How many other hands of a run have not ended, and the tasks that others work on."""

    count: int
    tasks: frozenset[int]


def other_hands(lease: Lease, hands: Iterable[Lease], claims: Iterable[Claim]) -> OtherHands:
    """Return the other hands of the run, given all of them and the claims of all tasks."""
    own = f"{lease.run}/{lease.hand}"
    return OtherHands(
        sum(other.hand != lease.hand and other.state.is_living for other in hands),
        frozenset(claim.task for claim in claims if claim.is_held and claim.holder.lease != own),
    )


def waits(plan: Plan, others: OtherHands, delay: int) -> RunEnding | None:
    """Return how the work of a hand ends while others have all that can be done; None if it can do something.

    If they have all that is left, it is done. If the rest waits for their tasks, or may change the same files, it
    looks again after the delay.
    """
    left = [task for _, task in open_tasks(plan) if task.number not in others.tasks]
    can_start = any(is_ready(plan, task) and not conflicting(plan, task, others.tasks) for task in left)
    if not others.count or not others.tasks or can_start:
        return None
    return RunEnding(None, OTHERS_HAVE_IT, delay) if left else RunEnding(WorkOutcome.DONE, OTHERS_HAVE_IT)


def hand_ending(ending: RunEnding, plan: Plan, others: OtherHands, delay: int, looks: int) -> RunEnding:
    """Return how the work of a hand ends whose agent has ended, given how it would end if there were no others.

    If a task can be done, or nobody is at work, another hand may have left a task or closed one just after the agent
    had looked. The hand looks again soon, if it has not done so too often.
    """
    if ending.outcome is not WorkOutcome.FAILED or not others.count or not open_tasks(plan):
        return ending
    again = RunEnding(None, LOOKS_AGAIN, FIRST_LOOK_MS * 2**looks) if looks < MAX_LOOKS else ending
    return waits(plan, others, delay) or again


def looks_of(newest_first: Iterable[Event], lease: Lease, plan: Plan) -> int:
    """Return how often a hand has looked again since it was queued, or since a task of the plan was closed."""
    closed, looks = progress(plan).closed, 0
    for event in newest_first:
        fact = event.fact
        if isinstance(fact, PlanChanged) and progress(fact.plan).closed < closed:
            break
        if isinstance(fact, RunQueued) and (fact.run, fact.hand) == (lease.run, lease.hand):
            break
        if isinstance(fact, RunReleased) and (fact.run, fact.hand, fact.why) == (lease.run, lease.hand, LOOKS_AGAIN):
            looks += 1
    return looks
