"""The sections on rendering of the guide for tools: its examples, with the renderers and components of this project."""

from collections.abc import Callable
from typing import Any

import pytest

from tildone.base import replace
from tildone.plan.text.amounts import format_size
from tildone.plan.text.styles import THEME, Theme, plain
from tildone.run.kit.components import (
    Component,
    Container,
    Field,
    Item,
    RenderContext,
    RenderOptions,
    Text,
    ToolBody,
    ToolCallHeader,
    ToolFooter,
)
from tildone.run.kit.defaults import call_component, result_component
from tildone.run.kit.definition import ToolDefinition, ToolResult, draw, error_result, markup, text_result

COLLAPSED, EXPANDED, PARTIAL = RenderOptions(), RenderOptions(expanded=True), RenderOptions(is_partial=True)


async def nothing(*_five: object) -> ToolResult:
    return text_result("")


TOOL = ToolDefinition("my_tool", "My Tool", "Searches.", {"type": "object", "properties": {}}, nothing)


def lines(component: Component) -> list[str]:
    return [plain(line) for line in draw(component, 100)]


def render_call(args: dict[str, Any], theme: Theme) -> Component:
    return ToolCallHeader(
        tool_name="My Tool",
        action="search",
        main_arg=theme.fg("accent", f'"{args["query"]}"'),
        option_args=[f"limit={args.get('limit', 10)}"],
        long_args=[],
        show_colon=True,
    )


def render_result(result: ToolResult, options: RenderOptions, theme: Theme) -> Component:
    if options.is_partial:
        return Text(theme.fg("muted", "MyTool: fetching..."))
    if "results" not in result.details:
        return Text(theme.fg("error", result.text or "Operation failed"))
    items = result.details["results"]
    fields: list[Field | Component] = [
        Field("Results", f"{len(items)} items", show_collapsed=True),
        *(Text(item) for item in items),
    ]
    footer_items = [Item("count", f"{len(items)}")] if items else []
    return ToolBody(
        fields=fields,
        expanded=options.expanded,
        footer=ToolFooter(items=footer_items, separator=" | ") if footer_items else None,
        include_spacer_before_footer=len(fields) > 0,
    )


def fetch_result(result: ToolResult, options: RenderOptions, theme: Theme) -> Component:
    """Render the result of the section on truncated output."""
    if options.is_partial:
        return Text(theme.fg("muted", "WebFetch: fetching..."))
    details = result.details
    if "content" not in details:
        return Text(theme.fg("error", result.text or "Fetch failed"))
    container = Container()
    fields = [
        Field("URL", details["url"], show_collapsed=True),
        Field("Size", format_size(details["totalBytes"]), show_collapsed=True),
    ]
    container.add_child(ToolBody(fields, expanded=options.expanded))
    footer_items = []
    if details["truncated"]:
        footer_items += [
            Item("showing", f"{details['outputLines']}/{details['totalLines']} lines"),
            Item("full output", details["tempFile"]),
        ]
    else:
        footer_items.append(Item("lines", f"{details['totalLines']}"))
    container.add_child(ToolFooter(footer_items, separator=" | ", include_spacer_before_footer=len(fields) > 0))
    return container


def test_render_call_signature_takes_the_arguments_and_the_theme() -> None:
    tool = replace(TOOL, render_call=render_call)

    assert lines(call_component(tool, {"query": "yaks"})) == ['My Tool: search "yaks" limit=10']


def test_render_call_signature_may_take_a_context_too() -> None:
    context = RenderContext({"n": 1}, {"seen": 2}, "call_1", "/p")

    def of_context(args: Any, theme: Theme, context: RenderContext) -> Component:
        assert (args, theme) == (context.args, context.theme)
        return Text(f"{context.tool_call_id} in {context.cwd}, seen {context.state['seen']}")

    tool = replace(TOOL, render_call=of_context)

    assert lines(call_component(tool, {"n": 1}, context)) == ["call_1 in /p, seen 2"]


SHORTER: dict[str, Callable[..., Component]] = {
    "arguments": lambda args: Text(args["n"]),
    "theme": lambda args, _theme: Text(args["n"]),
    "context": lambda args, _theme, _context: Text(args["n"]),
    "all of them": lambda *given: Text(f"{given[0]['n']}{'' if len(given) == 3 else len(given)}"),
    "a bound value": lambda _args, prefix="1": Text(prefix),
    "an optional theme": lambda _args, theme=None: Text("1" if theme is THEME else ""),
    "an optional context": lambda _args, _theme=None, _context=None: Text("1" if _theme and _context else ""),
    "a keyword": lambda _args, *, prefix="1": Text(prefix),
}


