"""A row: what components are laid out in before anything is made to fit a terminal."""

from __future__ import annotations

from tildone.kit.theme import Span
from tildone.value import value

Spans = tuple[Span, ...]


@value
class Row:
    """A line, or as many as its spans have.

    `lead` stands before the first; those below are indented as far, or led the same way where it `repeats`.
    """

    body: Spans = ()
    lead: Spans = ()
    repeats: bool = False
