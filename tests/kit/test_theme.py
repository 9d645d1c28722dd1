"""Styled text, and the three ways to write it out."""

import pytest

from tildone.kit.theme import LINE_BREAK, Role, Span, ansi, markup, plain

STYLED = (
    Span("● ", Role.WARNING),
    Span((Span("☑ "), Span("old", strike=True)), Role.SUCCESS),
    LINE_BREAK,
    Span("title", Role.TOOL_TITLE, bold=True),
    Span(" end"),
)


def show_breaks(text: str) -> str:
    return text.replace("\n", "⏎").replace("\x1b", "␛")


def test_plain_text_has_no_style() -> None:
    """It is the text as it is."""
    assert plain(STYLED) == "● ☑ old\ntitle end"


def test_markup_puts_the_colour_outermost_and_strikethrough_innermost() -> None:
    """The text itself is not escaped."""
    every_trait = Span("a<b>", Role.DIM, bold=True, italic=True, strike=True)

    assert markup([every_trait]) == ("<dim><bold><italic><strikethrough>a<b></strikethrough></italic></bold></dim>")


def test_markup_keeps_one_colour_around_parts_that_differ() -> None:
    """And two spans of one colour apart."""
    assert markup(STYLED[1:2]) == "<success>☑ <strikethrough>old</strikethrough></success>"
    assert markup([Span("a", Role.DIM), Span("b", Role.DIM)]) == "<dim>a</dim><dim>b</dim>"


def test_markup_ends_bold_and_italic_with_the_line() -> None:
    """Strikethrough and colour go on."""
    text = Span("a\nb", Role.ACCENT, bold=True, strike=True)

    assert markup([text]) == "<accent><bold><strikethrough>a</bold>\n<bold>b</strikethrough></bold></accent>"
    assert markup([Span("a\nb", italic=True)]) == "<italic>a</italic>\n<italic>b</italic>"


def test_a_terminal_gets_escape_sequences_that_end_with_each_piece() -> None:
    """A part has the traits of its whole, too."""
    assert ansi(STYLED, color=True, safe=show_breaks) == (
        "\x1b[33m● \x1b[0m\x1b[32m☑ \x1b[0m\x1b[32;9mold\x1b[0m\n\x1b[1mtitle\x1b[0m end"
    )


def test_a_terminal_without_colour_gets_no_escape_sequence() -> None:
    """But the same text."""
    assert ansi(STYLED, color=False, safe=show_breaks) == "● ☑ old\ntitle end"


@pytest.mark.parametrize("color", [True, False])
def test_no_text_reaches_a_terminal_unless_it_was_made_safe(*, color: bool) -> None:
    """A break in a text is shown, unless the span says that its breaks are lines."""
    hostile = "x\x1b[2J\ny"

    shown = ansi([Span((Span(hostile, Role.ERROR),), bold=True)], color=color, safe=show_breaks)
    lines = ansi([Span(hostile, italic=True, lines=True)], color=color, safe=show_breaks)

    assert "x␛[2J⏎y" in shown
    assert "\n" not in shown
    assert "x␛[2J" in lines.split("\n")[0]
    assert len(lines.split("\n")) == 2


def test_an_empty_line_gets_no_escape_sequence() -> None:
    """There is nothing to paint."""
    assert ansi([Span("a\n\nb", Role.DIM, lines=True)], color=True, safe=str) == ("\x1b[2ma\x1b[0m\n\n\x1b[2mb\x1b[0m")


@pytest.mark.parametrize("role", Role)
def test_every_role_can_be_drawn(role: Role) -> None:
    """Those that are plain text stay without escape sequences."""
    drawn = ansi([Span("x", role)], color=True, safe=str)

    assert drawn == "x" or (drawn.startswith("\x1b[") and drawn.endswith("mx\x1b[0m"))


def test_spans_are_values() -> None:
    """Equal if all is equal, usable as keys, never changed."""
    assert Span("a", Role.DIM) == Span("a", Role.DIM)
    assert Span("a", Role.DIM) != Span("a", Role.TEXT)
    assert Span("a") != "a"  # type: ignore[comparison-overlap]  # what the test is about
    assert len({Span("a"), Span("a"), Span("a", bold=True)}) == 2
    with pytest.raises(AttributeError, match="frozen"):
        Span("a").text = "b"  # type: ignore[misc]  # what the test is about
