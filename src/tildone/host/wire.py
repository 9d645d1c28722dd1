"""JSON objects as pi exchanges them, and how records are read from them and written.

A `Shape` lists the fields of one kind of record, and `Shapes` those of a union, which a field tells apart. Decoding
never fails: what lacks a needed field has no shape, and its owner keeps the object as it is.

Encoding a decoded record restores it. A field that is unknown, or whose value has an unexpected type, stays in
`Fields.rest` and is written back unchanged. A known field that is absent is read as None, and None is not written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from tildone.value import value

JsonValue = Any
"""A JSON value that is passed through unread: tool arguments, details, an extension's data."""

JsonObject = dict[str, JsonValue]
Extra = Mapping[str, JsonValue]

NO_EXTRA: Extra = {}

R = TypeVar("R")


class Fields:
    """The fields of one JSON object.

    Each accessor removes a field from `rest` and returns its value, or returns None if the field is absent or has
    another type.
    """

    def __init__(self, record: Extra, *known: str) -> None:
        self.rest = {name: value for name, value in record.items() if name not in known}

    def text(self, name: str) -> str | None:
        """Take a string."""
        return self.rest.pop(name) if isinstance(self.rest.get(name), str) else None

    def number(self, name: str) -> int | None:
        """Take a number. One with a fraction stays a float, so that it is written back unchanged."""
        value = self.rest.get(name)
        return self.rest.pop(name) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def flag(self, name: str) -> bool | None:
        """Take a boolean."""
        return self.rest.pop(name) if isinstance(self.rest.get(name), bool) else None

    def object(self, name: str) -> JsonObject | None:
        return self.rest.pop(name) if isinstance(self.rest.get(name), dict) else None

    def anything(self, name: str) -> JsonValue:
        """Take a value of any type."""
        return self.rest.pop(name, None)

    def not_null(self, name: str) -> JsonValue:
        """Take a value of any type other than null."""
        return self.rest.pop(name) if self.rest.get(name) is not None else None


@value
class WireField:
    """A field of a record: its attribute, and how it is read and written.

    Without `wire`, its name in JSON is the attribute's in camel case. A record without a `needed` field is none. A
    field that is None is left out, unless it is `kept`.
    """

    name: str
    read: Callable[[Fields, str], JsonValue] = Fields.text
    wire: str = ""
    write: Callable[[JsonValue], JsonValue] | None = None
    needed: bool = False
    kept: bool = False

    @property
    def json_name(self) -> str:
        return self.wire or re.sub("_([a-z])", lambda letter: letter[1].upper(), self.name)


class Shape(Generic[R]):
    """The fields of one kind of record. With `extra`, unknown fields are in its attribute of this name."""

    def __init__(self, kind: Callable[..., R], *fields: WireField, extra: bool = True) -> None:
        self.kind = kind
        self._fields = [(field.json_name, field) for field in fields]
        self._extra = extra

    def decode(self, fields: Fields) -> R | None:
        """Return the record in these fields; None if a needed one is missing."""
        found = {}
        for name, field in self._fields:
            found[field.name] = item = field.read(fields, name)
            if item is None and field.needed:
                return None
        return self.kind(**found, extra=fields.rest) if self._extra else self.kind(**found)

    def encode(self, record: object) -> JsonObject:
        encoded: JsonObject = {}
        for name, field in self._fields:
            item = getattr(record, field.name)
            if item is not None or field.kept:
                encoded[name] = field.write(item) if field.write else item
        return encoded | (dict(getattr(record, "extra", NO_EXTRA)) if self._extra else {})

    def nested(self, fields: Fields, name: str) -> R | None:
        """Return the record in the object that a field holds."""
        record = fields.object(name)
        return None if record is None else self.decode(Fields(record))


class Shapes(Generic[R]):
    """The shapes of a union by the value of the field `tag`."""

    def __init__(self, tag: str, shapes: Mapping[str, Shape[R]]) -> None:
        self._tag = tag
        self._shapes = shapes
        self.kinds: dict[object, str] = {shape.kind: kind for kind, shape in shapes.items()}

    def decode(self, record: Extra, *common: str) -> R | None:
        """Return the record in a JSON object, but for the fields that all records have in common."""
        kind = record.get(self._tag)
        shape = self._shapes.get(kind) if isinstance(kind, str) else None
        return shape.decode(Fields(record, self._tag, *common)) if shape else None

    def encode(self, record: object) -> JsonObject:
        kind = self.kinds[type(record)]
        return {self._tag: kind, **self._shapes[kind].encode(record)}
