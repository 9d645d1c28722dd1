"""What a model reads: the summary after every call, its errors, and the nudge."""

from __future__ import annotations

import re

from tildone.core.faults import DuplicateTask, EmptyNote, MissingField, PhaseMissing, TaskMissing
from tildone.core.plan import Status
from tildone.core.query import newly_completed, tasks_with_phase
from tildone.dialects.base import Reply
from tildone.dialects.phased.entries import phases_out
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import escape_reminder_tags, single_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tildone.core.faults import Fault
    from tildone.core.plan import Phase, Plan, Task
    from tildone.dialects.base import Done, Tool
    from tildone.kit.schema import SchemaProblem

CLEARED = "Todo list cleared."
SIGNS = {status: status.icon for status in Status} | {Status.PENDING: "○", Status.IN_PROGRESS: "→"}
MISSING = {
    "list": "Missing list for init operation",
    "task": "Missing task content",
    "phase": "Missing phase name for append operation",
    "items": "Missing items for append operation",
}
EMPTY_HINT = " (the list is empty: init it first)"
NAME_HINT = " (name a task by its text)"
MADE_UP = re.compile("task-[0-9]+")
"""What models call a task that they think has an id."""


def reply(done: Done) -> Reply:
    """The errors and the whole plan. Good ops of a bad batch count, so the plan is always included."""
    before, plan = done.outcome.before, done.outcome.after
    wrong = errors(done.outcome.faults)
    text = "\n".join(part for part in (wrong, summary(plan)) if part)
    details: dict[str, Any] = {"phases": phases_out(plan), "storage": "session" if done.durable else "memory"}
    completed = [{"phase": found.phase, "content": found.task.text} for found in newly_completed(before, plan)]
    if completed:
        details["completedTasks"] = completed
    return Reply(text or CLEARED, details, is_error=bool(wrong))


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], _given: object) -> Reply:
    """The reply to arguments that do not fit the schema."""
    return Reply(f"Errors: {'; '.join(map(str, problems))}. Nothing changed.", {}, is_error=True)


def context(_plan: Plan) -> None:
    """Nothing: every reply includes the whole plan."""


def carry_on(plan: Plan) -> str:
    """The nudge. Task text appears in the list only."""
    left = escape_reminder_tags("\n".join(_left(plan)))
    return f"You stopped, and these todos are open:\n{left}\nGo on. Mark each done or dropped with todo_write."


def reminder(plan: Plan, attempt: int, limit: int) -> str:
    """The nudge as a host sends it, with its number and the limit."""
    return f"<system-reminder>\n{carry_on(plan)}\nReminder {attempt}/{limit}.\n</system-reminder>"


def errors(faults: Sequence[Fault]) -> str:
    """All faults in one line; each hint is given once, where it is first needed."""
    said: list[str] = []
    helped = {""}
    for fault in faults:
        hint = _hint(fault)
        said.append(sentence(fault) + ("" if hint in helped else hint))
        helped.add(hint)
    return f"Errors: {'; '.join(said)}" if said else ""


def sentence(fault: Fault) -> str:
    """A fault as this dialect puts it."""
    match fault:
        case MissingField(field):
            return MISSING[field]
        case EmptyNote():
            return "Missing text for note operation"
        case TaskMissing(text):
            return f'Task "{single_line(text)}" not found'
        case PhaseMissing(name):
            return f'Phase "{single_line(name)}" not found'
        case DuplicateTask(text):
            return f'Task "{single_line(text)}" already exists'
        case other:
            raise AssertionError(other)


def summary(plan: Plan) -> str:
    """What is left, how far the current phase is, and every phase as a tree; nothing of a plan without tasks."""
    if not plan.tasks:
        return ""
    left = _left(plan)
    opening = f"Remaining items ({len(left)}):" if left else "Remaining items: none."
    return "\n".join([opening, *left, _progress(plan), *_tree(plan)])


def _left(plan: Plan) -> list[str]:
    return [
        f"  - {single_line(found.task.text)} [{found.task.status.value}] ({single_line(found.phase)})"
        for found in tasks_with_phase(plan)
        if found.task.status.is_open
    ]


def _progress(plan: Plan) -> str:
    """How far the first phase is that has something left to do, or the last phase when none has."""
    total = len(plan.phases)
    unfinished = (i for i, phase in enumerate(plan.phases) if _closed(phase) < len(phase.tasks))
    current = next(unfinished, total - 1)
    phase = plan.phases[current]
    far = f"{_closed(phase)}/{len(phase.tasks)} tasks complete"
    return f'Phase {current + 1}/{total} "{single_line(phase.name)}" — {far}'


def _closed(phase: Phase) -> int:
    return sum(not task.status.is_open for task in phase.tasks)


def _tree(plan: Plan) -> Iterator[str]:
    for phase in plan.phases:
        yield f"  {single_line(phase.name)}:"
        for task in phase.tasks:
            yield f"    {SIGNS[task.status]} {single_line(task.text)}{_count(task)}"
            if task.status is Status.IN_PROGRESS and task.notes:
                yield from map(_note_line, "\n---\n".join(task.notes).split("\n"))


def _count(task: Task) -> str:
    count = len(task.notes)
    return f" (+{count} note{'s' if count > 1 else ''})" if count else ""


def _note_line(line: str) -> str:
    """Lines of a note stay lines, a carriage return at the end of one included; nothing else can begin one."""
    body = line.removesuffix("\r")
    return f"        {single_line(body)}{line[len(body) :]}"


def _hint(fault: Fault) -> str:
    match fault:
        case TaskMissing(_, empty=True):
            return EMPTY_HINT
        case TaskMissing(text) if MADE_UP.fullmatch(text):
            return NAME_HINT
        case _:
            return ""
