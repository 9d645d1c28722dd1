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

    from tildone.core.plan import Plan, Task
    from tildone.log.claims import Claim
    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.port import RunLeases
    from tildone.log.store import Store

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
    looks again after the delay, or sooner: when another hand has completed a task (see `Waker`).
    """
    left = _without(plan, others.tasks)
    if not others.count or not others.tasks or startable(plan, others.tasks):
        return None
    return RunEnding(None, OTHERS_HAVE_IT, delay) if left else RunEnding(WorkOutcome.DONE, OTHERS_HAVE_IT)


def startable(plan: Plan, taken: frozenset[int]) -> int:
    """Return how many tasks can be started while those with the numbers `taken` are worked on."""
    return sum(is_ready(plan, task) and not conflicting(plan, task, taken) for task in _without(plan, taken))


def _without(plan: Plan, taken: frozenset[int]) -> list[Task]:
    return [task for _, task in open_tasks(plan) if task.number not in taken]


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


class Waker:
    """Wakes the hands of a run that wait for tasks of others when a task is closed, if one is left for them.

    `has_others` is whether the run has several hands.
    A hand gives its lease back before it looks at the plan for the last time. So either it sees that a task was closed
    meanwhile, or the hand that closes it sees that this one waits.
    """

    def __init__(self, store: Store, leases: RunLeases, lease: Lease) -> None:
        self._store, self._leases, self._lease = store, leases, lease
        self.has_others, self._known = False, frozenset[int]()

    def begin(self, plan: Plan, hands: int) -> None:
        """Begin with a plan, and with all hands of the run."""
        self.has_others, self._known = hands > 1, closed_tasks(plan)

    def look(self, plan: Plan, *, goes_on: bool) -> None:
        """Wake the others if tasks have been closed and can be started.

        A hand that goes on starts one of them itself, unless it has done so already.
        """
        closed = closed_tasks(plan)
        if self.has_others and closed - self._known and self._leaves_a_task(plan, closed, goes_on=goes_on):
            self._leases.hasten(self._lease.run)
        self._known = closed

    def _leaves_a_task(self, plan: Plan, closed: frozenset[int], *, goes_on: bool) -> bool:
        own = f"{self._lease.run}/{self._lease.hand}"
        claims = [claim for claim in self._store.claims(self._lease.session) if claim.is_held]
        has_begun = any(claim.holder.lease == own and claim.task not in closed for claim in claims)
        taken = frozenset(claim.task for claim in claims) - closed
        return startable(plan, taken) > int(goes_on and not has_begun)


def closed_tasks(plan: Plan) -> frozenset[int]:
    """Return the numbers of the tasks that are not open."""
    return frozenset(task.number for task in plan.tasks if not task.status.is_open)
