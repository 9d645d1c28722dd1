"""Claims: which agent works on which task, for how long, and how a writer is refused whose task has passed on.

Theory of operation. Starting a task claims it: the agent has a lease that its activity renews. A claim has an epoch. A
task that is free, or whose lease has lapsed, can be claimed by another agent, under the next epoch; epochs of a task
only grow, and none is used twice. A claim that was passed on stays beside the new one until its agent has been told.

An agent appends its events with a `ClaimFence`. In the transaction that appends the event, the store refuses it with
`Fenced` if a claim of the agent has passed to a later epoch, or if the event changes a task that another agent holds.
So an agent that was stopped for longer than its lease, and goes on where it was, cannot overwrite what its successor
did. Otherwise, the claims follow the event: tasks that it starts are claimed, and those that the agent no longer works
on are released. People append without a fence.

A lease is measured by the clock of the store, so that the machines of several agents need not agree on the time. A
clock that jumps lets a lease lapse early or late. That decides only who works on a task, never what is overwritten.

The first functions are what stores without a language of their own do, on the claims of one session. `settled` and
`fence_of` decide what remains of a change whose tasks other agents have.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, StoreError, replace, value
from tildone.base.json import decode_record, dump
from tildone.plan.model import Plan, Status, Task, conflicting, is_ready, waits_for, with_status, with_tasks
from tildone.plan.ops import Mark, Remove, Rename
from tildone.plan.selection import resolve, task_at

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from tildone.base.json import FieldTypes
    from tildone.plan.reduce import Step

    Numbers = frozenset[int]


RELEASED = -1
"""The end of a claim that its agent has given back."""

LAPSED = 0
"""The end of a claim whose agent is known to have ended without giving it back."""

MAX_PASSED_ON = 8
"""How many claims of a task that were passed on are kept for agents that have not been told."""


@value
class Claimant:
    """An agent that claims tasks, and where it works: its process, its working tree, and its branch.

    `started` is the start time of its process, which distinguishes it from a later one with the same id. `lease` is the
    lease of the fleet under which it works, if any, as `run/hand`: when that is lost, the claims lapse.
    """

    agent: str
    worktree: str = ""
    branch: str = ""
    machine: str = ""
    pid: int = 0
    started: int = 0
    lease: str = ""


@value
class Claim:
    """A claim of a task. `until` is the end of the lease, in milliseconds since 1970, by the clock of the store.

    `remaining` is how many milliseconds the lease had left when it was read; it has lapsed at 0. `before` is who had
    the task before, unless it was the same agent.
    """

    task: int
    epoch: int
    until: int
    holder: Claimant
    before: Claimant | None = None
    remaining: int = 0

    @property
    def agent(self) -> str:
        return self.holder.agent

    @property
    def is_held(self) -> bool:
        """Whether the lease had not lapsed when the claim was read."""
        return self.remaining > 0


@value
class ClaimFence:
    """What a store checks and records with an event of an agent.

    `changes` are the numbers of the tasks whose status the event changes, or that it removes, `starts` those of them
    that it starts, and `active` the tasks in progress after it: claims of other tasks are released. `beside` are tasks
    that must not be held by others either: those whose text it changes, and those in progress that may change the same
    files as those it starts. `lease` is in milliseconds.
    """

    claimant: Claimant
    lease: int
    changes: frozenset[int] = frozenset()
    starts: frozenset[int] = frozenset()
    active: frozenset[int] = frozenset()
    beside: frozenset[int] = frozenset()


class Fenced(StoreError):
    """The event was not appended: tasks have passed to other agents (`lost`) or are held by them (`held`)."""

    def __init__(self, session: str, lost: Iterable[Claim], held: Iterable[Claim]) -> None:
        self.lost, self.held = tuple(lost), tuple(held)
        tasks = dict.fromkeys(f"#{claim.task}" for claim in (*self.lost, *self.held))
        super().__init__(f"other agents have tasks of {session!r}: {', '.join(tasks)}")


_TYPES: FieldTypes = {
    **dict.fromkeys(("agent", "worktree", "branch", "machine", "lease"), str),
    **dict.fromkeys(("pid", "started"), int),
}


def encode_claimant(claimant: Claimant | None) -> str:
    return "" if claimant is None else dump({name: getattr(claimant, name) for name in _TYPES})


def lease_mark(lease: str) -> str:
    """Return a text that is part of the JSON text of each claimant under a lease `run/hand`, and of no other one."""
    return dump({"lease": lease})[1:-1]


def decode_claim(task: int, epoch: int, until: int, bodies: tuple[object, object], now: int) -> Claim:
    """Return the claim of a row: `bodies` are the texts of its holder and of the one before."""
    holder, before = (decode_record(Claimant, _TYPES, text) if text else None for text in bodies)
    return Claim(task, epoch, until, holder or Claimant(""), before, max(0, until - now))


def newest(claims: Iterable[Claim]) -> dict[int, Claim]:
    found: dict[int, Claim] = {}
    for claim in claims:
        if claim.task not in found or found[claim.task].epoch < claim.epoch:
            found[claim.task] = claim
    return dict(sorted(found.items()))


def current(claims: Iterable[Claim], now: int) -> list[Claim]:
    return [replace(claim, remaining=max(0, claim.until - now)) for claim in newest(claims).values()]


def unreleased(claims: Iterable[Claim], now: int) -> list[Claim]:
    """Return the newest claim of each task that was not given back, as it is read at a time."""
    return [claim for claim in current(claims, now) if claim.until != RELEASED]


def taken(before: Iterable[Claim], after: Iterable[Claim], now: int) -> list[Claim]:
    """Return the claims with an epoch that the task did not have before."""
    epochs = {claim.task: claim.epoch for claim in newest(before).values()}
    return [claim for claim in current(after, now) if claim.epoch != epochs.get(claim.task)]


def lost_by(claims: Sequence[Claim], agent: str, now: int) -> list[Claim]:
    """Return the newest claims of the tasks that have passed from an agent to another, and it was not told yet."""
    last = newest(claims)
    lost = {
        claim.task
        for claim in claims
        if claim.agent == agent and claim.until != RELEASED and last[claim.task].epoch > claim.epoch
    }
    return [claim for claim in current(last.values(), now) if claim.task in lost]


def claimed(claims: Sequence[Claim], task: int, claimant: Claimant, lease: int, now: int) -> list[Claim]:
    """Return the claims after an agent has claimed a task. They are unchanged if another agent holds it."""
    last = newest(claims).get(task)
    mine = last is not None and last.agent == claimant.agent
    if last is None:
        return [*claims, Claim(task, 1, now + lease, claimant)]
    if mine and last.until != RELEASED:
        return [replace(claim, until=now + lease, holder=claimant) if claim == last else claim for claim in claims]
    if not mine and last.until > now:
        return list(claims)
    new = Claim(task, last.epoch + 1, now + lease, claimant, None if mine else last.holder)
    # Who gave the task back need not be told, and who claims it again knows.
    untold = [claim for claim in claims if claim.task == task and claim.until != RELEASED]
    kept = sorted((each for each in untold if each.agent != claimant.agent), key=lambda each: each.epoch)
    return [*(claim for claim in claims if claim.task != task), *kept[-MAX_PASSED_ON:], new]


def renewed(claims: Iterable[Claim], agent: str, lease: int, now: int) -> list[Claim]:
    """Return the claims after a sign of life of an agent. One that has lapsed is still its own if nobody took it."""
    known = list(claims)
    last = newest(known)

    def is_own(claim: Claim) -> bool:
        return claim.agent == agent and claim.until != RELEASED and last[claim.task] == claim

    return [replace(claim, until=now + lease) if is_own(claim) else claim for claim in known]


def released(claims: Iterable[Claim], agent: str, tasks: frozenset[int] | None) -> list[Claim]:
    """Return the claims without those of an agent, of all tasks or of some. Those that it has lost, it now knows of."""
    known = list(claims)
    last = newest(known)
    kept = []
    for claim in known:
        if claim.agent != agent or (tasks is not None and claim.task not in tasks):
            kept.append(claim)
        elif last[claim.task] == claim:
            kept.append(replace(claim, until=RELEASED))
    return kept


def lapsed(claims: Iterable[Claim], agent: str) -> list[Claim]:
    return [replace(claim, until=LAPSED) if claim.agent == agent and claim.until > 0 else claim for claim in claims]


def fenced(session: str, claims: Sequence[Claim], fence: ClaimFence, now: int) -> list[Claim]:
    """Return the claims after an event with a fence; raise `Fenced` if it must not be appended."""
    agent, last = fence.claimant.agent, newest(claims)
    lost = lost_by(claims, agent, now)
    checked = fence.changes | fence.beside
    others = [claim for claim in last.values() if claim.task in checked and claim.agent != agent]
    held = [claim for claim in current(others, now) if claim.is_held]
    if lost or held:
        raise Fenced(session, lost, held)
    after = list(claims)
    # Also those that others had and did not give back.
    left = {task for task, claim in last.items() if claim.agent != agent and claim.until != RELEASED}
    for task in sorted(fence.starts | (fence.changes & left)):
        after = claimed(after, task, fence.claimant, fence.lease, now)
    own = {claim.task for claim in newest(after).values() if claim.agent == agent}
    return renewed(released(after, agent, frozenset(own - fence.active)), agent, fence.lease, now)


NOTHING: Mapping[int, int] = {}


@value
class Settled:
    """A plan after a change, without what the change did to the tasks of other agents.

    `refused` are the tasks that it would have started or changed, `conflicts` those that it would have started although
    another agent works on the task beside it, with which it shares files. `closed` are those that it would have
    reopened although it knew them only as open ones.
    """

    plan: Plan
    refused: tuple[int, ...] = ()
    conflicts: tuple[tuple[int, int], ...] = ()
    closed: tuple[int, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all of the change remains."""
        return not (self.refused or self.conflicts or self.closed)


