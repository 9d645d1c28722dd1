"""A person's changes to what tasks have besides text, status and notes: checks, order, and the files they change."""

from __future__ import annotations

from tildone.app.edit import Answer, FailureReason, find_task, find_tasks, label, refusal, status, unchanged
from tildone.base import TYPE_CHECKING
from tildone.plan.asked import check_fault
from tildone.plan.model import WORD_FIELDS, Status
from tildone.plan.ops import Numbered, Order, SetCheck, Touch
from tildone.plan.text.faults import describe_fault
from tildone.plan.text.proofs import check_text
from tildone.plan.text.safe import single_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.plan.model import Check, Plan, Task


def set_check(target: Task | None, check: Check) -> Answer:
    """Set the check of a task, or of the plan if there is none. A done task is open again."""
    fault = check_fault(check)
    if fault is not None:
        text = describe_fault(fault)
        return refusal(FailureReason.REFUSED, text[0].upper() + text[1:])
    again = "; it is open again" if _reopens(target, check) else ""
    message = f"Check of {_name(target)}: $ {single_line(check_text(check))}{again}"
    return Answer(status(message), (SetCheck(_selector(target), check),))


def remove_check(plan: Plan, target: Task | None) -> Answer:
    """Remove the check of a task, or of the plan if there is none."""
    if (plan if target is None else target).check is None:
        return unchanged(f"{_name(target)} has no check")
    return Answer(status(f"Removed the check of {_name(target)}"), (SetCheck(_selector(target), None),))


def order(plan: Plan, task_word: str, after_words: Sequence[str], *, positions: bool = False) -> Answer:
    """Say after which other tasks a task is worked on, in place of those before; without others, it waits for none."""
    task = find_task(plan, [task_word], positions=positions)
    if isinstance(task, Answer):
        return task
    if not after_words:
        return Answer(status(f"Waits for no other task: {label(task)}"), (Order(Numbered((task.number,)), ()),))
    others = find_tasks(plan, after_words, positions=positions)
    if isinstance(others, Answer):
        return others
    message = f"{label(task)} comes after {', '.join(f'#{number}' for number in others.numbers)}"
    return Answer(status(message), (Order(Numbered((task.number,)), others.numbers),))


def set_words(plan: Plan, field: str, task_word: str, words: Sequence[str], *, positions: bool = False) -> Answer:
    """Set a field of `WORD_FIELDS` of a task, in place of the words before."""
    task = find_task(plan, [task_word], positions=positions)
    if isinstance(task, Answer):
        return task
    facts = WORD_FIELDS[field]
    what = f"{facts.shown.capitalize()} {single_line(', '.join(words))}" if words else facts.none
    return Answer(status(f"{what}: {label(task)}"), (Touch(Numbered((task.number,)), tuple(words), field),))


def _reopens(target: Task | None, check: Check) -> bool:
    return target is not None and target.status is Status.COMPLETED and target.check != check


def _selector(target: Task | None) -> Numbered | None:
    return None if target is None else Numbered((target.number,))


def _name(target: Task | None) -> str:
    return "the plan" if target is None else label(target)
