"""Rows: the result of layout, before wrapping."""

from __future__ import annotations

from tildone.kit.theme import Span
from tildone.value import value

Spans = tuple[Span, ...]


@value
class Row:
    """One or more lines.

    `lead` precedes the first line; the following lines are indented to its width or, if it `repeats`, preceded by it.
    """

    body: Spans = ()
    lead: Spans = ()
    repeats: bool = False