def is_start(step: Step) -> bool:
    return isinstance(step, Mark) and step.status is Status.IN_PROGRESS


OnTasks = Mark | Rename | Remove
"""The steps that change tasks which they name."""


def named_active(plan: Plan, steps: Iterable[Step]) -> tuple[Numbers, Numbers]:
    """Return the numbers of the tasks in progress that steps are to start, and of those that they change otherwise.

    To start one changes nothing in the plan.
    """
    active = frozenset([task.number for task in plan.tasks if task.status is Status.IN_PROGRESS])
    starts, changes = set[int](), set[int]()
    for step in steps:
        if isinstance(step, OnTasks):
            spots = resolve(plan, step.target, prefer_open=not isinstance(step, Remove))
            named = {task_at(plan, spot).number for spot in spots} if isinstance(spots, list) else set()
            (starts if is_start(step) else changes).update(named & active)
    return frozenset(starts), frozenset(changes - starts)


def settled(  # noqa: PLR0913  of one caller
    before: Plan,
    after: Plan,
    others: Mapping[int, Claim],
    taken: Callable[[], Numbers],
    wanted: Mapping[int, int] = NOTHING,
    *,
    known: Plan | None = None,
    atomic: bool = False,
) -> Settled:
    """Return the plan after a change of an agent, with the tasks of other agents as they were.

    `others` are the claims that are known to be in the way, and `taken` returns the numbers of all tasks that others
    hold; it is called only if a task may share files with one in progress. `wanted` are tasks in progress that the
    agent names and cannot have, each with a task of another agent that may change the same files, or 0. `known` is the
    plan that the agent knows. Nothing remains of an `atomic` change that cannot be made as a whole.
    """
    earlier, later = _by_number(before), _by_number(after)
    changed = {number for number in others if _differs(earlier, later, number)}
    if any(number not in later for number in changed):
        # A task cannot be put back where it was in a list that may be quite another one.
        return Settled(before, tuple(sorted(changed)))

    def restored(plan: Plan, numbers: Container[int]) -> Plan:
        return with_tasks(
            plan, lambda task: _restored(task, earlier.get(task.number)) if task.number in numbers else task
        )

    plan = _with_own_task(before, restored(after, changed | wanted.keys()), taken)
    # Closed tasks that the change reopens, although its author knows them as open.
    open_then = {task.number for task in (known.tasks if known else ()) if task.status.is_open}
    shared = earlier.keys() & later.keys() & open_then
    closed = tuple(sorted(n for n in shared if later[n].status.is_open and not earlier[n].status.is_open))
    plan = restored(plan, closed)
    conflicts = _conflicts(before, plan, lambda: taken() | others.keys())
    plan = restored(plan, [number for number, _ in conflicts])
    # What is started although what it comes after was put back.
    is_put_back = changed or closed or conflicts
    early = {
        task.number
        for task in (plan.tasks if is_put_back else ())
        if _is_active(task) and _status(earlier, task.number) is not Status.IN_PROGRESS and waits_for(plan, task)
    }
    plan = with_status(plan, early, Status.PENDING)
    # A rule that allows one task in progress puts those of others back, which nobody asked for.
    asked = {
        number
        for number in changed
        if _status(earlier, number) is not Status.IN_PROGRESS or later[number].status is not Status.PENDING
    }
    refused = tuple(sorted(asked | {number for number, rival in wanted.items() if not rival}))
    conflicts = (*((number, rival) for number, rival in wanted.items() if rival), *conflicts)
    result = Settled(plan, refused, conflicts, closed)
    return result if result.is_whole or not atomic else replace(result, plan=before)


