"""Calls of a host's tools as a screen shows them, with what their renderers are told."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.host.test_host import Script, host_with, tool
from tildone.cli.run.event_renderer import EventRenderer
from tildone.cli.run.terminal.keys import SCREEN_KEYS
from tildone.host.content import TextBlock, Usage
from tildone.host.events import MessageUpdate, ToolExecutionEnd, ToolExecutionStart
from tildone.host.stream_events import BlockDelta, BlockEnd, BlockKind
from tildone.kit.components import Component, RenderContext, RenderOptions, Text
from tildone.kit.components.fitting import Line
from tildone.kit.definition import OnUpdate, ToolDefinition, ToolResult, text_result
from tildone.kit.keys import NO_KEYS
from tildone.kit.theme import Theme, plain


class Sheet:
    """A screen: the finished lines, and what a live one showed of running calls, whenever it was to be redrawn."""

    columns = 60

    def __init__(self, *, live: bool = True) -> None:
        self.live = live
        self.keys = SCREEN_KEYS if live else NO_KEYS
        self.lines: list[str] = []
        self.frames: list[list[str]] = []
        self.renderer: EventRenderer | None = None

    def put(self, lines: Sequence[Line]) -> None:
        self.lines += map(plain, lines)

    def refresh(self) -> None:
        if self.live and self.renderer and (shown := [plain(line) for line in self.renderer.running_lines()]):
            self.frames.append(shown)


async def shown(definition: ToolDefinition, *calls: Any, live: bool = True) -> Sheet:
    """Run a host whose model makes these calls."""
    host, _ = host_with(Script([(definition.name, args) for args in calls]), definition)
    sheet = Sheet(live=live)
    sheet.renderer = EventRenderer(host, sheet)
    host.listen(sheet.renderer.render)
    await host.prompt("Go")
    await host.settled()
    return sheet


async def stream(_params: Any, _signal: Any, on_update: OnUpdate) -> ToolResult:
    for text in ("some", "some output"):
        on_update(text_result(text))
    return text_result("the end")


async def test_a_running_call_shows_a_fixed_line_whatever_has_arrived() -> None:
    sheet = await shown(tool("slow", stream), {"n": 1})

    assert sheet.frames == 3 * [["Slow: n=1", "  Slow: working..."]]
    assert sheet.lines[1:3] == ["Slow: n=1", "  the end"]


async def test_the_line_is_what_the_tool_renders_for_a_partial_result() -> None:
    def render_result(_result: ToolResult, options: RenderOptions, theme: Theme) -> Component | None:
        return Text(theme.fg("muted", "Slow: fetching...")) if options.is_partial else None

    sheet = await shown(tool("slow", stream, render_result=render_result), {})

    assert sheet.frames == 3 * [["Slow", "  Slow: fetching..."]]


async def test_a_renderer_that_expects_details_may_fail_before_there_are_any() -> None:
    """It is not reported, and the default line is shown until then."""

    async def run(_params: Any, _signal: Any, on_update: OnUpdate) -> ToolResult:
        on_update(text_result("", {"done": 50}))
        return text_result("the end")

    def render_result(result: ToolResult, options: RenderOptions) -> Component | None:
        return Text(f"slow: {result.details['done']} %") if options.is_partial else None

    sheet = await shown(tool("slow", run, render_result=render_result), {})

    assert sheet.frames == [["Slow", "  Slow: working..."], ["Slow", "  slow: 50 %"]]
    assert not any("could not render" in line for line in sheet.lines)


def test_the_lines_of_an_answer_are_written_once_and_those_of_a_table_when_it_has_ended() -> None:
    """Whatever the pieces are that the answer arrives in."""
    host, _ = host_with(Script([]))
    sheet = Sheet()
    renderer = EventRenderer(host, sheet)
    growth: list[tuple[int, list[str]]] = []
    for piece in ("Th", "is:\r\n| a | b |\n", "|---|", "---|\n| 1 |", " 2 |\n", "end\n", "la"):
        renderer.render(MessageUpdate(Usage(), BlockDelta(BlockKind.TEXT, 0, piece)))
        growth.append((len(sheet.lines), [plain(line) for line in renderer.unfinished]))
    renderer.render(MessageUpdate(Usage(), BlockEnd(BlockKind.TEXT, 0, TextBlock("la"))))

    table = ["a │ b", "──┼──", "1 │ 2"]
    assert growth == [
        (0, ["Th"]),
        (1, ["| a | b |"]),
        (1, ["| a | b |", "|---|"]),
        (1, [*table[:2], "1 │ "]),
        (1, table),
        (5, []),
        (5, ["la"]),
    ]
    assert sheet.lines == ["This:", *table, "end", "la"]
    assert renderer.unfinished == []


async def test_output_that_is_not_live_shows_only_the_call_and_its_result() -> None:
    sheet = await shown(tool("slow", stream), {}, live=False)

    assert sheet.frames == []
    assert sheet.lines[1:3] == ["Slow", "  the end"]


@pytest.mark.parametrize("live", [True, False])
def test_a_result_that_an_extension_has_made_an_error_has_the_sign_of_one(*, live: bool) -> None:
    host, _ = host_with(Script([]), tool("slow", stream))
    sheet = Sheet(live=live)
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
    sheet = await shown(both, {"n": 1}, {"n": 2})

    assert sheet.lines.count("  rendered True") == 2
    by_call = {context.tool_call_id: context for context in contexts}
    assert [context.args for context in by_call.values()] == [{"n": 1}, {"n": 2}]
    assert {context.cwd for context in contexts} == {"/p"}
    first, second = by_call.values()
    assert first.state is not second.state
    assert all(context.state is by_call[context.tool_call_id].state for context in contexts)


async def test_invalidate_draws_a_running_call_again() -> None:
    contexts: list[RenderContext] = []

    async def run(_params: Any, _signal: Any, _on_update: OnUpdate) -> ToolResult:
        contexts[-1].state["round"] = 2
        contexts[-1].invalidate()
        return text_result("the end")

    def render_call(_args: Any, _theme: Theme, context: RenderContext) -> Component:
        contexts.append(context)
        return Text(f"round {context.state.get('round', 1)}")

    sheet = await shown(tool("slow", run, render_call=render_call), {})
    contexts[-1].invalidate()

    assert [frame[0] for frame in sheet.frames] == ["round 1", "round 2"]


async def test_a_renderer_that_fails_is_reported_once_and_the_default_is_shown() -> None:
    def render_result(_result: ToolResult, options: RenderOptions, theme: Theme) -> Component | None:
        return None if options.is_partial else Text(theme.fg("pink", "the end"))

    sheet = await shown(tool("slow", stream, render_result=render_result), {}, {})

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

    sheet = await shown(tool("slow", stream, render_call=render_call, render_result=render_result), {"n": 1})

    assert sheet.frames == 3 * [["Slow: n=1", "  Slow: working..."]]
    assert sheet.lines[1:3] == ["Slow: n=1", "  the end"]
    assert sheet.lines[3].startswith("slow could not render its result: AttributeError:")


async def test_a_call_whose_renderer_fails_has_the_default_header() -> None:
    def render_call(args: Any) -> Component:
        return Text(args["missing"])

    sheet = await shown(tool("slow", render_call=render_call), {"n": 1})

    assert "Slow: n=1" in sheet.lines
    assert "slow could not render its call: KeyError: 'missing'" in sheet.lines


async def test_the_result_of_a_merged_tool_replaces_its_call() -> None:
    sheet = await shown(tool("plan", stream, merged=True), {"n": 1})

    assert sheet.frames[0] == ["Plan: n=1"]
    assert sheet.lines[1] == "the end"


async def test_only_a_result_that_hides_something_is_written_again() -> None:
    long = "\n".join(f"line {number}" for number in range(10))

    async def run(params: Any, _signal: Any, _on_update: OnUpdate) -> ToolResult:
        return text_result(long if params["n"] == 1 else "short")

    sheet = await shown(tool("slow", run), {"n": 1}, {"n": 2})
    written = len(sheet.lines)
    assert sheet.renderer
    sheet.renderer.toggle_expanded()

    assert sheet.lines[written:] == [
        "Results are shown expanded from now on",
        "Slow: n=1",
        *(f"  line {number}" for number in range(10)),
    ]
    for _ in range(2):
        sheet.renderer.toggle_expanded()
    assert sheet.lines[written + 12 :] == [
        "Results are shown collapsed from now on",
        "Results are shown expanded from now on",
    ]
