"""The hands of a run with regard to each other: who has which task, who wakes whom, and how their files meet."""

import time
from collections.abc import Callable, Iterable, Sequence

from tildone.base import TildoneError, replace, value
from tildone.fleet.git import Git, GitError
from tildone.fleet.handover import RunEnding
from tildone.fleet.workspaces import covered, subject_of
from tildone.fleet.worktrees import bring_in, settled
from tildone.log.store import Store
from tildone.plan.claims import Claim
from tildone.plan.events import Event, PlanChanged
from tildone.plan.model import Plan, Task, completed_in, conflicting, is_ready, open_tasks, progress
from tildone.plan.names import branch_of, is_commit
from tildone.plan.runs import OTHERS_HAVE_IT, Kept, Lease, RunQueued, RunReleased, WorkOutcome, is_of
from tildone.stores.leasing import RunLeases

LOOKS_AGAIN = "it looks again for a task"
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
        sum(other.hand != lease.hand and other.state.is_active for other in hands),
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
        if isinstance(fact, RunQueued) and is_of(fact, lease):
            break
        if isinstance(fact, RunReleased) and is_of(fact, lease) and fact.why == LOOKS_AGAIN:
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
        self.has_others, self._known = hands > 1, closed_tasks(plan)

    def look(self, plan: Plan, *, goes_on: bool) -> None:
        """Wake the others if tasks have been closed and can be started.

        A hand that goes on starts one of them itself, unless it has done so already.
        """
        closed = closed_tasks(plan)
        if self.has_others and closed - self._known and self._leaves_a_task(plan, closed, goes_on=goes_on):
            self._leases.skip_delay(self._lease.run)
        self._known = closed

    def _leaves_a_task(self, plan: Plan, closed: frozenset[int], *, goes_on: bool) -> bool:
        own = f"{self._lease.run}/{self._lease.hand}"
        claims = [claim for claim in self._store.records.claims(self._lease.session) if claim.is_held]
        has_begun = any(claim.holder.lease == own and claim.task not in closed for claim in claims)
        taken = frozenset(claim.task for claim in claims) - closed
        return startable(plan, taken) > int(goes_on and not has_begun)


def closed_tasks(plan: Plan) -> frozenset[int]:
    return frozenset(task.number for task in plan.tasks if not task.status.is_open)


WAIT_SECONDS = 30.0
"""How long a task waits for the files of those that it comes after, which their worker merges when they are done."""

LOOK_SECONDS = 0.2


@value
class _Completion:
    """A task that a hand has completed with the event at a position, and the first checkpoint with its files."""

    hand: int
    at: int
    commit: str = ""


class FilesMissing(TildoneError):
    """The files of a task that comes before another one are not there."""


class HandTree:
    """The working tree in a folder. `name` is the agent of this hand, and `events` returns the events of the plan."""

    def __init__(self, folder: str, run: str, name: str, events: Callable[[], Iterable[Event]]) -> None:
        self._git, self._branch = Git(folder), branch_of(run)
        self._run, self._name, self._events = run, name, events

    def begin(self, task: Task) -> str:
        """Bring in what other hands have done, if the task comes after theirs with it; return what went wrong.

        Raises:
            FilesMissing: the files of a task before it are not there. Their hand keeps them, or does the task again.
        """
        until = time.monotonic() + WAIT_SECONDS
        try:
            while True:
                if not bring_in(self._git, self._branch):
                    return f"what other hands have done conflicts with this working tree; {self._branch} has it"
                missing = [each for each in self._needed(task.after) if not self._has(each)]
                if not missing:
                    return ""
                if time.monotonic() > until:
                    raise FilesMissing(f"the files of tasks before it are not in {self._branch} yet")
                time.sleep(LOOK_SECONDS)
        except GitError as error:
            return str(error)

    def finish(self, task: Task) -> str:
        try:
            settled(self._git, subject_of(task))
        except GitError as error:
            return str(error)
        return ""

    def _needed(self, tasks: Sequence[int]) -> list[str]:
        """Return the checkpoints that other hands have kept after these tasks; empty texts for those to come."""
        found: dict[int, _Completion] = {}
        positions: dict[str, int] = {}
        done = frozenset[int]()
        for at, event in enumerate(self._events() if tasks else ()):
            positions[event.id] = at
            fact = event.fact
            if isinstance(fact, PlanChanged):
                now = completed_in(fact.plan)
                hand = self._other_hand(event.author.agent)
                found |= {number: _Completion(hand, at) for number in (now - done) & set(tasks) if hand is not None}
                done = now
            elif isinstance(fact, Kept) and fact.run == self._run:
                until = covered(fact, at, positions)
                for number, each in found.items():
                    if each.hand == fact.hand and each.at <= until and not each.commit:
                        found[number] = replace(each, commit=fact.commit)
        return [each.commit for number, each in found.items() if number in done]

    def _other_hand(self, agent: str) -> int | None:
        """Return the hand of another shell agent of this run."""
        prefix, _, hand = agent.rpartition("/")
        is_other = agent != self._name and prefix == self._name.rpartition("/")[0]
        return int(hand) if is_other and hand.isdecimal() else None

    def _has(self, commit: str) -> bool:
        return is_commit(commit) and self._git.asks("merge-base", "--is-ancestor", commit, "HEAD") is not None
