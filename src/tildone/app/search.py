"""Search in a plan: the tasks that a person asks to see."""

from __future__ import annotations

from collections.abc import Sequence

from tildone.app.commands import Answer, FailureReason, phases_like, refusal, task_number
from tildone.base import value
from tildone.plan.model import Plan, Status, Task
from tildone.plan.text.safe import single_line

STATUS_WORDS = {status.value: status for status in Status}
STATUS_WORDS |= {"done": Status.COMPLETED, "dropped": Status.ABANDONED, "started": Status.IN_PROGRESS}


@value
class Search:
    """What the tasks have to match: words in the text or in the notes, a part of the phase's name, a status."""

    words: tuple[str, ...] = ()
    phase: str | None = None
    status: str | None = None
    only_open: bool = False


def find(plan: Plan, search: Search) -> tuple[Task, ...] | Answer:
    """Return the tasks that match, or a refusal if no phase has that name or the status is unknown."""
    phases = plan.phases
    if search.phase is not None:
        phases = tuple(phases_like(plan, search.phase))
        if not phases:
            return refusal(FailureReason.UNMATCHED, _no_phase(plan, search.phase))
    status = None
    if search.status is not None:
        status = STATUS_WORDS.get(search.status.strip().lower().replace("-", "_").replace(" ", "_"))
        if status is None:
            return refusal(
                FailureReason.USAGE,
                f'There is no status "{single_line(search.status)}"; a status is {_choices([*STATUS_WORDS])}',
            )
    return tuple(
        task
        for phase in phases
        for task in phase.tasks
        if status in (None, task.status)
        and (task.status.is_open or not search.only_open)
        and all(_has(task, word) for word in search.words)
    )


def _has(task: Task, word: str) -> bool:
    wanted = word.casefold()
    return task_number(word) == task.number or any(wanted in text.casefold() for text in (task.text, *task.notes))


def _no_phase(plan: Plan, name: str) -> str:
    names = [single_line(phase.name) for phase in plan.phases if phase.name]
    known = f"; phases are {_choices(names, 'and')}" if names else "; the plan has no phases"
    return f'No phase has "{single_line(name)}" in its name{known}'


def _choices(words: Sequence[str], conjunction: str = "or") -> str:
    *most, last = words
    return f"{', '.join(most)} {conjunction} {last}" if most else last
