"""JSON objects as pi exchanges them, and a reader for their known fields.

Encoding a decoded record restores it. A field that is unknown, or whose value has an unexpected type, stays in
`Fields.rest` and is written back unchanged. A known field that is absent is read as None, and None is not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonValue = Any
"""A JSON value that is passed through unread: tool arguments, details, an extension's data."""

JsonObject = dict[str, JsonValue]
Extra = Mapping[str, JsonValue]

NO_EXTRA: Extra = {}


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
        """Take an object."""
        return self.rest.pop(name) if isinstance(self.rest.get(name), dict) else None

    def anything(self, name: str) -> JsonValue:
        """Take a value of any type."""
        return self.rest.pop(name, None)

    def not_null(self, name: str) -> JsonValue:
        """Take a value of any type other than null."""
        return self.rest.pop(name) if self.rest.get(name) is not None else None


def present(**fields: JsonValue) -> JsonObject:
    """Return the fields whose value is not None."""
    return {name: value for name, value in fields.items() if value is not None}
