"""Which schemas the checker in `tildone.kit.schema` supports completely: the others are checked by a library.

The answer is exact in one direction: a schema that counts as simple is valid, and means the same here as in JSON Schema
draft 2020-12.
"""

from __future__ import annotations

ANNOTATIONS = frozenset({"title", "description", "default"})
KEYWORDS = ANNOTATIONS | {
    "type",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "maxLength",
}

_TYPES = ("object", "array", "string", "integer", "number", "boolean")


def is_simple(schema: object) -> bool:
    """Return whether the schema and all schemas in it use only what the checker supports."""
    if not isinstance(schema, dict) or not schema.keys() <= KEYWORDS:
        return False
    properties = schema.get("properties", {})
    return (
        schema.get("type") in _TYPES
        and all(isinstance(schema.get(name, ""), str) for name in ("title", "description"))
        and all(_is_count(schema.get(name, 0)) for name in ("minItems", "maxItems", "maxLength"))
        and isinstance(schema.get("additionalProperties", True), bool)
        and _are_names(schema.get("enum", []))
        and isinstance(properties, dict)
        and _are_names(schema.get("required", []))
        and set(schema.get("required", ())) <= properties.keys()
        and ("items" in schema or schema["type"] != "array")
        and all(map(is_simple, properties.values()))
        and ("items" not in schema or is_simple(schema["items"]))
    )


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 0


def _are_names(given: object) -> bool:
    """Whether this is a list of different texts."""
    return isinstance(given, list) and all(isinstance(name, str) for name in given) and len(set(given)) == len(given)
