"""The list as text: a recap, a block of lines, the nudge, and an entry of the completion log."""

from __future__ import annotations

from tildone.core.faults import HasCheck, MissingField, TextTooLong, TooManyActive, TooManyTasks, UnknownValue
from tildone.core.plan import Status, flat
from tildone.core.query import open_tasks, progress
from tildone.dialects.declared.params import NAME, STATUSES
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.limits import MAX_FRAME, MAX_NUDGE, MAX_TEXT, bounded_plan, clipped
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.core.faults import Fault
    from tildone.core.plan import Plan
    from tildone.dialects.base import CompletedCall
    from tildone.views.limits import Part

MARKS = {status: f"[{status.icon}]" for status in Status} | {
    Status.PENDING: "[ ]",
    Status.IN_PROGRESS: "[▶]",
    Status.ABANDONED: "[~]",
}
RECAP_SECTIONS = (("Pending", Status.PENDING, 3), ("Cancelled", Status.ABANDONED, 2))
MAX_RECAP = 299
"""How long the recap at the end of a request may be: the original advises fewer than 300 characters."""

MAX_SHOWN = MAX_NUDGE - 2 * MAX_FRAME
"""How many characters of a list a model is told, in a nudge and in a reply alike."""

EXPECTED = {
    "summary": "some text",
    "todos": "an array",
    "content": "some text",
    "status": f"one of {', '.join(STATUSES)}",
}
EXPECTED_ITEM = "an object with content and status"


def recap(plan: Plan) -> str:
    """Summarize the plan in one line: progress, the task in progress, the next tasks, the cancelled ones."""
    so_far = progress(plan)
    active = next(_texts(plan, Status.IN_PROGRESS), "None")
    parts = [f"[{so_far.closed}/{so_far.total}] In progress: {active}."]
    for title, status, max_texts in RECAP_SECTIONS:
        texts = list(_texts(plan, status))[:max_texts]
        if texts:
            parts.append(f"{title}: {'; '.join(texts)}.")
    return " ".join(parts)


def short_recap(plan: Plan) -> str:
    """Return the recap in at most `MAX_RECAP` characters; the texts are cut to the same length."""
    whole = recap(plan)
    if len(whole) <= MAX_RECAP:
        return whole
    longest = next(size for size in range(MAX_RECAP, 0, -1) if len(recap(_cut(plan, size))) <= MAX_RECAP)
    return recap(_cut(plan, longest))


def _cut(plan: Plan, size: int) -> Plan:
    tasks = [task if len(task.text) <= size else replace(task, text=f"{task.text[: size - 1]}…") for task in plan.tasks]
    return flat(*tasks)


def lines(plan: Plan) -> list[str]:
    """Return one line per task."""
    return [f"{MARKS[task.status]} {_shown(task.text)}" for task in plan.tasks]


def shown_part(plan: Plan) -> Plan:
    """Return the part of the plan that a model is told: all of it, unless it is far longer than the tool allows.

    The model sends back what it was told; the other tasks count as unknown to it, and are kept.
    """
    return part(plan).plan


def part(plan: Plan) -> Part:
    """Return that part with what is missing in it. Texts are not cut, because the model sends them back."""
    return bounded_plan(plan, MAX_SHOWN, MAX_TEXT)


def sentence(fault: Fault) -> str:
    """Describe why a list was refused: the field, and the value that was expected there."""
    match fault:
        case TooManyTasks(adding, limit):
            return f"todos: expected at most {limit} items, got {adding}"
        case TextTooLong(index, limit):
            return f"todos[{index}].content: expected at most {limit} characters"
        case TooManyActive(count):
            return f"todos: expected at most one item in_progress, got {count}"
        case MissingField(field) | UnknownValue(field):
            return f"{field}: expected {EXPECTED.get(field.rpartition('.')[2], EXPECTED_ITEM)}"
        case HasCheck():
            # Late, because few plans have checks.
            from tildone.views.faults import describe_fault  # noqa: PLC0415  see above

            return describe_fault(fault)
        case other:
            raise AssertionError(other)


def context(plan: Plan) -> str | None:
    """Return the recap for the end of a request, or None if no task is open."""
    return short_recap(plan) if open_tasks(plan) else None


def carry_on(plan: Plan) -> str:
    """Return the nudge.

    It includes closed tasks, because the next call has to send the whole list. Task text appears in the list only.
    """
    active = any(task.status is Status.IN_PROGRESS for task in plan.tasks)
    instruction = "Finish the [▶] item" if active else "Set the first [ ] item to in_progress and do it"
    told = part(plan)
    listed = "\n".join([*lines(told.plan), *told.omissions])
    return (
        f"Todos ({len(open_tasks(plan))} of {len(plan.tasks)} open):\n{listed}\n\n"
        f"{instruction}; send the whole list with {NAME} whenever a status changes."
    )


def completes(call: CompletedCall) -> bool:
    """Return whether the list was accepted, is not empty, and has no open task."""
    return not call.outcome.faults and progress(call.outcome.after).finished


def completion(call: CompletedCall, number: int, timestamp: str) -> str:
    """Return the log entry of a finished list, in Markdown."""
    plan = call.outcome.after
    total = len(plan.tasks)
    finished = [f"- {text}" for text in _texts(plan, Status.COMPLETED)]
    dropped = [f"- ~~{text}~~" for text in _texts(plan, Status.ABANDONED)]
    block = [f"# task{number}-{timestamp}", "", f"总任务概述：{single_line(call.params['summary'].strip())}"]
    if finished:
        block += ["", f"[{len(finished)}/{total}] Completed: 完成的任务.", *finished]
    if dropped:
        block += ["", f"[{len(dropped)}/{total}] Cancelled: 取消的任务.", *dropped]
    return "\n".join([*block, ""])


def _shown(text: str) -> str:
    return clipped(single_line(text))


def _texts(plan: Plan, status: Status) -> Iterator[str]:
    return (_shown(task.text) for task in plan.tasks if task.status is status)
