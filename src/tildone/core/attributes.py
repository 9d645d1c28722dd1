"""Transitions of what a task has beside its text, status and notes: its check, its order and the files it changes."""

from __future__ import annotations

from tildone.core.check import leaves_tree, proves_nothing
from tildone.core.faults import CheckOutside, Cycle, NoSuchNumber, UselessCheck
from tildone.core.ops import Order, SetCheck, Touch
from tildone.core.order import cycle_from
from tildone.core.plan import Status
from tildone.core.selection import Spot, change_spots, resolve, task_at
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.core.check import Check
    from tildone.core.faults import Fault
    from tildone.core.plan import Plan, Task


def set_attribute(plan: Plan, step: SetCheck | Order | Touch) -> tuple[Plan, tuple[Fault, ...]]:
    """Apply one step to the plan."""
    fault = check_fault(step.check) if isinstance(step, SetCheck) else None
    if fault is not None:
        return plan, (fault,)
    if step.target is None:
        return _set_plan_check(plan, step.check), ()
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
    """Return what is wrong with a check by itself; None if nothing."""
    if check is None:
        return None
    if proves_nothing(check.command):
        return UselessCheck(check.command)
    return CheckOutside(check.folder) if leaves_tree(check.folder) else None


def _set_plan_check(plan: Plan, check: Check | None) -> Plan:
    return plan if check == plan.check else replace(plan, check=check, proof=None)


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
