"""Builders for the JSON schemas of tool results."""

from __future__ import annotations

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
ANYTHING: Schema = {}


def record(*required: str, **properties: Schema) -> Schema:
    """Return the schema of an object with these properties; `required` names those that must be present."""
    return {"type": "object", "properties": properties, "required": list(required)}


def array(items: Schema) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": items}


def enumeration(*words: str) -> Schema:
    """Return the schema of a string that is one of these words."""
    return {"type": "string", "enum": list(words)}
