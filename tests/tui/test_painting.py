"""Rows of cells: as wide as the widget, and never more than text."""

from itertools import product

from tildone.plan.text.styles import Role, Span, plain
from tildone.screens.widgets.keys import PALETTES, padded, painted, spread
from tildone.screens.widgets.rows import Line

DARK = PALETTES["dark"]


def test_whatever_a_line_contains_is_drawn_as_text() -> None:
    """The last place before the terminal, should a view forget it."""
    strip = painted((Span("\x1b[2J[b]\n"), Span((Span("\x9b"),))), 20, DARK, DARK.background)

    assert strip.text == "␛[2J[b]⏎<U+009B>    "[: len(strip.text)]
    assert strip.cell_length == 20


def test_a_padded_or_spread_line_has_the_width_of_its_room() -> None:
    for text, columns in product(["", "abc", "漢字漢字漢字", "x" * 40], range(12)):
        line: Line = (Span(text, Role.DIM),)
        strip = painted(spread(line, (Span("right"),), columns), columns, DARK, DARK.bar)

        assert (text, strip.cell_length) == (text, columns)
        assert len(plain(padded(line, columns))) <= columns, text
