"""The components and the theme that the guide for tools names, as its examples use them."""

import pytest

from tildone.base.keys import NO_KEYS
from tildone.plan.text.styles import THEME, Role, Span, ansi, plain
from tildone.run.kit.components import (
    Component,
    Container,
    Field,
    Item,
    KeyHint,
    Markdown,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
)
from tildone.run.kit.definition import draw, markup


def lines(component: Component) -> list[str]:
    return [plain(line) for line in draw(component, 100)]


def test_render_result_guidelines_a_container_grows() -> None:
    container = Container()
    container.add_child(Text("a"))
    container.add_child(ToolFooter([Item("total", "1")], include_spacer_before_footer=True))

    assert lines(container) == ["a", "", "total: 1"]
    assert container == Container([Text("a"), ToolFooter([Item("total", "1")], include_spacer_before_footer=True)])
    assert container != Container()
    assert repr(Container([Text("a")])).startswith("Container([Text(content='a'")


def test_render_result_guidelines_markdown_has_a_colour() -> None:
    assert markup(Markdown("**a** b", Role.TOOL_OUTPUT)) == "<toolOutput><bold>a</bold> b</toolOutput>"


def test_render_result_guidelines_a_key_hint_names_the_key_of_the_screen_or_is_omitted() -> None:
    footer = ToolFooter([Item("total", "9"), Item("", KeyHint("app.tools.expand", "to expand"))])

    assert lines(footer) == ["total: 9 | ctrl+o to expand"]
    assert [plain(line) for line in draw(footer, 80, keys={"app.tools.expand": "f2"})] == ["total: 9 | f2 to expand"]
    assert [plain(line) for line in draw(footer, 80, keys=NO_KEYS)] == ["total: 9"]


def test_custom_rendering_styles_nest() -> None:
    theme = THEME

    assert markup(Text(theme.fg("accent", theme.bold("a")))) == "<accent><bold>a</bold></accent>"
    assert markup(Text((theme.italic("a"), " ", theme.strikethrough("b")))) == (
        "<italic>a</italic> <strikethrough>b</strikethrough>"
    )
    assert theme.fg(Role.ERROR, "x") == theme.fg("error", "x")


def test_custom_rendering_components_take_styled_text() -> None:
    gone = THEME.fg("error", "gone")

    assert markup(ToolBody([Field("State", gone, show_collapsed=True)])) == "<muted>State: </muted><error>gone</error>"
    assert markup(ToolFooter([Item("", gone)])) == "<muted><error>gone</error></muted>"
    assert markup(ToolCallHeader("T", option_args=[gone])).endswith(" <muted><error>gone</error></muted>")


def test_custom_rendering_an_unknown_colour_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"^Unknown theme color 'pink'; known are toolTitle, .*, error$"):
        THEME.fg("pink", "x")


def test_custom_rendering_line_breaks_of_a_styled_text_are_kept_and_control_characters_are_not() -> None:
    styled = THEME.fg("error", THEME.bold("a\x1b[2J\nb"))

    drawn = draw(Text(styled), 80)

    assert [plain(line) for line in drawn] == ["a\ufffd[2J", "b"]
    assert drawn[1] == [Span("b", Role.ERROR, bold=True)]
    assert ansi(drawn[1], color=True, safe=str) == "\x1b[31;1mb\x1b[0m"
