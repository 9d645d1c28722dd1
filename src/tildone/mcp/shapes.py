"""What a client's program is told of each tool beside what a model reads: a title, hints, and the shape of results."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from tildone.dialects.base import Tool
from tildone.value import value

Schema = dict[str, Any]


@value
class Shape:
    """What there is to say of a tool. A tool without a schema gives no structured results."""

    read_only: bool = False
    idempotent: bool = False
    results: Schema | None = None


def _object(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _one_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer"}
_ANY: Schema = {}

_TODO = _object(
    "text",
    "status",
    text=_TEXT,
    status=_one_of("not_started", "in_progress", "completed", "abandoned", "blocked"),
)
_INDEXED = _object("action", "todos", action=_TEXT, todos=_list(_TODO), error=_TEXT)

_PHASED_TASK = _object(
    "content",
    "status",
    content=_TEXT,
    status=_one_of("pending", "in_progress", "completed", "abandoned", "blocked"),
    notes=_list(_TEXT),
)
_PHASED = _object(
    "phases",
    "storage",
    phases=_list(_object("name", "tasks", name=_TEXT, tasks=_list(_PHASED_TASK))),
    storage=_one_of("session", "memory"),
    completedTasks=_list(_object("phase", "content", phase=_TEXT, content=_TEXT)),
)

_DECLARED_TODO = _object(
    "id",
    "content",
    "status",
    id=_TEXT,
    content=_TEXT,
    status=_one_of("pending", "in_progress", "completed", "cancelled"),
)
_DECLARED = _object(
    "status",
    "data",
    "text",
    "stats",
    "context",
    status=_one_of("success", "error"),
    data={
        "type": "object",
        "properties": {"todos": _list(_DECLARED_TODO), "recap": _TEXT, "summary": _TEXT, "persisted_to": _TEXT},
    },
    text=_TEXT,
    stats={"type": "object", "additionalProperties": _COUNT},
    context=_object("cwd", "params_input", cwd=_TEXT, params_input=_ANY),
    error=_object("code", "message", code=_TEXT, message=_TEXT),
)

SHAPES = {
    "write_todos": Shape(results=_INDEXED),
    # What it keeps as details never counts as the list, so as results it would be a lie.
    "list_todos": Shape(read_only=True, idempotent=True),
    "edit_todos": Shape(idempotent=True, results=_INDEXED),
    "todo_write": Shape(results=_PHASED),
    "TodoWrite": Shape(idempotent=True, results=_DECLARED),
    "todo": Shape(results=_object("say", say=_TEXT)),
}


def shape_of(tool: str) -> Shape:
    """What there is to say of a tool of that name."""
    return SHAPES.get(tool, Shape())


def described(tool: Tool, *, structured: bool) -> types.Tool:
    """A tool as a client lists it. What models read of it is the dialect's, as it stands there."""
    shape = shape_of(tool.name)
    return types.Tool(
        name=tool.name,
        title=tool.label,
        description=tool.description,
        input_schema=dict(tool.parameters),
        output_schema=shape.results if structured else None,
        annotations=types.ToolAnnotations(
            title=tool.label,
            read_only_hint=shape.read_only,
            # Nothing is ever lost: whatever a call replaces, an undo brings back.
            destructive_hint=False,
            idempotent_hint=shape.idempotent,
            open_world_hint=False,
        ),
    )
