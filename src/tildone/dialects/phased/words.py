"""The text that a model reads: the summary after every call, its errors, the nudge, and reports of people's edits."""

from __future__ import annotations

import re

from tildone.core.faults import DuplicateTask, EmptyNote, HasCheck, MissingField, PhaseMissing, TaskMissing
from tildone.core.plan import Status
from tildone.core.query import newly_completed, tasks_with_phase
from tildone.dialects.base import Reply
from tildone.dialects.phased.entries import phases_out
from tildone.formats.markdown.writer import bounded_checklist
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import (
    MAX_FRAME,
    MAX_NUDGE,
    MAX_RESULT,
    MAX_START,
    MAX_TEXT,
    bounded_list,
    clipped,
    fitting,
    omissions,
)
from tildone.views.sanitize import reminder as as_reminder
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from tildone.core.faults import Fault
    from tildone.core.plan import Phase, Plan, Task
    from tildone.dialects.base import CompletedCall, Tool
    from tildone.kit.schema import SchemaProblem
    from tildone.views.limits import Entry

CLEARED = "Todo list cleared."
SIGNS = {status: status.icon for status in Status} | {Status.PENDING: "○", Status.IN_PROGRESS: "→"}
MISSING = {
    "list": "Missing list for init operation",
    "task": "Missing task content",
    "phase": "Missing phase name",
    "items": "Missing items for append operation",
}
EMPTY_HINT = " (the list is empty: init it first)"
NAME_HINT = " (name a task by its text)"
MAX_LIST = (MAX_RESULT - 4 * MAX_FRAME) // 2
"""How many characters each of the two lists in a summary may have."""

INVENTED_ID = re.compile("task-[0-9]+")
"""The names that models invent for tasks which they believe to have ids."""


def reply(call: CompletedCall) -> Reply:
    """Report the errors and the whole plan, which is always included because the valid ops of a batch are applied."""
    before, plan = call.outcome.before, call.outcome.after
    failures = errors(call.outcome.faults)
    text = "\n".join(part for part in (failures, summary(plan)) if part)
    details: dict[str, Any] = {"phases": phases_out(plan), "storage": "session" if call.durable else "memory"}
    completed = [{"phase": entry.phase, "content": entry.task.text} for entry in newly_completed(before, plan)]
    if completed:
        details["completedTasks"] = completed
    return Reply(text or CLEARED, details, is_error=bool(failures))


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], _given: object) -> Reply:
    """Reply to arguments that do not match the schema."""
    return Reply(f"Errors: {'; '.join(map(str, problems))}. Nothing changed.", {}, is_error=True)


def context(_plan: Plan) -> None:
    """Return None: every reply includes the whole plan."""


def carry_on(plan: Plan) -> str:
    """Return the nudge. Task text appears in the list only."""
    remaining = "\n".join(bounded_list(_open_items(plan), MAX_NUDGE - MAX_FRAME))
    return f"You stopped, and these todos are open:\n{remaining}\nGo on. Mark each done or dropped with todo_write."


def reminder(plan: Plan, attempt: int, limit: int) -> str:
    """Return the nudge as a host sends it, with its number and the limit."""
    return as_reminder(f"{carry_on(plan)}\nReminder {attempt}/{limit}.")


def edit_reminder(plan: Plan) -> str:
    """Return the message that reports a person's edit to the model, with the plan after it."""
    if not plan.phases:
        return as_reminder("The user cleared the todo list by hand. Leave it empty unless asked for a new one.")
    return as_reminder(
        "The user changed the todo list by hand. It is now:\n\n"
        f"{bounded_checklist(plan, MAX_START - MAX_FRAME)}\nWork from it; do not bring back what is gone."
    )


def errors(faults: Sequence[Fault]) -> str:
    """Return all faults in one line. Each hint is given once, after the first fault that needs it."""
    messages: list[str] = []
    given_hints = {""}
    for fault in faults:
        hint = _hint(fault)
        messages.append(sentence(fault) + ("" if hint in given_hints else hint))
        given_hints.add(hint)
    return clipped(f"Errors: {'; '.join(messages)}") if messages else ""


