"""The guard of checks: after every step of a change, no task is completed whose check has not passed.

What a step does not mention stays: the check, its proof, the order and the files of a task are kept by its number, as
are the check and the proof of the plan. Lists that models send name none of them.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan.model import Plan, Status, Task, has_attributes, has_checks, is_passed, with_tasks
from tildone.plan.ops import Append, Insert, SetCheck, Write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from tildone.plan.faults import Fault
    from tildone.plan.model import Check, Proof
    from tildone.plan.ops import Op

PLAN = 0
"""Stands for the plan itself among the numbers of tasks with a proof."""


@value
class ByModel:
    """A change that a model makes, and not a person: it takes no check away that a person asked for.

    `is_approved` returns whether a person has approved a check that a model wrote. `stale` returns the numbers of the
    done tasks whose files have changed since their checks passed. Both are called only if a check is about to be lost.
    """

    is_approved: Callable[[Check], bool] = lambda _check: False
    stale: Callable[[], AbstractSet[int]] = frozenset


def guarded(before: Plan, after: Plan, proofs: Mapping[int, Proof], *, keeps: bool = True) -> tuple[Plan, set[int]]:
    """Return the plan after one step with what tasks keep, and the numbers of those that were not completed.

    A completed task whose check has not passed is in progress, or blocked if only a person can help. `proofs` are new
    ones, by task number. A task whose check has changed has no proof, and is open. With `keeps` False, tasks have the
    attributes that the step gave them.
    """
    plan = replace(after, check=before.check, proof=before.proof) if keeps else after
    earlier = {task.number: task for task in before.tasks if has_attributes(task)}
    if not earlier and not any(map(has_attributes, plan.tasks)):
        return _plan_proved(plan, proofs)
    unproved: set[int] = set()

    def proved(task: Task) -> Task:
        was = earlier.get(task.number)
        kept = _with_attributes(task, was) if was is not None and keeps else task
        now = _proved(kept, was, proofs.get(task.number))
        if task.status is Status.COMPLETED and now.status is not Status.COMPLETED:
            unproved.add(task.number)
        return now

    return _plan_proved(with_tasks(plan, proved), proofs, unproved)


def sets_checks(step: Op | Fault) -> bool:
    match step:
        case SetCheck():
            return True
        case Write(phases):
            return has_checks(Plan(phases))
        case Append(tasks=tasks) | Insert(tasks=tasks):
            return any(task.check is not None for task in tasks)
        case _:
            return False


def reopened(plan: Plan, stale: AbstractSet[int]) -> Plan:
    """Return the plan without the proofs of these tasks, of which none is done; PLAN stands for the plan itself."""
    if not stale:
        return plan

    def reopen(task: Task) -> Task:
        status = Status.IN_PROGRESS if task.status is Status.COMPLETED else task.status
        return replace(task, status=status, proof=None) if task.number in stale else task

    plan = with_tasks(plan, reopen)
    return replace(plan, proof=None) if PLAN in stale else plan


def is_unproved(plan: Plan) -> bool:
    """Return whether every task is closed but the check of the plan has not passed."""
    if plan.check is None or not plan.tasks or any(task.status.is_open for task in plan.tasks):
        return False
    return not is_passed(plan.check, plan.proof)


def _with_attributes(task: Task, was: Task) -> Task:
    return replace(
        task,
        # The one of before, if it is the same, because it has its author.
        check=was.check if task.check in (None, was.check) else task.check,
        proof=was.proof,
        after=task.after or was.after,
        **(was.words | task.words),
    )


def _proved(task: Task, was: Task | None, new: Proof | None) -> Task:
    """Return the task with its newest proof, and open if its check has not passed."""
    check = task.check
    if check is None:
        return replace(task, proof=None) if task.proof else task
    is_edited = was is not None and was.check is not None and was.check != check
    proof = new or (None if is_edited else task.proof)
    if proof is not None and proof.command != check.command:
        proof = None
    status = task.status
    if status is Status.BLOCKED and _blocks(task.proof) and new is not None and not _blocks(new):
        # It was blocked for its check, which a person has helped with.
        status = Status.IN_PROGRESS
    elif status is Status.COMPLETED and is_edited and new is None:
        status = Status.PENDING
    elif status is Status.COMPLETED and not is_passed(check, proof):
        status = Status.BLOCKED if _blocks(proof) else Status.IN_PROGRESS
    return task if (status, proof) == (task.status, task.proof) else replace(task, status=status, proof=proof)


def _blocks(proof: Proof | None) -> bool:
    return proof is not None and proof.result.blocks


def _plan_proved(plan: Plan, proofs: Mapping[int, Proof], unproved: set[int] | None = None) -> tuple[Plan, set[int]]:
    new = proofs.get(PLAN)
    if plan.check is not None and new is not None and new.command == plan.check.command:
        plan = replace(plan, proof=new)
    return plan, unproved or set()
