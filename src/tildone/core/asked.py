"""The checks that a person asked for: what no change of a model takes out of a plan.

A model cannot end a plan without the proofs that a person asked for. If it replaces the plan by a list, the tasks with
such checks that the list lacks are kept, each at the end of its phase: so the tasks of the list stay at the positions
by which the model may name them in its next call. What it asks for explicitly is refused: to remove or drop such a
task, to change such a check, and to empty a plan that has such a check of its own. A check that a model wrote is its
own until a person approves it.
"""

from __future__ import annotations

from tildone.core.arrange import with_tasks
from tildone.core.check import is_passed
from tildone.core.faults import HasCheck
from tildone.core.guard import PLAN
from tildone.core.ops import Append, Write
from tildone.core.plan import Phase, Plan, Status
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tildone.core.check import Check
    from tildone.core.faults import Fault
    from tildone.core.guard import ByModel
    from tildone.core.ops import Op
    from tildone.core.plan import Task

    Kept = tuple[Plan, tuple[HasCheck, ...], frozenset[int]]


def keep_asked(before: Plan, after: Plan, step: Op | Fault, model: ByModel) -> Kept:
    """Return the plan after a step of a model, why it is refused, and the numbers of the tasks that were kept.

    A step that is refused changes nothing.
    """
    after = _with_authors(before, after)
    missing, edited = _missing(before, after, model), _edited(before, after, model)
    refused = edited if isinstance(step, Write | Append) else missing + edited
    if missing and not refused:
        after = _with_missing(before, after, {task.number: task for task in missing})
    faults = _faults(before, after, refused, model)
    return (before, faults, frozenset()) if faults else (after, (), frozenset(task.number for task in missing))


def shed(before: Plan, after: Plan, model: ByModel) -> tuple[HasCheck, ...]:
    """Return what is lost if another plan takes the place of this one, as when a model undoes a change."""
    return _faults(before, after, _missing(before, after, model) + _edited(before, after, model), model)


def _faults(before: Plan, after: Plan, tasks: list[Task], model: ByModel) -> tuple[HasCheck, ...]:
    of_plan = (HasCheck(PLAN),) if _sheds_plan_check(before, after, model) else ()
    return (*(HasCheck(task.number, task.text) for task in tasks), *of_plan)


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


def _sheds_plan_check(before: Plan, after: Plan, model: ByModel) -> bool:
    """Return whether a check of the plan that a person asked for is changed, or has no task left to hold it."""
    if not _is_asked(before.check, model):
        return False
    return before.check != after.check or (bool(before.tasks) and not after.tasks and _is_open(before, model))


def _is_open(plan: Plan, model: ByModel) -> bool:
    """Return whether the check of the plan has still to pass, or to pass again."""
    return plan.check is not None and (not is_passed(plan.check, plan.proof) or PLAN in model.stale())


def _with_authors(before: Plan, after: Plan) -> Plan:
    """Return the plan with the checks that the model wrote as its own."""
    earlier = {task.number: task.check for task in before.tasks}
    phases = tuple(
        Phase(phase.name, tuple(_with_author(task, earlier.get(task.number)) for task in phase.tasks))
        for phase in after.phases
    )
    check = after.check if after.check is None or after.check == before.check else replace(after.check, by_model=True)
    return replace(after, phases=phases, check=check)


def _with_author(task: Task, was: Check | None) -> Task:
    return task if task.check is None or task.check == was else replace(task, check=replace(task.check, by_model=True))


def _with_missing(before: Plan, after: Plan, missing: Mapping[int, Task]) -> Plan:
    """Return the plan with these tasks of before: those that were dropped are open in their places."""
    dropped = {task.number for task in after.tasks if task.number in missing}
    phases = tuple(
        Phase(phase.name, tuple(missing[task.number] if task.number in dropped else task for task in phase.tasks))
        for phase in after.phases
    )
    gone = missing.keys() - dropped
    return with_tasks(before, replace(after, phases=phases), lambda task: task.number in gone)