def fence_of(before: Plan, after: Plan, claimant: Claimant, lease: int) -> ClaimFence:
    earlier, later = _by_number(before), _by_number(after)
    changes = {
        number for number in earlier.keys() | later.keys() if _status(earlier, number) is not _status(later, number)
    }
    active = frozenset(number for number, task in later.items() if _is_active(task))
    known = frozenset(number for number in changes if number in earlier or number in active)
    starts = active & changes
    beside = {number for start in starts for number in conflicting(after, later[start], active - starts)}
    renamed = {number for number in earlier.keys() & later.keys() if earlier[number].text != later[number].text}
    return ClaimFence(claimant, lease, known, starts, active, frozenset(beside | renamed))


def next_free(plan: Plan, taken: Numbers, after: int = 0) -> Task | None:
    """Return the first task that an agent can start, `after` a task if there is one; None while it has one started."""
    if any(_is_active(task) and task.number not in taken for task in plan.tasks):
        return None
    pending = [task for task in plan.tasks if task.status is Status.PENDING and task.number not in taken | {after}]
    free = [task for task in pending if is_ready(plan, task) and not conflicting(plan, task, taken)]
    numbers = [task.number for task in plan.tasks]
    later = numbers[numbers.index(after) :] if after in numbers else numbers
    return next((task for task in free if task.number in later), free[0] if free else None)


