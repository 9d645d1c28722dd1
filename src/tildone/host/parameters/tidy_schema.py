"""Schemas that pydantic made, in as few tokens as possible.

Titles repeat the names of fields and classes. A field with the default null may be left out, so it need not permit null
as well. A definition stands where it is used, unless it is long and used several times, or contains itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tildone.host.wire import JsonObject, JsonValue

MAX_REPEATED_CHARS = 100
"""A definition that is not longer stands everywhere it is used."""

_PREFIX = "#/$defs/"
_NULL = {"type": "null"}
_FIRST = ("type", "description")
_NOISE = ("title", "discriminator")
_BESIDE_REFERENCE = {"description", "default", "examples", "deprecated"}

_NAMED = ("properties", "patternProperties", "$defs", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "propertyNames", "contains", "not")


def tidy(schema: JsonObject) -> JsonObject:
    """Return the schema of an object without what a model does not need."""
    root = _without_noise(schema)
    root.pop("description", None)
    definitions: dict[str, JsonObject] = root.pop("$defs", {})
    name = _definition(root)
    if name in definitions:
        root = {**definitions[name], **root}
        del root["$ref"]
    uses = Counter(each for part in (root, *definitions.values()) for each in _references(part))
    inlined = {name for name in definitions if uses[name] == 1 or len(str(definitions[name])) <= MAX_REPEATED_CHARS}
    inlined -= {name for name in definitions if _contains_itself(name, definitions)}
    root = _inline(root, definitions, inlined)
    kept = {name: _inline(each, definitions, inlined) for name, each in definitions.items() if name not in inlined}
    used = {each for part in (root, *kept.values()) for each in _references(part)}
    kept = {name: each for name, each in kept.items() if name in used}
    return {**root, "$defs": kept} if kept else root


def _without_noise(schema: JsonValue) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    kept = _each({name: item for name, item in schema.items() if name not in _NOISE}, _without_noise)
    if kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    if kept.get("default", ...) is None and _NULL in kept.get("anyOf", ()):
        del kept["default"]
        others = [each for each in kept.pop("anyOf") if each != _NULL]
        kept |= others[0] | kept if len(others) == 1 else {"anyOf": others}
    first = {name: kept[name] for name in _FIRST if name in kept}
    return first | kept


def _inline(schema: JsonValue, definitions: dict[str, JsonObject], inlined: set[str]) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    name = _definition(schema)
    if name in inlined and schema.keys() - {"$ref"} <= _BESIDE_REFERENCE:
        beside = {keyword: item for keyword, item in schema.items() if keyword != "$ref"}
        return _inline({**definitions[name], **beside}, definitions, inlined)
    return _each(schema, lambda each: _inline(each, definitions, inlined))


def _contains_itself(name: str, definitions: dict[str, JsonObject]) -> bool:
    reached: set[str] = set()
    pending = list(_references(definitions[name]))
    while pending:
        each = pending.pop()
        if each in definitions and each not in reached:
            reached.add(each)
            pending += _references(definitions[each])
    return name in reached


def _references(schema: JsonValue) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to, each as often as it does."""
    if isinstance(schema, dict):
        name = _definition(schema)
        if name:
            yield name
        for each in _parts(schema):
            yield from _references(each)


def _definition(schema: JsonObject) -> str:
    reference: str = schema.get("$ref", "")
    return reference.removeprefix(_PREFIX) if reference.startswith(_PREFIX) else ""


def _parts(schema: JsonObject) -> Iterator[JsonValue]:
    parts: list[JsonValue] = []
    _each(schema, parts.append)
    yield from parts


def _each(schema: JsonObject, change: Callable[[JsonValue], JsonValue]) -> JsonObject:
    """Return a copy with a function applied to each schema in it."""
    changed = dict(schema)
    for name in _NAMED:
        if name in schema:
            changed[name] = {key: change(each) for key, each in schema[name].items()}
    for name in _LISTED:
        if name in schema:
            changed[name] = [change(each) for each in schema[name]]
    for name in _SINGLE:
        if name in schema:
            changed[name] = change(schema[name])
    return changed
