"""Reading the records that a store keeps beside the log: JSON text in ASCII, so that any text survives.

Keys that a reader does not know are ignored, and missing ones have their defaults, so fields can be added later.
"""

from __future__ import annotations

from tildone.log.json_scanner import parse
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    R = TypeVar("R")
    FieldTypes = Mapping[str, type | tuple[type, ...]]


def decode_record(kind: Callable[..., R], types: FieldTypes, text: object) -> R | None:
    """Return the record of a JSON text; None if the text is something else, as only a damaged store has it."""
    try:
        found = parse(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    fields = {name: _frozen(found[name]) for name in types if found.get(name) is not None}
    try:
        return kind(**fields) if all(isinstance(fields[name], types[name]) for name in fields) else None
    except TypeError:
        # A field without a default is missing.
        return None


def _frozen(value: Any) -> Any:
    return tuple(map(str, value)) if isinstance(value, list) else value
