"""What a change of an agent may do to the tasks of other agents, and what the store checks when it is appended."""

from __future__ import annotations

from tildone.core.numbers import with_status
from tildone.core.ops import Mark
from tildone.core.plan import Phase, Plan, Status, Task
from tildone.core.query import is_ready, waits_for
from tildone.core.selection import resolve, task_at
from tildone.core.touches import conflicting
from tildone.log.claims import ClaimFence
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tildone.core.reduce import Step
    from tildone.log.claims import Claim, Claimant

    Numbers = frozenset[int]

NOTHING: Mapping[int, int] = {}


@value
class Settled:
    """A plan after a change, without what the change did to the tasks of other agents.

    `refused` are the tasks that it would have started or changed, `conflicts` those that it would have started although
    another agent works on the task beside it, with which it shares files. `closed` are those that it would have
    reopened although it knew them only as open ones. `instead` is the number of the task that was started in place of
    one that was refused; 0 if none was.
    """

    plan: Plan
    refused: tuple[int, ...] = ()
    conflicts: tuple[tuple[int, int], ...] = ()
    instead: int = 0
    closed: tuple[int, ...] = ()


def is_start(step: Step) -> bool:
    """Return whether a step is to start tasks."""
    return isinstance(step, Mark) and step.status is Status.IN_PROGRESS


def started_again(plan: Plan, steps: Iterable[Step]) -> Numbers:
    """Return the numbers of the tasks in progress that steps are to start: such a step changes nothing in the plan."""
    marked: set[int] = set()
    for step in steps:
        if isinstance(step, Mark) and step.status is Status.IN_PROGRESS:
            spots = resolve(plan, step.target, prefer_open=True)
            marked |= {task_at(plan, spot).number for spot in spots} if isinstance(spots, list) else set()
    return frozenset(task.number for task in plan.tasks if task.number in marked and _is_active(task))


def settled(  # noqa: PLR0913  of one caller
    before: Plan,
    after: Plan,
    others: Mapping[int, Claim],
    taken: Callable[[], Numbers],
    wanted: Mapping[int, int] = NOTHING,
    *,
    known: Plan | None = None,
    offers: bool = True,
) -> Settled:
    """Return the plan after a change of an agent, with the tasks of other agents as they were.

    `others` are the claims that are known to be in the way, and `taken` returns the numbers of all tasks that others
    hold; it is called only if a task may share files with one in progress, or if one was refused. `wanted` are tasks in
    progress that the agent was to start and cannot have, each with a task of another agent that may change the same
    files, or 0. `known` is the plan that the agent knows. With `offers`, the next task that is ready is started in
    place of a refused one, unless the agent has a task in progress.
    """
    earlier, later = _by_number(before), _by_number(after)
    changed = {number for number in others if _status(earlier, number) is not _status(later, number)}
    if any(number not in later for number in changed):
        # A task cannot be put back where it was in a list that may be quite another one.
        return Settled(before, tuple(sorted(changed)))
    plan = _with_tasks(after, {number: _restored(later[number], earlier.get(number)) for number in changed})
    plan = _with_own_task(before, plan, taken)
    closed = _closed_meanwhile(earlier, later, _by_number(known) if known else {})
    plan = _with_tasks(plan, {number: _restored(later[number], earlier[number]) for number in closed})
    conflicts = _conflicts(before, plan, lambda: taken() | others.keys())
    plan = _with_tasks(plan, {number: _restored(later[number], earlier.get(number)) for number, _ in conflicts})
    early = _started_early(earlier, plan) if changed or closed or conflicts else ()
    plan = with_status(plan, set(early), Status.PENDING)
    # A rule that allows one task in progress puts those of others back, which nobody asked for.
    asked = {number for number in changed if not _is_put_back(earlier.get(number), later[number])}
    refused = tuple(sorted(asked | {number for number, rival in wanted.items() if not rival}))
    conflicts = (*((number, rival) for number, rival in wanted.items() if rival), *conflicts)
    stopped = [number for number in refused if number in wanted or _is_active(later[number])]
    stopped += [*(number for number, _ in conflicts), *closed, *early]
    instead = _next_free(plan, frozenset(others) | taken(), stopped) if stopped and offers else None
    if instead is None:
        return Settled(plan, refused, conflicts, closed=closed)
    plan = with_status(plan, {instead.number}, Status.IN_PROGRESS)
    return Settled(plan, refused, conflicts, instead.number, closed)


def fence_of(before: Plan, after: Plan, claimant: Claimant, lease: int) -> ClaimFence:
    """Return what the store checks and records with a change: which tasks it changes, starts and leaves in progress."""
    earlier, later = _by_number(before), _by_number(after)
    changes = {
        number for number in earlier.keys() | later.keys() if _status(earlier, number) is not _status(later, number)
    }
    active = frozenset(number for number, task in later.items() if _is_active(task))
    known = frozenset(number for number in changes if number in earlier or number in active)
    starts = active & changes
    beside = {number for start in starts for number in conflicting(after, later[start], active - starts)}
    return ClaimFence(claimant, lease, known, starts, active, frozenset(beside))


def next_free(plan: Plan, taken: Numbers) -> Task | None:
    """Return the first pending task that an agent can start: it is ready, and shares no files with those of others."""
    return _next_free(plan, taken, ())


def _next_free(plan: Plan, taken: Numbers, stopped: Iterable[int]) -> Task | None:
    """Return the first pending task after those that were stopped, or else of the plan; None while one is active."""
    if any(_is_active(task) and task.number not in taken for task in plan.tasks):
        return None
    refused, passed = set(stopped), False
    free: list[tuple[bool, Task]] = []
    for task in plan.tasks:
        passed = passed or task.number in refused
        is_free = task.status is Status.PENDING and task.number not in taken | refused and is_ready(plan, task)
        if is_free and not conflicting(plan, task, taken):
            free.append((not passed, task))
    return min(free, key=lambda found: found[0])[1] if free else None


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


def _closed_meanwhile(
    earlier: Mapping[int, Task], later: Mapping[int, Task], known: Mapping[int, Task]
) -> tuple[int, ...]:
    """Return the closed tasks that a change reopens, although its author knows them as open."""
    shared = earlier.keys() & later.keys() & known.keys()
    reopened = (number for number in shared if later[number].status.is_open and not earlier[number].status.is_open)
    return tuple(sorted(number for number in reopened if known[number].status.is_open))


def _started_early(earlier: Mapping[int, Task], plan: Plan) -> tuple[int, ...]:
    """Return the tasks that a change starts although what they come after was put back, and is open."""
    return tuple(
        task.number
        for task in plan.tasks
        if _is_active(task) and _status(earlier, task.number) is not Status.IN_PROGRESS and waits_for(plan, task)
    )


def _is_put_back(was: Task | None, task: Task) -> bool:
    return was is not None and _is_active(was) and task.status is Status.PENDING


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
    return replace(task, status=was.status, proof=was.proof) if was else replace(task, status=Status.PENDING)


def _with_tasks(plan: Plan, tasks: Mapping[int, Task]) -> Plan:
    if not tasks:
        return plan
    phases = [Phase(phase.name, tuple(tasks.get(task.number, task) for task in phase.tasks)) for phase in plan.phases]
    return replace(plan, phases=tuple(phases))


def _by_number(plan: Plan) -> dict[int, Task]:
    return {task.number: task for task in plan.tasks}


def _status(tasks: Mapping[int, Task], number: int) -> Status | None:
    return tasks[number].status if number in tasks else None


def _is_active(task: Task) -> bool:
    return task.status is Status.IN_PROGRESS
