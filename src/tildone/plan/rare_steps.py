"""Steps that hooks rarely need: lists that replace a plan, attributes of tasks, the next task, and kept checks.

No change of a model takes the checks that a person asked for out of a plan. A model cannot end a plan without the
proofs that a person asked for. If it replaces the plan by a list, the tasks with such checks that the list lacks are
kept, each at the end of its phase: so the tasks of the list stay at the positions by which the model may name them in
its next call. What it asks for explicitly is refused: to remove or drop such a task, to change such a check, and to
empty a plan that has such a check of its own. A check that a model wrote is its own until a person approves it.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace
from tildone.plan.faults import CheckOutside, Cycle, HasCheck, NoSuchNumber, UselessCheck
from tildone.plan.guard import PLAN
from tildone.plan.model import (
    Phase,
    Plan,
    Status,
    conflicting,
    cycle_from,
    is_passed,
    is_ready,
    leaves_tree,
    proves_nothing,
    with_tasks,
)
from tildone.plan.ops import Append, Order, SetCheck, Touch, Write
from tildone.plan.selection import Spot, change_spots, resolve, spots_where, task_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from tildone.plan.faults import Fault
    from tildone.plan.guard import ByModel
    from tildone.plan.model import Check, Task
    from tildone.plan.ops import Op

    Kept = tuple[Plan, tuple[HasCheck, ...], frozenset[int]]


def arrange(plan: Plan, tasks: Sequence[Task]) -> Plan:
    """Return the plan that consists of `tasks`, each in the phase that it has in `plan`.

    Tasks are matched by their text; a match keeps its notes and its number, but not its owner. A task without a match
    is in the phase of the task before it. Phases that lose all their tasks are dropped.
    """
    matches: dict[str, list[tuple[int, Task]]] = {}
    for index, phase in enumerate(plan.phases):
        for task in phase.tasks:
            matches.setdefault(task.text, []).append((index, task))
    arranged: list[list[Task]] = [[] for _ in plan.phases] or [[]]
    index = 0
    for task in tasks:
        found = matches.get(task.text)
        if not found:
            arranged[index].append(task)
            continue
        index, old = found.pop(0)
        arranged[index].append(replace(old, status=task.status, owner=""))
    before = plan.phases or (Phase(""),)
    pairs = zip(before, arranged, strict=True)
    return Plan(tuple(Phase(phase.name, tuple(its)) for phase, its in pairs if its or (phase.name and not phase.tasks)))


def with_unseen(plan: Plan, known: Plan, wanted: Plan) -> Plan:
    """Return `wanted` with the tasks of `plan` that its author, who last saw `known`, did not know, in their phases."""
    seen = {task.text for task in (*known.tasks, *wanted.tasks)}
    return Plan(_with_more(plan, wanted, lambda task: task.text not in seen).phases)


def _with_more(plan: Plan, wanted: Plan, keeps: Callable[[Task], bool]) -> Plan:
    """Return `wanted` with the tasks of `plan` for which `keeps` is true, each at the end of its phase."""
    phases = list(wanted.phases)
    for phase in plan.phases:
        tasks = tuple(filter(keeps, phase.tasks))
        if not tasks:
            continue
        index = next((index for index, each in enumerate(phases) if each.name == phase.name), None)
        if index is None:
            phases.append(Phase(phase.name, tasks))
        else:
            phases[index] = Phase(phase.name, phases[index].tasks + tasks)
    return replace(wanted, phases=tuple(phases))


def written(plan: Plan) -> tuple[Op, ...]:
    return (Write(plan.phases), *((SetCheck(None, plan.check),) if plan.check is not None else ()))


def keep_unseen(steps: Callable[[Plan], Sequence[Op | Fault]], known: Plan) -> Callable[[Plan], Sequence[Op | Fault]]:
    """Return the steps of a tool that replaces the plan, with the tasks that others added since `known`."""

    def keep(plan: Plan) -> Sequence[Op | Fault]:
        return [
            Write(with_unseen(plan, known, Plan(step.phases)).phases) if isinstance(step, Write) else step
            for step in steps(plan)
        ]

    return keep


def keep_asked(before: Plan, after: Plan, step: Op | Fault, model: ByModel) -> Kept:
    """Return the plan after a model's step, why it is refused if it changes nothing, and the numbers of kept tasks."""
    # The checks that the model wrote are its own.
    earlier = {task.number: task.check for task in before.tasks}
    plan = with_tasks(after, lambda task: replace(task, check=_by_model(task.check, earlier.get(task.number))))
    after = replace(plan, check=_by_model(after.check, before.check))
    missing, edited = _missing(before, after, model), _edited(before, after, model)
    refused = edited if isinstance(step, Write | Append) else missing + edited
    if missing and not refused:
        # Those that were dropped are open in their places.
        lost = {task.number: task for task in missing}
        gone = lost.keys() - {task.number for task in after.tasks}
        restored = with_tasks(after, lambda task: lost.get(task.number, task))
        after = _with_more(before, restored, lambda task: task.number in gone)
    faults = _faults(before, after, refused, model)
    return (before, faults, frozenset()) if faults else (after, (), frozenset(task.number for task in missing))


def shed(before: Plan, after: Plan, model: ByModel) -> tuple[HasCheck, ...]:
    """Return what is lost if another plan takes the place of this one, as when a model undoes a change."""
    return _faults(before, after, _missing(before, after, model) + _edited(before, after, model), model)


