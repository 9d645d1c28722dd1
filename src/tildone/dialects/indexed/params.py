"""The parameters of the indexed tools, and their translation into changes to a plan."""

from __future__ import annotations

from tildone.core.faults import MissingField, TextTooLong, UnknownValue
from tildone.core.ops import Append, At, Insert, Mark, Write
from tildone.core.plan import Phase, Status, Task
from tildone.core.rules import Rules, Unit, first_too_long
from tildone.kit.schema import SchemaProblem
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.reduce import Step
    from tildone.dialects.base import Params

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
        return (TextTooLong(too_long, MAX_TEXT_UNITS),)
    match params["mode"]:
        case "replace":
            return (Write((Phase("", tasks),) if tasks else ()),)
        case "append":
            return (Append(tasks),)
        case "insert" if params.get("index") is None:
            return (MissingField("index", "insert"),)
        case "insert":
            at = _position(params["index"])
            return (at if isinstance(at, UnknownValue) else Insert(tasks, at),)
        case mode:
            return (UnknownValue("mode", str(mode)),)


def edit_steps(params: Params) -> Sequence[Step]:
    """Return the changes of an `edit_todos` call. Positions are checked before the action."""
    positions = [_position(index) for index in params.get("indices") or ()]
    if not positions:
        return (MissingField("indices", "edit"),)
    wrong = next((position for position in positions if isinstance(position, UnknownValue)), None)
    if wrong is not None:
        return (wrong,)
    indices = tuple(position for position in positions if isinstance(position, int))
    action = params["action"]
    if action not in ACTIONS:
        return Mark(At(indices), Status.PENDING), UnknownValue("action", str(action))
    return (Mark(At(indices), ACTIONS[action]),)


def _position(given: object) -> int | UnknownValue:
    """Return a position, or the fault of a value that is none: the schema refuses it, but a host may pass it on."""
    try:
        position = int(given) if isinstance(given, str) else given
    except ValueError:
        position = None
    if isinstance(position, float) and position.is_integer():
        position = int(position)
    if isinstance(position, int) and not isinstance(position, bool):
        return position
    return UnknownValue("index", str(given))


def no_empty_texts(params: Params) -> Sequence[SchemaProblem]:
    """Return a problem for each item without text: such items are indistinguishable."""
    return [
        SchemaProblem(f"todos[{index}].text", "expected some text, got none")
        for index, item in enumerate(params["todos"])
        if not item["text"].strip()
    ]
