"""The text that a model reads: results, refusals, the context of a turn, and the nudge."""

from __future__ import annotations

from tildone.core.faults import (
    BadPosition,
    HasCheck,
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
from tildone.views.limits import MAX_CONTEXT, MAX_FRAME
from tildone.views.plain_list import numbered_at, numbered_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.faults import Fault
    from tildone.core.plan import Plan
    from tildone.dialects.base import CompletedCall, Tool
    from tildone.kit.schema import SchemaProblem

WORDS = {status: status.value for status in Status} | {Status.PENDING: "not_started"}
LABELS = {"start": "Started", "complete": "Completed", "abandon": "Abandoned"}


def write_reply(call: CompletedCall) -> Reply:
    """Report what was written, with the whole list."""
    if call.outcome.faults:
        return _refusal("write", call.outcome.faults[0], inserting=call.params.get("mode") == "insert")
    count = len(call.params["todos"])
    opening = {
        "replace": f"Wrote {count} todo item(s)",
        "append": f"Appended {count} item(s)",
        "insert": f"Inserted {count} item(s) at index {int(call.params.get('index') or 0)}",
    }[call.params["mode"]]
    return _success("write", opening, call.outcome.after)


def list_reply(call: CompletedCall) -> Reply:
    """Return the whole list as text. The details omit it, because `recover` must not read it as state."""
    return Reply(numbered_list(call.outcome.after), {"action": "list", "todos": []})


def edit_reply(call: CompletedCall) -> Reply:
    """Report the action and its positions, with the whole list."""
    if call.outcome.faults:
        return _refusal("edit", call.outcome.faults[0])
    indices = call.params["indices"]
    if call.outcome.unproved:
        # Their checks have not passed.
        numbers = [task.number for task in call.outcome.after.tasks]
        indices = [index for index in indices if numbers[int(index)] not in call.outcome.unproved]
    label = LABELS[call.params["action"]] if indices else f"Not {LABELS['complete'].lower()}"
    return _success("edit", f"{label} [{_joined(indices or call.params['indices'])}]", call.outcome.after)


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], _given: object) -> Reply:
    """Reply to arguments that do not match the schema."""
    return Reply(f"Error: {'; '.join(map(str, problems))}", {}, is_error=True)


def context(plan: Plan) -> str | None:
    """Return the list for the start of a turn, or None if no task is open."""
    remaining = len(open_tasks(plan))
    if not remaining:
        return None
    return (
        f"[TILL-DONE ACTIVE]\n\nCurrent todo list:\n{numbered_list(plan, MAX_CONTEXT - MAX_FRAME)}\n\n"
        f"{remaining} item(s) remaining. Continue working through the list. Call edit_todos with action "
        "'start' on the next item before working on it, then 'complete' when done."
    )


def carry_on(plan: Plan) -> str:
    """Return the nudge. Task text appears in the list only."""
    upcoming = next_task(plan)
    action = "complete" if upcoming and upcoming[1].status is Status.IN_PROGRESS else "start"
    position = upcoming[0] if upcoming else 0
    return (
        "There are still incomplete todos. Continue working on the remaining todos.\n\n"
        f"Remaining items:\n{numbered_at(plan, [index for index, _ in open_tasks(plan)])}\n\n"
        f"Next action: edit_todos with action '{action}' and indices [{position}]"
    )


def _success(action: str, opening: str, plan: Plan) -> Reply:
    todos = [{"text": task.text, "status": WORDS[task.status]} for task in plan.tasks]
    return Reply(f"{opening}\n\n{numbered_list(plan)}", {"action": action, "todos": todos})


def _refusal(action: str, fault: Fault, *, inserting: bool = False) -> Reply:
    message, code = _messages(fault, inserting=inserting)
    return Reply(f"Error: {message}", {"action": action, "todos": [], "error": code})


def _messages(fault: Fault, *, inserting: bool) -> tuple[str, str]:
    """Return the message for the model, and the shorter one for the details."""
    match fault:
        case TextTooLong(index, limit):
            message = f"todo item at index {index} exceeds maximum text length ({limit} characters)"
            return message, "text too long"
        case MissingField("index"):
            return "'index' is required for the 'insert' mode", "index required for insert"
        case MissingField():
            return "'indices' is required for start/complete/abandon actions", "indices required"
        case TooManyTasks(adding, limit, current):
            doing = "inserting" if inserting else "appending"
            message = f"{doing} {adding} item(s) would exceed maximum of {limit} todos (currently {current})"
            return message, "max todos exceeded"
        case _:
            message = _short_message(fault)
            return message, message


def _short_message(fault: Fault) -> str:
    match fault:
        case BadPosition(at, last):
            return f"index {at} out of range (0 to {last})"
        case OutOfRange(indices, last):
            return f"indices [{_joined(indices)}] out of range (0 to {last})"
        case NoTasks():
            return "no todos exist"
        case UnknownValue(field, word):
            return f"unknown {field} '{word}'"
        case HasCheck():
            # Late, because few plans have checks.
            from tildone.views.faults import describe_fault  # noqa: PLC0415  see above

            return describe_fault(fault)
        case other:
            raise AssertionError(other)


def _joined(numbers: Sequence[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers)
