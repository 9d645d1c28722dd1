"""Limits and invariants, as data."""

from __future__ import annotations

from enum import Enum

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

ASTRAL = "\U00010000"


class Focus(Enum):
    """How many tasks may be in progress at once."""

    ANY = "any number"
    AT_MOST_ONE = "none or one"
    EXACTLY_ONE = "one, and the first pending task is promoted when there is none"


class Unit(Enum):
    """What the length of a text is counted in."""

    CODE_POINT = "code point"
    UTF16 = "UTF-16 code unit"


@value
class Rules:
    """What a plan has to keep to, and what becomes of a batch with a bad step in it.

    Where it is `numbered`, every task gets a number of its own; a plan that has numbers keeps them under any rules.
    """

    focus: Focus = Focus.ANY
    max_tasks: int | None = None
    max_text: int | None = None
    text_unit: Unit = Unit.CODE_POINT
    unique_texts: bool = False
    atomic: bool = True
    numbered: bool = False


def length(text: str, unit: Unit) -> int:
    """How long `text` is, counted in `unit`."""
    if unit is Unit.CODE_POINT:
        return len(text)
    return len(text) + sum(char >= ASTRAL for char in text)


def first_too_long(texts: Iterable[str], rules: Rules) -> int | None:
    """The position of the first text over the limit."""
    limit = rules.max_text
    if limit is None:
        return None
    for index, text in enumerate(texts):
        if len(text) * 2 > limit and length(text, rules.text_unit) > limit:
            return index
    return None