@pytest.mark.parametrize("render", SHORTER.values(), ids=SHORTER)
def test_render_call_signature_may_be_shorter(render: Callable[..., Component]) -> None:
    """A renderer is given as much as it takes. What the tool has bound to a parameter stays."""
    assert lines(call_component(replace(TOOL, render_call=render), {"n": "1"})) == ["1"]


def test_render_result_signature_takes_the_result_the_options_and_the_theme() -> None:
    tool = replace(TOOL, render_result=render_result)
    result = text_result("[]", {"results": ["a", "b"]})

    assert lines(result_component(tool, result, COLLAPSED)) == ["Results: 2 items", "", "count: 2"]
    assert lines(result_component(tool, result, EXPANDED)) == ["Results: 2 items", "a", "b", "", "count: 2"]


@pytest.mark.parametrize(
    "options",
    [COLLAPSED, EXPANDED, PARTIAL, RenderOptions(is_error=True)],
    ids=["collapsed", "expanded", "partial", "failed"],
)
def test_render_result_signature_may_take_a_context_too(options: RenderOptions) -> None:
    seen: list[RenderContext] = []

    def of_context(_result: ToolResult, given: RenderOptions, theme: Theme, context: RenderContext) -> Component:
        assert (given, theme) == (options, context.theme)
        seen.append(context)
        return Text("")

    result_component(replace(TOOL, render_result=of_context), text_result(""), options)

    [context] = seen
    assert (context.expanded, context.is_partial, context.is_error) == (
        options.expanded,
        options.is_partial,
        options.is_error,
    )
    context.invalidate()
    assert context.state == {}


@pytest.mark.parametrize(
    "render",
    [
        lambda result, _options: Text(result.text),
        lambda result, _options, _theme: Text(result.text),
        lambda result, _options, _theme, _context: Text(result.text),
    ],
    ids=["options", "theme", "context"],
)
def test_render_result_signature_may_be_shorter(render: Callable[..., Component]) -> None:
    tool = replace(TOOL, render_result=render)

    assert lines(result_component(tool, text_result("one"), COLLAPSED)) == ["one"]


def test_render_result_signature_returns_a_component() -> None:
    tool = replace(TOOL, render_result=lambda *_: "text")

    with pytest.raises(TypeError, match=r"^a renderer returns a component or None, not str$"):
        result_component(tool, text_result(""), COLLAPSED)


def test_error_rendering_in_render_result_checks_for_a_missing_field() -> None:
    tool = replace(TOOL, render_result=render_result)
    failed = error_result("No results found. Try a different query.")

    shown = result_component(tool, failed, COLLAPSED)

    assert markup(shown) == "<error>No results found. Try a different query.</error>"
    assert markup(render_result(ToolResult((), {}), COLLAPSED, THEME)) == "<error>Operation failed</error>"


def test_error_rendering_in_render_result_may_ask_the_context() -> None:
    def of_context(result: ToolResult, _options: RenderOptions, theme: Theme, context: RenderContext) -> Component:
        return Text(theme.fg("error", result.text) if context.is_error else "fine")

    tool = replace(TOOL, render_result=of_context)

    assert markup(result_component(tool, error_result("gone"), RenderOptions(is_error=True))) == "<error>gone</error>"
    assert markup(result_component(tool, text_result("here"), COLLAPSED)) == "fine"


@pytest.mark.parametrize(
    ("truncated", "footer"),
    [(True, "showing: 3/5000 lines | full output: /tmp/x"), (False, "lines: 5000")],
)
def test_rendering_truncated_output_says_what_is_shown_and_where_the_rest_is(truncated: bool, footer: str) -> None:  # noqa: FBT001  a parameter
    details = {
        "content": "a",
        "url": "https://example.org",
        "truncated": truncated,
        "totalLines": 5000,
        "totalBytes": 48_890,
        "outputLines": 3,
        "tempFile": "/tmp/x",  # noqa: S108  not opened
    }
    tool = replace(TOOL, render_result=fetch_result)

    shown = lines(result_component(tool, text_result("a", details), COLLAPSED))

    assert shown == ["URL: https://example.org", "Size: 47.7 KB", "", footer]
    assert lines(result_component(tool, error_result(""), COLLAPSED)) == ["Operation failed"]
    assert lines(result_component(tool, text_result(""), PARTIAL)) == ["WebFetch: fetching..."]
