"""The `indexed` dialect: `write_todos`, `list_todos` and `edit_todos`, a flat list addressed by position."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.base.schema import SchemaProblem
from tildone.plan import faults
from tildone.plan.dialects import TEXT, Dialect, Hints, Phrasing, Reply, Tool, array, enumeration, record, safe_dialect
from tildone.plan.model import (
    Phase,
    Plan,
    Rules,
    Status,
    Task,
    Unit,
    first_too_long,
    flat,
    length,
    next_task,
    open_tasks,
)
from tildone.plan.ops import Append, At, Insert, Mark, Write
from tildone.plan.text.faults import describe_fault
from tildone.plan.text.safe import MAX_CONTEXT, MAX_FRAME, numbered_at, numbered_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from tildone.plan.dialects import CompletedCall, Params, ToolCall
    from tildone.plan.faults import Fault
    from tildone.plan.reduce import Step


MAX_TEXT_UNITS = 1000
RULES = Rules(max_tasks=100, max_text=MAX_TEXT_UNITS, text_unit=Unit.UTF16)

ACTIONS = {"start": Status.IN_PROGRESS, "complete": Status.COMPLETED, "abandon": Status.ABANDONED}
MODES = ("replace", "append", "insert")

WRITE_PARAMETERS = {
    "type": "object",
    "required": ["mode", "todos"],
    "properties": {
        "mode": {
            "type": "string",
            "enum": list(MODES),
            "description": (
                "Mode: 'replace' clears and replaces the entire list, 'append' adds to the end, "
                "'insert' inserts at a specific index"
            ),
        },
        "index": {
            "type": "integer",
            "description": "0-based index to insert at (required for 'insert' mode)",
        },
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["text"],
                "properties": {
                    "text": {
                        "type": "string",
                        "description": "Description of the task",
                        "maxLength": MAX_TEXT_UNITS,
                    }
                },
            },
            "description": "Ordered list of todo items",
            "maxItems": RULES.max_tasks,
        },
    },
}
LIST_PARAMETERS = {"type": "object", "properties": {}}
EDIT_PARAMETERS = {
    "type": "object",
    "required": ["action", "indices"],
    "properties": {
        "action": {
            "type": "string",
            "enum": list(ACTIONS),
            "description": "Action to apply to the todo items",
        },
        "indices": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "0-based indices to apply the action to",
            "minItems": 1,
            "maxItems": 50,
        },
    },
}


def write_steps(params: Params) -> Sequence[Step]:
    """Return the changes of a `write_todos` call. Text lengths are checked first."""
    tasks = tuple(Task(item["text"]) for item in params["todos"])
    too_long = first_too_long((task.text for task in tasks), RULES)
    if too_long is not None:
        return (faults.TextTooLong(too_long, MAX_TEXT_UNITS),)
    match params["mode"]:
        case "replace":
            return (Write((Phase("", tasks),) if tasks else ()),)
        case "append":
            return (Append(tasks),)
        case "insert" if params.get("index") is None:
            return (faults.MissingField("index", "insert"),)
        case "insert":
            at = _position(params["index"])
            return (at if isinstance(at, faults.UnknownValue) else Insert(tasks, at),)
        case mode:
            return (faults.UnknownValue("mode", str(mode)),)


def edit_steps(params: Params) -> Sequence[Step]:
    """Return the changes of an `edit_todos` call. Positions are checked before the action."""
    positions = [_position(index) for index in params.get("indices") or ()]
    if not positions:
        return (faults.MissingField("indices", "edit"),)
    wrong = next((position for position in positions if isinstance(position, faults.UnknownValue)), None)
    if wrong is not None:
        return (wrong,)
    indices = tuple(position for position in positions if isinstance(position, int))
    action = params["action"]
    if action not in ACTIONS:
        return Mark(At(indices), Status.PENDING), faults.UnknownValue("action", str(action))
    return (Mark(At(indices), ACTIONS[action]),)


def _position(given: object) -> int | faults.UnknownValue:
    """Return a position, or the fault of a value that is none: the schema refuses it, but a host may pass it on."""
    try:
        position = int(given) if isinstance(given, str) else given
    except ValueError:
        position = None
    if isinstance(position, float) and position.is_integer():
        position = int(position)
    if isinstance(position, int) and not isinstance(position, bool):
        return position
    return faults.UnknownValue("index", str(given))


def no_empty_texts(params: Params) -> Sequence[SchemaProblem]:
    """Return a problem for each item without text: such items are indistinguishable."""
    return [
        SchemaProblem(f"todos[{index}].text", "expected some text, got none")
        for index, item in enumerate(params["todos"])
        if not item["text"].strip()
    ]


_ACTION = {status: action for action, status in ACTIONS.items()}


def mark(_plan: Plan, position: int, status: Status) -> ToolCall:
    return "edit_todos", {"action": _ACTION[status], "indices": [position]}


WORDS = {status: status.value for status in Status} | {Status.PENDING: "not_started"}
LABELS = {"start": "Started", "complete": "Completed", "abandon": "Abandoned"}


def write_reply(call: CompletedCall) -> Reply:
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
    # Without the list in the details, because `recover` must not read it as state.
    return Reply(numbered_list(call.outcome.after), {"action": "list", "todos": []})


def edit_reply(call: CompletedCall) -> Reply:
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
    return Reply(f"Error: {'; '.join(map(str, problems))}", {}, is_error=True)


def context(plan: Plan) -> str | None:
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
    short = ""
    match fault:
        case faults.TextTooLong(index, limit):
            message = f"todo item at index {index} exceeds maximum text length ({limit} characters)"
            short = "text too long"
        case faults.MissingField("index"):
            message, short = "'index' is required for the 'insert' mode", "index required for insert"
        case faults.MissingField():
            message, short = "'indices' is required for start/complete/abandon actions", "indices required"
        case faults.TooManyTasks(adding, limit, current):
            doing = "inserting" if inserting else "appending"
            message = f"{doing} {adding} item(s) would exceed maximum of {limit} todos (currently {current})"
            short = "max todos exceeded"
        case faults.BadPosition(at, last):
            message = f"index {at} out of range (0 to {last})"
        case faults.OutOfRange(indices, last):
            message = f"indices [{_joined(indices)}] out of range (0 to {last})"
        case faults.NoTasks():
            message = "no todos exist"
        case faults.UnknownValue(field, word):
            message = f"unknown {field} '{word}'"
        case faults.HasCheck() | faults.NotYours():
            message = describe_fault(fault)
        case other:
            raise AssertionError(other)
    return message, short or message


def _joined(numbers: Sequence[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers)


STATUSES = {word: status for status, word in WORDS.items()}
TOOL_NAMES = ("write_todos", "list_todos", "edit_todos")


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """Return the list in the newest result of these tools that contains one, or None."""
    for entry in reversed(entries):
        todos = _snapshot(entry)
        if todos is not None:
            return flat(*(Task(item["text"], STATUSES[item["status"]]) for item in todos if is_item(item)))
    return None


def is_item(item: object) -> bool:
    if not isinstance(item, dict) or item.keys() != {"text", "status"}:
        return False
    text, status = item["text"], item["status"]
    if not isinstance(text, str) or not isinstance(status, str):
        return False
    return status in STATUSES and 0 < length(text, Unit.UTF16) <= MAX_TEXT_UNITS


def _snapshot(entry: Mapping[str, Any]) -> Sequence[Any] | None:
    """Return the items in an entry, or None if it has no list. An empty list counts only if a write succeeded."""
    match entry:
        case {"type": "message", "message": {"role": "toolResult", "toolName": name, "details": {**details}}} if (
            name in TOOL_NAMES
        ):
            todos = details.get("todos")
            emptied = details.get("action") == "write" and "error" not in details
            return todos if isinstance(todos, list) and (todos or emptied) else None
        case _:
            return None


_ITEM = record("text", "status", text=TEXT, status=enumeration(*WORDS.values()))
RESULT = record("action", "todos", action=TEXT, todos=array(_ITEM), error=TEXT)


SNIPPET = "Manage a todo list: write (replace/append/insert), list, edit (start/complete/abandon by indices)"
GUIDELINES = (
    "Use write_todos with mode 'replace' to create or replace the full todo list at the start of a task.",
    "Use write_todos with mode 'append' to add new items to the end of the existing list.",
    "Use write_todos with mode 'insert' and an 'index' parameter to insert items at a specific position.",
    "Use edit_todos with action 'start' and an array of 0-based indices to begin work on specific items.",
    "Use edit_todos with action 'complete' and an array of 0-based indices to mark items as done.",
    "Use edit_todos with action 'abandon' and an array of 0-based indices when items are no longer needed.",
    "Use list_todos to review the current todo list.",
    "Always call edit_todos with action 'start' on the next item before working on it, then 'complete' when done.",
)

DIALECT = safe_dialect(
    Dialect(
        name="indexed",
        rules=RULES,
        tools=(
            Tool(
                name="write_todos",
                label="Write todos",
                description="Write the todo list: replace all of it, append items, or insert items at an index.",
                parameters=WRITE_PARAMETERS,
                steps=write_steps,
                reply=write_reply,
                demands=no_empty_texts,
                snippet=SNIPPET,
                strict=False,
                guidelines=GUIDELINES,
                output_schema=RESULT,
            ),
            Tool(
                name="list_todos",
                label="List todos",
                description="Show the todo list.",
                parameters=LIST_PARAMETERS,
                steps=lambda _: (),
                reply=list_reply,
                snippet=SNIPPET,
                strict=False,
                # No output schema: the details omit the list, because `recover` must not read it as state.
                hints=Hints(read_only=True, idempotent=True),
            ),
            Tool(
                name="edit_todos",
                label="Edit todos",
                description="Start, complete or abandon todo items by their 0-based indices: all or none.",
                parameters=EDIT_PARAMETERS,
                steps=edit_steps,
                reply=edit_reply,
                snippet=SNIPPET,
                strict=False,
                output_schema=RESULT,
                hints=Hints(idempotent=True),
            ),
        ),
        refuse=refuse,
        context=context,
        carry_on=carry_on,
        phrasing=Phrasing(mark),
        recover=recover,
    )
)
