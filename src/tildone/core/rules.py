"""Rules: the limits and invariants of a plan, as data."""

from __future__ import annotations

from enum import Enum

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_SUPPLEMENTARY = "\U00010000"
"""The first character that takes two UTF-16 code units."""


class Focus(Enum):
    """How many tasks may be in progress at once."""

    ANY = "any number"
    AT_MOST_ONE = "none or one"
    EXACTLY_ONE = "one, and the first pending task is promoted when there is none"


class Unit(Enum):
    """The unit in which text length is measured."""

    CODE_POINT = "code point"
    UTF16 = "UTF-16 code unit"


@value
class Rules:
    """The limits and invariants of a plan. `atomic` means that one fault discards the whole batch."""

    focus: Focus = Focus.ANY
    max_tasks: int | None = None
    max_text: int | None = None
    text_unit: Unit = Unit.CODE_POINT
    unique_texts: bool = False
    atomic: bool = True


def length(text: str, unit: Unit) -> int:
    """Return the length of `text` in `unit`."""
    if unit is Unit.CODE_POINT:
        return len(text)
    return len(text) + sum(char >= FIRST_SUPPLEMENTARY for char in text)


def first_too_long(texts: Iterable[str], rules: Rules) -> int | None:
    """Return the index of the first text that exceeds the limit; None if none does."""
    limit = rules.max_text
    if limit is None:
        return None
    for index, text in enumerate(texts):
        if len(text) * 2 > limit and length(text, rules.text_unit) > limit:
            return index
    return None
