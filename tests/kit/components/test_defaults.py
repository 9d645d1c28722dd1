"""Default rendering of tools, and the messages for partial and failed results."""

from typing import Any

import pytest

from tildone.base import replace
from tildone.plan.text.styles import Role, plain
from tildone.run.kit.components import Component, RenderOptions, Text, ToolCallHeader
from tildone.run.kit.defaults import (
    PREVIEW_LINES,
    call_component,
    default_call,
    default_result,
    error_message,
    partial_message,
    result_component,
)
from tildone.run.kit.definition import (
    ImageContent,
    TextContent,
    ToolDefinition,
    ToolResult,
    draw,
    error_result,
    markup,
    text_result,
)


async def nothing(*_five: object) -> ToolResult:
    return text_result("")


TOOL = ToolDefinition(
    "process",
    "Process",
    "Manage processes.",
    {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["start", "list"]},
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "name": {"type": "string"},
            "command": {"type": "string"},
            "limit": {"type": "number"},
            "odd": True,
        },
    },
    nothing,
)
LONG = "\n".join(f"line {number}" for number in range(PREVIEW_LINES + 2))


def lines(component: Component) -> list[str]:
    return [plain(line) for line in draw(component, 100)]


def test_a_call_shows_its_action_main_argument_and_options() -> None:
    args = {"limit": 10, "name": "backend", "action": "start", "mode": "fast"}

    assert lines(default_call(TOOL, args)) == ['Process: start "backend" mode=fast limit=10']


def test_a_call_may_name_all_its_arguments() -> None:
    args = {"action": "start", "name": "backend"}

    assert lines(default_call(TOOL, args, name_all=True)) == ["Process: start name=backend"]


def test_arguments_are_in_the_order_of_the_schema() -> None:
    """Whatever the order of the call; unknown arguments come last, by name."""
    args = {"name": "a", "odd": "x", "limit": 1, "zeta": 1, "alpha": 2}

    assert default_call(TOOL, args) == default_call(TOOL, dict(reversed(args.items())))
    assert lines(default_call(TOOL, args)) == ['Process: "a" limit=1 odd=x alpha=2 zeta=1']


def test_long_arguments_are_on_lines_below() -> None:
    args = {"name": "build", "command": "make all && make install DESTDIR=/srv", "odd": "one\ntwo"}

    assert lines(default_call(TOOL, args)) == [
        'Process: "build"',
        "  command: make all && make install DESTDIR=/srv",
        "  odd: one",
        "       two",
    ]


def test_a_very_long_argument_is_truncated() -> None:
    [first, *more] = lines(default_call(TOOL, {"command": "x\n" * 20}))

    assert first == "Process"
    assert len(more) == PREVIEW_LINES
    assert more[-1].endswith("x … (24 B more)")


@pytest.mark.parametrize(
    ("arg", "shown"),
    [
        (True, "true"),
        (False, "false"),
        (None, "null"),
        (2.0, "2"),
        (2.5, "2.5"),
        ([0, 5.0], "[0, 5]"),
        ([], "[]"),
        ([{"text": "a"}], "1 item"),
        ([[1], [2]], "2 items"),
        ({"a": 1, "b": 2}, "2 fields"),
        ("", ""),
    ],
)
def test_options_are_formatted_by_type(arg: object, shown: str) -> None:
    assert default_call(TOOL, {"odd": arg}) == ToolCallHeader("Process", option_args=(f"odd={shown}",))


@pytest.mark.parametrize("args", [None, {}, "{", []])
def test_incomplete_arguments_are_rendered(args: Any) -> None:
    assert lines(default_call(TOOL, args)) == ["Process"]


def test_a_result_shows_its_content() -> None:
    result = ToolResult((TextContent("one\n"), ImageContent("QUJD" * 512, "image/png")), {})

    assert lines(default_result(result)) == ["one", "", "[image/png, 1.5 KB]"]
    assert markup(default_result(text_result("a\n"))) == "<toolOutput>a</toolOutput>"


def test_a_long_result_is_collapsed_with_a_hint_to_expand_it() -> None:
    collapsed = lines(default_result(text_result(LONG)))
    expanded = lines(default_result(text_result(LONG), RenderOptions(expanded=True)))

    assert collapsed == [*expanded[:PREVIEW_LINES], "2 more lines | ctrl+o to expand"]
    assert expanded == LONG.split("\n")


def test_an_empty_result_says_so() -> None:
    assert default_result(text_result("\n")) == Text("No output", Role.DIM)
    assert default_result(ToolResult((), {})) == Text("No output", Role.DIM)


def test_a_partial_result_is_a_constant_message() -> None:
    """Streamed text is not echoed."""
    some, more = (default_result(text_result(text), RenderOptions(is_partial=True), "Process") for text in ("a", "ab"))

    assert some == more == partial_message("Process") == Text("Process: working...", Role.MUTED)
    assert partial_message("Process", "starting") == Text("Process: starting...", Role.MUTED)


def test_a_failed_call_shows_its_error() -> None:
    """Whether the host or the result reports the failure."""
    by_host = default_result(text_result("No such process"), RenderOptions(is_error=True))
    by_itself = default_result(error_result("No such process"))

    assert by_host == by_itself == error_message(error_result("No such process")) == Text("No such process", Role.ERROR)


def test_a_failure_without_text_has_a_default_message() -> None:
    assert error_message(ToolResult((), {})) == Text("Operation failed", Role.ERROR)
    assert error_message(ToolResult((), {}), "Could not list processes") == Text("Could not list processes", Role.ERROR)


def test_a_tool_with_renderers_uses_them() -> None:
    own = replace(TOOL, render_call=lambda args: Text(args["name"]), render_result=lambda result, _: Text(result.text))

    assert call_component(own, {"name": "a"}) == Text("a")
    assert result_component(own, text_result("b"), RenderOptions()) == Text("b")


def test_a_renderer_that_returns_none_selects_the_default() -> None:
    own = replace(TOOL, render_call=lambda _: None, render_result=lambda _result, _options: None)

    for tool in (own, TOOL):
        assert call_component(tool, {"name": "a"}) == default_call(TOOL, {"name": "a"})
        assert result_component(tool, text_result(LONG), RenderOptions()) == default_result(text_result(LONG))
        assert result_component(tool, text_result(""), RenderOptions(is_partial=True)) == partial_message("Process")
