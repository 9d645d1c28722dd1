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
    """An object with these properties, some of them required."""
    return {"type": "object", "properties": properties, "required": list(required)}


def array(items: Schema) -> Schema:
    """An array of such items."""
    return {"type": "array", "items": items}


def enumeration(*words: str) -> Schema:
    """One of these strings."""
    return {"type": "string", "enum": list(words)}
