"""Validation of arguments against a tool's JSON schema: all problems, each with its path.

Only the keywords that tildone's own schemas use are supported; `is_simple` tells which schemas these are. Functions
that convert arguments leave alone what they do not understand, so they can be used with any schema.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Schema = Mapping[str, Any]

    AnySchema = Schema | bool


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_ARTICLES = {"object": "an object", "array": "an array", "integer": "an integer", "null": "null"}
_NULLABLE = (None, "null")
_MAX_SHOWN_CHARS = 60
_MAX_DIGITS = 9


@value
class SchemaProblem:
    """A problem with the arguments of a call; `path` is empty if it concerns all of them."""

    path: str
    expected: str

    def __str__(self) -> str:
        return f"{self.path}: {self.expected}" if self.path else self.expected


def coerce_arguments(schema: AnySchema, given: Any) -> Any:
    """Return the arguments with numeric strings converted to integers, and numbers to strings, as the schema asks.

    Models write `["0"]` for `[0]`, which is unambiguous. Nothing else is converted. A value is converted only where the
    schema names the one type that it must have.
    """
    if isinstance(given, dict):
        known = _properties(schema)
        return {name: coerce_arguments(known[name], item) if name in known else item for name, item in given.items()}
    if isinstance(given, list):
        items = _items(schema)
        return given if items is True else [coerce_arguments(items, item) for item in given]
    kind = _one_type(schema)
    if kind == "integer" and isinstance(given, str) and _is_integer(given):
        return int(given)
    if kind == "string" and isinstance(given, int | float) and not isinstance(given, bool):
        return str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)
    return given


def without_nulls(schema: AnySchema, given: Any) -> Any:
    """Return the arguments without the optional fields that are null: models write null for a field they leave out.

    A null stays where the schema may permit it.
    """
    if isinstance(given, dict):
        known, required = _properties(schema), _keyword(schema, "required", ())
        return {
            name: without_nulls(known[name], item) if name in known else item
            for name, item in given.items()
            if item is not None or name not in known or name in required or _one_type(known[name]) in _NULLABLE
        }
    if isinstance(given, list):
        items = _items(schema)
        return given if items is True else [without_nulls(items, item) for item in given]
    return given


def schema_problems(schema: Schema, arguments: object) -> list[SchemaProblem]:
    """Return the problems with `arguments`; empty if they are valid."""
    return list(_check(schema, arguments, ""))


def type_phrase(kind: str) -> str:
    """Return the name of a JSON type with its article."""
    return _ARTICLES.get(kind, f"a {kind}")


def value_phrase(given: object) -> str:
    """Return a value as a message shows it: short, and without the contents of objects and arrays."""
    if given is None:
        return "null"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, dict):
        return "an object"
    if isinstance(given, list | tuple):
        return "an array"
    shown = repr(given) if isinstance(given, str) else str(given)
    return shown if len(shown) <= _MAX_SHOWN_CHARS else f"{shown[:_MAX_SHOWN_CHARS]}…"


def child_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _check(schema: Schema, given: object, path: str) -> Iterator[SchemaProblem]:
    kind = schema["type"]
    if not _has_type(kind, given):
        yield SchemaProblem(path, f"expected {type_phrase(kind)}, got {value_phrase(given)}")
        return
    if "enum" in schema and given not in schema["enum"]:
        yield SchemaProblem(path, f"expected one of {', '.join(schema['enum'])}, got {value_phrase(given)}")
    if isinstance(given, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in given:
                yield SchemaProblem(child_path(path, name), f"required, {_expected(known[name])}")
        for name, item in given.items():
            if name in known:
                yield from _check(known[name], item, child_path(path, name))
            elif schema.get("additionalProperties") is False:
                yield SchemaProblem(child_path(path, name), f"unknown field; known are {', '.join(known)}")
    elif isinstance(given, list | tuple):
        count = len(given)
        if count > schema.get("maxItems", count):
            yield SchemaProblem(path, f"expected at most {schema['maxItems']} items, got {count}")
            return
        if count < schema.get("minItems", 0):
            yield SchemaProblem(path, f"expected at least {schema['minItems']} items, got {count}")
        for index, item in enumerate(given):
            yield from _check(schema["items"], item, f"{path}[{index}]")
    elif isinstance(given, str) and len(given) > schema.get("maxLength", len(given)):
        yield SchemaProblem(path, f"expected at most {schema['maxLength']} characters, got {len(given)}")


def _keyword(schema: AnySchema, name: str, otherwise: Any = None) -> Any:
    return schema.get(name, otherwise) if isinstance(schema, dict) else otherwise


def _properties(schema: AnySchema) -> dict[str, Any]:
    properties = _keyword(schema, "properties")
    return properties if isinstance(properties, dict) else {}


def _items(schema: AnySchema) -> AnySchema:
    """The schema of all items; True if each may have its own."""
    items: AnySchema | list[AnySchema] | None = _keyword(schema, "items")
    return items if isinstance(items, dict) and not _keyword(schema, "prefixItems") else True


def _one_type(schema: AnySchema) -> str | None:
    """The type that a value must have; None if there may be several."""
    kind = _keyword(schema, "type")
    return kind if isinstance(kind, str) else None


def _has_type(kind: str, given: object) -> bool:
    if isinstance(given, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(given, float):
        return given.is_integer()
    return isinstance(given, _TYPES[kind])


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS


def _expected(schema: Schema) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    return type_phrase(schema["type"])


ANNOTATIONS = frozenset({"title", "description", "default"})
KEYWORDS = ANNOTATIONS.union(
    ("type", "enum", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "maxLength")
)


def is_simple(schema: object) -> bool:
    """Return whether the schema and all schemas in it use only what the checker supports."""
    if not isinstance(schema, dict) or not schema.keys() <= KEYWORDS:
        return False
    properties = schema.get("properties", {})
    return (
        schema.get("type") in tuple(_TYPES)
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
