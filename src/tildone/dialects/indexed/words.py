"""What a model reads: results, refusals, the context of a turn, and the nudge."""

from __future__ import annotations

from tildone.core.faults import (
    BadPosition,
    MissingField,
    NoTasks,
    OutOfRange,
    TextTooLong,
    TooManyTasks,
    UnknownValue,
)
from tildone.core.plan import Status
from tildone.core.query import next_task, open_tasks
from tildone.dialects.base import Reply
from tildone.typing import TYPE_CHECKING
from tildone.views.plain_list import numbered_at, numbered_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.faults import Fault
    from tildone.core.plan import Plan
    from tildone.dialects.base import Done, Tool
    from tildone.kit.schema import SchemaProblem

WORDS = {status: status.value for status in Status} | {Status.PENDING: "not_started"}
LABELS = {"start": "Started", "complete": "Completed", "abandon": "Abandoned"}


def write_reply(done: Done) -> Reply:
    """What was written, and the whole list."""
    if done.outcome.faults:
        return _refusal("write", done.outcome.faults[0], inserting=done.params.get("mode") == "insert")
    count = len(done.params["todos"])
    opening = {
        "replace": f"Wrote {count} todo item(s)",
        "append": f"Appended {count} item(s)",
        "insert": f"Inserted {count} item(s) at index {int(done.params.get('index') or 0)}",
    }[done.params["mode"]]
    return _success("write", opening, done.outcome.after)


def list_reply(done: Done) -> Reply:
    """The whole list; its details never count as state."""
    return Reply(numbered_list(done.outcome.after), {"action": "list", "todos": []})


def edit_reply(done: Done) -> Reply:
    """What was done to which positions, and the whole list."""
    if done.outcome.faults:
        return _refusal("edit", done.outcome.faults[0])
    label = LABELS[done.params["action"]]
    return _success("edit", f"{label} [{_joined(done.params['indices'])}]", done.outcome.after)


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], _given: object) -> Reply:
    """Arguments that do not fit the schema."""
    return Reply(f"Error: {'; '.join(map(str, problems))}", {}, is_error=True)


def context(plan: Plan) -> str | None:
    """The list, for the start of a turn, while something is open."""
    remaining = len(open_tasks(plan))
    if not remaining:
        return None
    return (
        f"[TILL-DONE ACTIVE]\n\nCurrent todo list:\n{numbered_list(plan)}\n\n"
        f"{remaining} item(s) remaining. Continue working through the list. Call edit_todos with action "
        "'start' on the next item before working on it, then 'complete' when done."
    )


def carry_on(plan: Plan) -> str:
    """The nudge. Task text appears in the list only."""
    upcoming = next_task(plan)
    action = "complete" if upcoming and upcoming[1].status is Status.IN_PROGRESS else "start"
    where = upcoming[0] if upcoming else 0
    return (
        "There are still incomplete todos. Continue working on the remaining todos.\n\n"
        f"Remaining items:\n{numbered_at(plan, [position for position, _ in open_tasks(plan)])}\n\n"
        f"Next action: edit_todos with action '{action}' and indices [{where}]"
    )


def _success(action: str, opening: str, plan: Plan) -> Reply:
    todos = [{"text": task.text, "status": WORDS[task.status]} for task in plan.tasks]
    return Reply(f"{opening}\n\n{numbered_list(plan)}", {"action": action, "todos": todos})


def _refusal(action: str, fault: Fault, *, inserting: bool = False) -> Reply:
    said, kept = _sentences(fault, inserting=inserting)
    return Reply(f"Error: {said}", {"action": action, "todos": [], "error": kept})


def _sentences(fault: Fault, *, inserting: bool) -> tuple[str, str]:
    """A refusal as the model reads it, and as its details keep it."""
    match fault:
        case TextTooLong(index, limit):
            said = f"todo item at index {index} exceeds maximum text length ({limit} characters)"
            return said, "text too long"
        case MissingField("index"):
            return "'index' is required for the 'insert' mode", "index required for insert"
        case MissingField():
            return "'indices' is required for start/complete/abandon actions", "indices required"
        case TooManyTasks(adding, limit, current):
            doing = "inserting" if inserting else "appending"
            said = f"{doing} {adding} item(s) would exceed maximum of {limit} todos (currently {current})"
            return said, "max todos exceeded"
        case _:
            said = _short_sentence(fault)
            return said, said


def _short_sentence(fault: Fault) -> str:
    match fault:
        case BadPosition(at, last):
            return f"index {at} out of range (0 to {last})"
        case OutOfRange(indices, last):
            return f"indices [{_joined(indices)}] out of range (0 to {last})"
        case NoTasks():
            return "no todos exist"
        case UnknownValue(field, word):
            return f"unknown {field} '{word}'"
        case other:
            raise AssertionError(other)


def _joined(numbers: Sequence[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers)
