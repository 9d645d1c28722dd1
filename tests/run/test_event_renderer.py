"""Calls of a host's tools as they are printed, with what their renderers are told."""

import io
from typing import Any

from tests.host.test_host import Script, host_with, tool
from tildone.cli.run.lines import EventRenderer, LineOutput
from tildone.plan.text.styles import Theme
from tildone.run.events import BlockDelta, BlockEnd, BlockKind, MessageUpdate, ToolExecutionEnd, ToolExecutionStart
from tildone.run.kit.components import Component, RenderContext, RenderOptions, Text
from tildone.run.kit.definition import OnUpdate, ToolDefinition, ToolResult, text_result
from tildone.run.messages import TextBlock, Usage


class Sheet(LineOutput):
    """What was printed, 60 columns wide."""

    columns = 60

    def __init__(self) -> None:
        self._text = io.StringIO()
        super().__init__(self._text)

    @property
    def lines(self) -> list[str]:
        return self._text.getvalue().split("\n")[:-1]


async def shown(definition: ToolDefinition, *calls: Any) -> tuple[Sheet, EventRenderer]:
    """Run a host whose model makes these calls."""
    host, _ = host_with(Script([(definition.name, args) for args in calls]), definition)
    sheet = Sheet()
    renderer = EventRenderer(host, sheet)
    host.listen(renderer.render)
    await host.prompt("Go")
    await host.settled()
    return sheet, renderer


async def stream(_params: Any, _signal: Any, on_update: OnUpdate) -> ToolResult:
    for text in ("some", "some output"):
        on_update(text_result(text))
    return text_result("the end")


async def test_a_call_is_printed_when_it_begins_and_its_result_when_it_ends() -> None:
    """What arrives while it runs is not."""
    sheet, _ = await shown(tool("slow", stream), {"n": 1})

    assert sheet.lines[1:3] == ["Slow: n=1", "  the end"]


def test_the_lines_of_an_answer_are_written_once_and_those_of_a_table_when_it_has_ended() -> None:
    """Whatever the pieces are that the answer arrives in."""
    host, _ = host_with(Script([]))
    sheet = Sheet()
    renderer = EventRenderer(host, sheet)
    growth = []
    for piece in ("Th", "is:\r\n| a | b |\n", "|---|", "---|\n| 1 |", " 2 |\n", "end\n", "la"):
        renderer.render(MessageUpdate(Usage(), BlockDelta(BlockKind.TEXT, 0, piece)))
        growth.append(len(sheet.lines))
    renderer.render(MessageUpdate(Usage(), BlockEnd(BlockKind.TEXT, 0, TextBlock("la"))))

    table = ["a │ b", "──┼──", "1 │ 2"]
    assert growth == [0, 1, 1, 1, 1, 5, 5]
    assert sheet.lines == ["This:", *table, "end", "la"]


def test_a_result_that_an_extension_has_made_an_error_has_the_sign_of_one() -> None:
    host, _ = host_with(Script([]), tool("slow", stream))
    sheet = Sheet()
    renderer = EventRenderer(host, sheet)
    renderer.render(ToolExecutionStart("1", "slow", {}))
    renderer.render(ToolExecutionEnd("1", "slow", text_result("one\ntwo"), is_error=True))

    assert sheet.lines == ["Slow", "✗ one", "  two"]


async def test_the_renderers_of_one_call_share_a_state() -> None:
    contexts: list[RenderContext] = []

    def render_call(_args: Any, _theme: Theme, context: RenderContext) -> Component:
        context.state["calls"] = context.state.get("calls", 0) + 1
        return Text("call")

    def render_result(_result: ToolResult, _options: RenderOptions, _theme: Theme, context: RenderContext) -> Component:
        contexts.append(context)
        return Text(f"rendered {context.state['calls'] > 0}")

    both = tool("slow", stream, render_call=render_call, render_result=render_result)
    sheet, _ = await shown(both, {"n": 1}, {"n": 2})

    assert sheet.lines.count("  rendered True") == 2
    by_call = {context.tool_call_id: context for context in contexts}
    assert [context.args for context in by_call.values()] == [{"n": 1}, {"n": 2}]
    assert {context.cwd for context in contexts} == {"/p"}
    first, second = by_call.values()
    assert first.state is not second.state
    assert all(context.state is by_call[context.tool_call_id].state for context in contexts)


async def test_a_renderer_that_fails_is_reported_once_and_the_default_is_shown() -> None:
    def render_result(_result: ToolResult, options: RenderOptions, theme: Theme) -> Component | None:
        return None if options.is_partial else Text(theme.fg("pink", "the end"))

    sheet, _ = await shown(tool("slow", stream, render_result=render_result), {}, {})

    assert sheet.lines.count("  the end") == 2
    [reported] = [at for at, line in enumerate(sheet.lines) if "could not render" in line]
    words = " ".join(sheet.lines[reported : reported + 3])
    assert words.startswith("slow could not render its result: ValueError: Unknown theme color 'pink'; known are")


async def test_what_cannot_be_drawn_is_replaced_by_the_default() -> None:
    """Whether it is a component with wrong contents or no component at all."""

    def render_call(_args: Any) -> Any:
        return "no component"

    def render_result(_result: ToolResult, _options: RenderOptions) -> Component:
        return Text(5)  # type: ignore[arg-type]  # the mistake

    sheet, _ = await shown(tool("slow", stream, render_call=render_call, render_result=render_result), {"n": 1})

    assert sheet.lines[1:3] == ["Slow: n=1", "  the end"]
    assert sheet.lines[3].startswith("slow could not render its result: AttributeError:")


async def test_a_call_whose_renderer_fails_has_the_default_header() -> None:
    def render_call(args: Any) -> Component:
        return Text(args["missing"])

    sheet, _ = await shown(tool("slow", render_call=render_call), {"n": 1})

    assert "Slow: n=1" in sheet.lines
    assert "slow could not render its call: KeyError: 'missing'" in sheet.lines


async def test_the_result_of_a_merged_tool_replaces_its_call() -> None:
    sheet, _ = await shown(tool("plan", stream, merged=True), {"n": 1})

    assert sheet.lines[1] == "the end"


async def test_only_a_result_that_hides_something_is_written_again() -> None:
    long = "\n".join(f"line {number}" for number in range(10))

    async def run(params: Any, _signal: Any, _on_update: OnUpdate) -> ToolResult:
        return text_result(long if params["n"] == 1 else "short")

    sheet, renderer = await shown(tool("slow", run), {"n": 1}, {"n": 2})
    written = len(sheet.lines)
    renderer.toggle_expanded()

    assert sheet.lines[written:] == [
        "Results are shown expanded from now on",
        "Slow: n=1",
        *(f"  line {number}" for number in range(10)),
    ]
    for _ in range(2):
        renderer.toggle_expanded()
    assert sheet.lines[written + 12 :] == [
        "Results are shown collapsed from now on",
        "Results are shown expanded from now on",
    ]
