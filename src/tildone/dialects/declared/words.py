"""The list in words: a recap, a block of lines, the nudge, and an entry of the completion log."""

from __future__ import annotations

from tildone.core.faults import MissingField, TextTooLong, TooManyActive, TooManyTasks, UnknownValue
from tildone.core.plan import Status
from tildone.core.query import open_tasks, progress
from tildone.dialects.declared.params import NAME, STATUSES
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.core.faults import Fault
    from tildone.core.plan import Plan
    from tildone.dialects.base import Done

MARKS = {status: f"[{status.icon}]" for status in Status} | {
    Status.PENDING: "[ ]",
    Status.IN_PROGRESS: "[▶]",
    Status.ABANDONED: "[~]",
}
RECAPPED = (("Pending", Status.PENDING, 3), ("Cancelled", Status.ABANDONED, 2))
EXPECTED = {
    "summary": "some text",
    "todos": "an array",
    "content": "some text",
    "status": f"one of {', '.join(STATUSES)}",
}
EXPECTED_ITEM = "an object with content and status"


def recap(plan: Plan) -> str:
    """The plan in a line: how far it has come, what is being done, what comes next, what was dropped."""
    far = progress(plan)
    active = next(_texts(plan, Status.IN_PROGRESS), "None")
    parts = [f"[{far.closed}/{far.total}] In progress: {active}."]
    for title, status, most in RECAPPED:
        texts = list(_texts(plan, status))[:most]
        if texts:
            parts.append(f"{title}: {'; '.join(texts)}.")
    return " ".join(parts)


def lines(plan: Plan) -> list[str]:
    """One line a task."""
    return [f"{MARKS[task.status]} {single_line(task.text)}" for task in plan.tasks]


def sentence(fault: Fault) -> str:
    """Why a list was refused: the field, and what was expected there."""
    match fault:
        case TooManyTasks(adding, limit):
            return f"todos: expected at most {limit} items, got {adding}"
        case TextTooLong(index, limit):
            return f"todos[{index}].content: expected at most {limit} characters"
        case TooManyActive(count):
            return f"todos: expected at most one item in_progress, got {count}"
        case MissingField(field) | UnknownValue(field):
            return f"{field}: expected {EXPECTED.get(field.rpartition('.')[2], EXPECTED_ITEM)}"
        case other:
            raise AssertionError(other)


def context(plan: Plan) -> str | None:
    """The recap, for the end of a request, while something is open."""
    return recap(plan) if open_tasks(plan) else None


def carry_on(plan: Plan) -> str:
    """What tells an agent to go on.

    The list is whole, closed tasks included: the next call has to send it again. Task text stands in it and
    nowhere else.
    """
    active = any(task.status is Status.IN_PROGRESS for task in plan.tasks)
    order = "Finish the [▶] item" if active else "Set the first [ ] item to in_progress and do it"
    listed = "\n".join(lines(plan))
    return (
        f"Todos ({len(open_tasks(plan))} of {len(plan.tasks)} open):\n{listed}\n\n"
        f"{order}; send the whole list with {NAME} whenever a status changes."
    )


def completes(done: Done) -> bool:
    """Whether the list was accepted, holds something, and nothing of it is open."""
    return not done.outcome.faults and progress(done.outcome.after).finished


def completion(done: Done, number: int, stamp: str) -> str:
    """A finished list as a block of Markdown."""
    plan = done.outcome.after
    total = len(plan.tasks)
    finished = [f"- {text}" for text in _texts(plan, Status.COMPLETED)]
    dropped = [f"- ~~{text}~~" for text in _texts(plan, Status.ABANDONED)]
    block = [f"# task{number}-{stamp}", "", f"总任务概述：{single_line(done.params['summary'].strip())}"]
    if finished:
        block += ["", f"[{len(finished)}/{total}] Completed: 完成的任务.", *finished]
    if dropped:
        block += ["", f"[{len(dropped)}/{total}] Cancelled: 取消的任务.", *dropped]
    return "\n".join([*block, ""])


def _texts(plan: Plan, status: Status) -> Iterator[str]:
    return (single_line(task.text) for task in plan.tasks if task.status is status)
