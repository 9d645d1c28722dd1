"""Rows: the result of layout, before wrapping."""

from __future__ import annotations

from tildone.kit.theme import Span
from tildone.value import value

Spans = tuple[Span, ...]


@value
class Row:
    """One or more lines.

    `lead` precedes the first line; the following lines are indented to its width or, if it `repeats`, preceded by it.
    `wide` text, such as code, is read in columns: it uses the whole width, where prose is kept narrow.
    """

    body: Spans = ()
    lead: Spans = ()
    repeats: bool = False
    wide: bool = False


@value
class Table:
    """A table. Every row has as many cells as the header; `aligns` has `<`, `>` or `^` for each column."""

    header: tuple[Spans, ...]
    body: tuple[tuple[Spans, ...], ...]
    aligns: str
