"""JSON objects as pi exchanges them, and a reader that takes out the fields it understands.

Every decoder of this package keeps what it does not understand: a field of another type than expected, or one that a
newer pi has added, stays in `Fields.rest`, and the encoder writes it back unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonValue = Any
"""A value of JSON that is passed through: tool arguments, details, an extension's data."""

JsonObject = dict[str, JsonValue]
Extra = Mapping[str, JsonValue]

NO_EXTRA: Extra = {}


class Fields:
    """The fields of one JSON object. Each accessor removes a field from `rest` if it has the right type."""

    def __init__(self, record: Extra, *known: str) -> None:
        self.rest = {name: held for name, held in record.items() if name not in known}

    def text(self, name: str) -> str | None:
        """A string."""
        return self.rest.pop(name) if isinstance(self.rest.get(name), str) else None

    def number(self, name: str) -> int | None:
        """A number, whole or not, as it was written."""
        held = self.rest.get(name)
        return self.rest.pop(name) if isinstance(held, int | float) and not isinstance(held, bool) else None

    def flag(self, name: str) -> bool:
        """A boolean; False where there is none."""
        return self.rest.pop(name) if isinstance(self.rest.get(name), bool) else False

    def object(self, name: str) -> JsonObject | None:
        """A nested object."""
        return self.rest.pop(name) if isinstance(self.rest.get(name), dict) else None

    def anything(self, name: str) -> JsonValue:
        """A value of any type; None where there is none."""
        return self.rest.pop(name, None)


def present(**fields: JsonValue) -> JsonObject:
    """The fields that are not None."""
    return {name: held for name, held in fields.items() if held is not None}