def _faults(before: Plan, after: Plan, tasks: list[Task], model: ByModel) -> tuple[HasCheck, ...]:
    check, lost = before.check, [HasCheck(task.number, task.text) for task in tasks]
    if check is not None and _is_asked(check, model):
        # It is changed, or no task is left to hold it although it has still to pass, or to pass again.
        is_emptied = bool(before.tasks) and not after.tasks
        if check != after.check or (is_emptied and (not is_passed(check, before.proof) or PLAN in model.stale())):
            lost.append(HasCheck(PLAN))
    return tuple(lost)


def _missing(before: Plan, after: Plan, model: ByModel) -> list[Task]:
    """The tasks that are gone or dropped, although a person asked for a check that is not proved."""
    left = {task.number for task in after.tasks if task.status is not Status.ABANDONED}
    gone = [task for task in before.tasks if task.number not in left and task.status is not Status.ABANDONED]
    return [task for task in gone if _is_asked(task.check, model) and not _is_proved(task, model)]


def _edited(before: Plan, after: Plan, model: ByModel) -> list[Task]:
    """The tasks that have another check, although a person asked for the one before."""
    later = {task.number: task.check for task in after.tasks}
    return [
        task
        for task in before.tasks
        if later.get(task.number, task.check) != task.check and _is_asked(task.check, model)
    ]


def _is_proved(task: Task, model: ByModel) -> bool:
    is_done = task.status is Status.COMPLETED and task.check is not None and is_passed(task.check, task.proof)
    return is_done and task.number not in model.stale()


def _is_asked(check: Check | None, model: ByModel) -> bool:
    return check is not None and (not check.by_model or model.is_approved(check))


def _by_model(check: Check | None, was: Check | None) -> Check | None:
    return check if check is None or check == was else replace(check, by_model=True)


def set_attribute(plan: Plan, step: SetCheck | Order | Touch) -> tuple[Plan, tuple[Fault, ...]]:
    fault = check_fault(step.check) if isinstance(step, SetCheck) else None
    if fault is not None:
        return plan, (fault,)
    if step.target is None:
        return plan if step.check == plan.check else replace(plan, check=step.check, proof=None), ()
    spots = resolve(plan, step.target, prefer_open=True)
    if not isinstance(spots, list):
        return plan, (spots,)
    match step:
        case SetCheck(_, check):
            return change_spots(plan, spots, lambda task: _with_check(task, check)), ()
        case Order(_, after):
            return _order(plan, spots, after)
        case Touch(_, words, field):  # exhaustive
            return change_spots(plan, spots, lambda task: replace(task, **{field: words})), ()


def written_fault(before: Plan, after: Plan) -> Fault | None:
    """Return what is wrong with the checks and the order of tasks that were written with the plan; None if nothing."""
    known = {task.number: task for task in before.tasks}
    for task in after.tasks:
        was = known.get(task.number)
        fault = check_fault(task.check) if was is None or was.check != task.check else None
        if fault is not None:
            return fault
        cycle = cycle_from(after, task.number, task.after) if was is None or was.after != task.after else ()
        if cycle:
            return Cycle(cycle)
    return None


def check_fault(check: Check | None) -> Fault | None:
    if check is None:
        return None
    if proves_nothing(check.command):
        return UselessCheck(check.command)
    return CheckOutside(check.folder) if leaves_tree(check.folder) else None


def _with_check(task: Task, check: Check | None) -> Task:
    """Return the task with another check. A completed one is open again: nothing proves it yet."""
    if check == task.check:
        return task
    reopens = check is not None and task.status is Status.COMPLETED
    return replace(task, check=check, proof=None, status=Status.PENDING if reopens else task.status)


def _order(plan: Plan, spots: list[Spot], after: tuple[int, ...]) -> tuple[Plan, tuple[Fault, ...]]:
    known = {task.number for task in plan.tasks}
    missing = tuple(number for number in after if number not in known)
    if missing:
        return plan, (NoSuchNumber(missing),)
    for spot in spots:
        cycle = cycle_from(plan, task_at(plan, spot).number, after)
        if cycle:
            return plan, (Cycle(cycle),)
    return change_spots(plan, spots, lambda task: replace(task, after=after)), ()


def finished_spots(before: Plan, after: Plan) -> list[Spot]:
    """Return the spots of tasks that were open and are completed, or were in progress and are abandoned or blocked."""
    earlier = {task.number: task.status for task in before.tasks}
    found = []
    for spot in spots_where(after, lambda task: not task.status.is_actionable):
        task = task_at(after, spot)
        was = earlier.get(task.number, Status.PENDING)
        if was is Status.IN_PROGRESS or (task.status is Status.COMPLETED and was.is_open):
            found.append(spot)
    return found


def successor(
    before: Plan, after: Plan, others: Callable[[], AbstractSet[int]], left: frozenset[int] = frozenset()
) -> Spot | None:
    """Return the spot of the task to start after a change that finished tasks; None if none is to be started.

    It is the first pending task after the last finished one that waits for no other, or else the first such task of the
    plan. None is started while a task is in progress. Tasks whose numbers `others` returns do not count, because other
    agents started them, and no task is started that may change the same files; `others` is called only if a task is in
    progress. Tasks that are `left` by earlier conversations are not started, and do not count either.
    """
    finished = finished_spots(before, after)
    if not finished:
        return None
    active = {task.number for task in after.tasks if task.status is Status.IN_PROGRESS} - left
    taken = frozenset(others()) if active else frozenset[int]()
    if not active <= taken:
        return None

    def can_start(task: Task) -> bool:
        is_free = task.status is Status.PENDING and task.number not in left
        return is_free and is_ready(after, task) and not conflicting(after, task, taken)

    pending = spots_where(after, can_start)
    return next((spot for spot in pending if spot > finished[-1]), pending[0] if pending else None)
