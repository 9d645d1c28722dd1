"""Rows of cells: highlights in every palette, and as wide as the widget."""

import pytest

from tildone.plan.text.styles import Role, Span
from tildone.screens.transcript.blocks import Highlight, line_strip
from tildone.screens.widgets.keys import PALETTES


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("kind", Highlight)
def test_highlighted_characters_differ_from_the_others_in_every_palette(theme: str, kind: Highlight) -> None:
    strip = line_strip((Span("one "), Span("two", Role.TOOL_OUTPUT)), 20, PALETTES[theme], marked=[(2, 6, kind)])
    styles = {segment.text: segment.style for segment in strip}

    assert [segment.text for segment in strip][2:6] == ["on", "e ", "tw", "o"]
    assert styles["on"] != styles["e "]
    assert styles["tw"] != styles["o"]
    assert strip.cell_length == 20


def test_the_cursor_is_in_the_first_column() -> None:
    assert line_strip((Span("a"),), 5, PALETTES["dark"], cursor=True).text == "▎ a  "