def _with_own_task(before: Plan, plan: Plan, taken: Callable[[], Numbers]) -> Plan:
    """Return the plan with the agent's task in progress, if it was put back because another agent has one, too."""
    active = {task.number for task in before.tasks if _is_active(task)}
    put_back = {number for number, task in _by_number(plan).items() if number in active and not _is_active(task)}
    if len(active) <= 1 or not put_back:
        return plan
    own = active - taken()
    put_back = {task.number for task in plan.tasks if task.number in put_back & own and task.status is Status.PENDING}
    keeps = any(_is_active(task) and task.number not in active - own for task in plan.tasks)
    return plan if keeps or own == active else with_status(plan, put_back, Status.IN_PROGRESS)


def _conflicts(before: Plan, plan: Plan, taken: Callable[[], Numbers]) -> tuple[tuple[int, int], ...]:
    """Return the tasks that a change starts, each with a task of another agent that may change the same files."""
    active = {task.number for task in before.tasks if _is_active(task)}
    found = []
    for task in plan.tasks:
        if _is_active(task) and task.number not in active and conflicting(plan, task, active):
            rivals = conflicting(plan, task, taken() & active)
            found += [(task.number, rivals[0])] if rivals else []
    return tuple(found)


def _restored(task: Task, was: Task | None) -> Task:
    if was is None:
        return replace(task, status=Status.PENDING)
    return replace(task, text=was.text, status=was.status, proof=was.proof, owner=was.owner)


def _by_number(plan: Plan) -> dict[int, Task]:
    return {task.number: task for task in plan.tasks}


def _differs(earlier: Mapping[int, Task], later: Mapping[int, Task], number: int) -> bool:
    """Return whether a task has another status or text than before, or is new or gone."""
    was, task = earlier.get(number), later.get(number)
    return was is not task and (was is None or task is None or (was.status, was.text) != (task.status, task.text))


def _status(tasks: Mapping[int, Task], number: int) -> Status | None:
    return tasks[number].status if number in tasks else None


def _is_active(task: Task) -> bool:
    return task.status is Status.IN_PROGRESS