def sentence(fault: Fault) -> str:
    """Describe a fault in the wording of this dialect."""
    match fault:
        case MissingField("phase", "append"):
            return f"{MISSING['phase']} for append operation"
        case MissingField(field):
            return MISSING[field]
        case EmptyNote():
            return "Missing text for note operation"
        case TaskMissing(text):
            return f'Task "{_shown(text)}" not found'
        case PhaseMissing(name):
            return f'Phase "{_shown(name)}" not found'
        case DuplicateTask(text):
            return f'Task "{_shown(text)}" already exists'
        case HasCheck():
            # Late, because few plans have checks.
            from tildone.views.faults import describe_fault  # noqa: PLC0415  see above

            return describe_fault(fault)
        case other:
            raise AssertionError(other)


def summary(plan: Plan) -> str:
    """Return the open tasks, the progress of the current phase, and a tree of all phases; "" without tasks."""
    if not plan.tasks:
        return ""
    remaining = _open_items(plan)
    opening = f"Remaining items ({len(remaining)}):" if remaining else "Remaining items: none."
    return "\n".join([opening, *bounded_list(remaining, MAX_LIST), _progress(plan), *_tree(plan)])


def _open_items(plan: Plan) -> list[Entry]:
    return [
        (item.task, _open_line(item.task, item.phase)) for item in tasks_with_phase(plan) if item.task.status.is_open
    ]


def _open_line(task: Task, phase: str) -> Callable[[int], str]:
    return lambda size: f"  - {_shown(task.text, size)} [{task.status.value}] ({_shown(phase)})"


def _progress(plan: Plan) -> str:
    """Describe the progress of the first phase with open tasks, or of the last phase if there is none."""
    total = len(plan.phases)
    unfinished = (i for i, phase in enumerate(plan.phases) if _closed_count(phase) < len(phase.tasks))
    current = next(unfinished, total - 1)
    phase = plan.phases[current]
    count = f"{_closed_count(phase)}/{len(phase.tasks)} tasks complete"
    return f'Phase {current + 1}/{total} "{_shown(phase.name)}" — {count}'


def _closed_count(phase: Phase) -> int:
    return sum(not task.status.is_open for task in phase.tasks)


def _tree(plan: Plan) -> Iterator[str]:
    """Return the lines of all phases; of those without a task that fits, only if everything fits."""
    entries = [(task, _branch(task, phase.name)) for phase in plan.phases for task in phase.tasks]
    sizes = fitting(entries, MAX_LIST)
    size_of = iter(sizes)
    for phase in plan.phases:
        inside = [(task, size) for task in phase.tasks if (size := next(size_of))]
        if inside or all(sizes):
            yield f"  {_shown(phase.name)}:"
        yield from (line for task, size in inside for line in _task_lines(task, size))
    yield from omissions(plan.tasks, sizes)


def _branch(task: Task, phase: str) -> Callable[[int], str]:
    return lambda size: "\n".join([f"  {_shown(phase)}:", *_task_lines(task, size)])


def _task_lines(task: Task, size: int) -> Iterator[str]:
    yield f"    {SIGNS[task.status]} {_shown(task.text, size)}{_note_count(task)}"
    if task.status is Status.IN_PROGRESS and task.notes:
        yield from map(_note_line, clipped("\n---\n".join(task.notes)).split("\n"))


def _shown(text: str, size: int = MAX_TEXT) -> str:
    return clipped(single_line(text), size)


def _note_count(task: Task) -> str:
    count = len(task.notes)
    return f" (+{count} note{'s' if count > 1 else ''})" if count else ""


def _note_line(line: str) -> str:
    """Indent a line of a note. A carriage return at its end is preserved; other line breaks in it are replaced."""
    body = line.removesuffix("\r")
    return f"        {single_line(body)}{line[len(body) :]}"


def _hint(fault: Fault) -> str:
    match fault:
        case TaskMissing(_, empty=True):
            return EMPTY_HINT
        case TaskMissing(text) if INVENTED_ID.fullmatch(text):
            return NAME_HINT
        case _:
            return ""
