"""Styled text as plain text, markup and ANSI escape sequences."""

import pytest

from tildone.plan.text.styles import LINE_BREAK, Role, Span, ansi, markup, plain

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
    assert plain(STYLED) == "● ☑ old\ntitle end"


def test_markup_puts_the_colour_outermost_and_strikethrough_innermost() -> None:
    """The text itself is not escaped."""
    every_trait = Span("a<b>", Role.DIM, bold=True, italic=True, strike=True)

    assert markup([every_trait]) == ("<dim><bold><italic><strikethrough>a<b></strikethrough></italic></bold></dim>")


def test_markup_has_one_colour_tag_around_nested_spans() -> None:
    """Adjacent spans of one colour have a tag each."""
    assert markup(STYLED[1:2]) == "<success>☑ <strikethrough>old</strikethrough></success>"
    assert markup([Span("a", Role.DIM), Span("b", Role.DIM)]) == "<dim>a</dim><dim>b</dim>"


def test_markup_closes_bold_and_italic_at_line_ends() -> None:
    """Strikethrough and colour span lines."""
    text = Span("a\nb", Role.ACCENT, bold=True, strike=True)

    assert markup([text]) == "<accent><bold><strikethrough>a</bold>\n<bold>b</strikethrough></bold></accent>"
    assert markup([Span("a\nb", italic=True)]) == "<italic>a</italic>\n<italic>b</italic>"


def test_each_piece_of_ansi_text_resets_its_style() -> None:
    """Nested spans inherit the style of the enclosing one."""
    assert ansi(STYLED, color=True, safe=show_breaks) == (
        "\x1b[33m● \x1b[0m\x1b[32m☑ \x1b[0m\x1b[32;9mold\x1b[0m\n\x1b[1mtitle\x1b[0m end"
    )


def test_there_are_no_escape_sequences_without_colour() -> None:
    """The text is the same."""
    assert ansi(STYLED, color=False, safe=show_breaks) == "● ☑ old\ntitle end"


@pytest.mark.parametrize("color", [True, False])
def test_all_ansi_text_is_sanitized(*, color: bool) -> None:
    """A line break is kept only in spans with `lines`."""
    hostile = "x\x1b[2J\ny"

    shown = ansi([Span((Span(hostile, Role.ERROR),), bold=True)], color=color, safe=show_breaks)
    lines = ansi([Span(hostile, italic=True, lines=True)], color=color, safe=show_breaks)

    assert "x␛[2J⏎y" in shown
    assert "\n" not in shown
    assert "x␛[2J" in lines.split("\n")[0]
    assert len(lines.split("\n")) == 2


def test_an_empty_line_gets_no_escape_sequence() -> None:
    assert ansi([Span("a\n\nb", Role.DIM, lines=True)], color=True, safe=str) == ("\x1b[2ma\x1b[0m\n\n\x1b[2mb\x1b[0m")


@pytest.mark.parametrize("role", Role)
def test_every_role_can_be_drawn(role: Role) -> None:
    """Roles without a colour have no escape sequences."""
    drawn = ansi([Span("x", role)], color=True, safe=str)

    assert drawn == "x" or (drawn.startswith("\x1b[") and drawn.endswith("mx\x1b[0m"))


def test_spans_are_values() -> None:
    """Equal by content, hashable and immutable."""
    assert Span("a", Role.DIM) == Span("a", Role.DIM)
    assert Span("a", Role.DIM) != Span("a", Role.TEXT)
    assert Span("a") != "a"  # type: ignore[comparison-overlap]  # what the test is about
    assert len({Span("a"), Span("a"), Span("a", bold=True)}) == 2
    with pytest.raises(AttributeError, match="frozen"):
        Span("a").text = "b"  # type: ignore[misc]  # what the test is about


@pytest.mark.parametrize("role", [Role.MUTED, Role.DIM])
def test_quiet_text_is_faint_and_never_bright_black(role: Role) -> None:
    """Bright black is the background of some terminals, where text in it cannot be read."""
    assert ansi([Span("x", role)], color=True, safe=str) == "\x1b[2mx\x1b[0m"
