"""What a run shows: calls of tools as they are printed, those of plan tools above all, and the figures of the run."""

import io
import os
from typing import Any

import pytest

from tests.cli.person import Person
from tests.host.models.model_server import ModelServer
from tests.host.test_host import Script, host_with, tool
from tests.run.plan_calls import NUMBERS, PLAN_CALLS, call
from tests.run.run_workspace import CHAT, provider_environment
from tests.run.screens import at_terminal
from tildone.cli.run.lines import EventRenderer, LineOutput
from tildone.plan.text.styles import Theme
from tildone.run.codec import encode_usage
from tildone.run.events import (
    AgentEnd,
    AgentStart,
    BlockDelta,
    BlockEnd,
    BlockKind,
    CustomEvent,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    PublicEvent,
    RetryEnd,
    RetryStart,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from tildone.run.kit.components import Component, RenderContext, RenderOptions, Text
from tildone.run.kit.definition import OnUpdate, ToolDefinition, ToolResult, text_result
from tildone.run.messages import AssistantMessage, Cost, TextBlock, Usage, UserMessage
from tildone.run.metering import Activity, RunMeter
from tildone.run.subagents import SUBAGENT_USAGE
from tildone.run.turn_loop import COMPACTION_END, COMPACTION_START


class Sheet(LineOutput):
    """What was printed, 60 columns wide."""

    columns = 60

    def __init__(self) -> None:
        self._text = io.StringIO()
        super().__init__(self._text)

    @property
    def lines(self) -> list[str]:
        return self._text.getvalue().split("\n")[:-1]


def rendered(*tools: ToolDefinition) -> tuple[Sheet, EventRenderer]:
    sheet = Sheet()
    return sheet, EventRenderer(host_with(Script([]), *tools)[0], sheet)


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
    """What arrives while it runs is not. The result of a merged tool replaces its call."""
    sheet, _ = await shown(tool("slow", stream), {"n": 1})
    merged, _ = await shown(tool("plan", stream, merged=True), {"n": 1})

    assert sheet.lines[1:3] == ["Slow: n=1", "  the end"]
    assert merged.lines[1] == "the end"


def test_the_lines_of_an_answer_are_written_once_and_those_of_a_table_when_it_has_ended() -> None:
    """Whatever the pieces are that the answer arrives in."""
    sheet, renderer = rendered()
    growth = []
    for piece in ("Th", "is:\r\n| a | b |\n", "|---|", "---|\n| 1 |", " 2 |\n", "end\n", "la"):
        renderer.render(MessageUpdate(Usage(), BlockDelta(BlockKind.TEXT, 0, piece)))
        growth.append(len(sheet.lines))
    renderer.render(MessageUpdate(Usage(), BlockEnd(BlockKind.TEXT, 0, TextBlock("la"))))

    table = ["a │ b", "──┼──", "1 │ 2"]
    assert growth == [0, 1, 1, 1, 1, 5, 5]
    assert sheet.lines == ["This:", *table, "end", "la"]


def test_a_result_that_an_extension_has_made_an_error_has_the_sign_of_one() -> None:
    sheet, renderer = rendered(tool("slow", stream))
    renderer.render(ToolExecutionStart("1", "slow", {}))
    renderer.render(ToolExecutionEnd("1", "slow", text_result("one\ntwo"), is_error=True))

    assert sheet.lines == ["Slow", "✗ one", "  two"]


FAILED = MessageEnd(AssistantMessage((), stop_reason="error", error_message="slow down"))


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ((FAILED, AgentEnd([])), ["✗ slow down"]),
        ((RetryEnd(1, "Aborted"),), ["✗ Interrupted"]),
        ((MessageEnd(AssistantMessage((TextBlock("a"),), stop_reason="stop")), AgentEnd([]), RetryEnd(1)), []),
    ],
)
def test_a_failed_request_is_one_line_whether_it_is_repeated_or_not(
    end: tuple[PublicEvent, ...], last: list[str]
) -> None:
    sheet, renderer = rendered()
    for event in (FAILED, AgentEnd([], will_retry=True), RetryStart(1, 3, 3200, "slow down"), *end):
        renderer.render(event)

    assert sheet.lines == ["! slow down · retrying in 4 s (1 of 3)", *last]


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
    """Whether it is a component with wrong contents, no component at all, or a renderer that fails."""

    def render_call(args: Any) -> Any:
        return "no component" if args["n"] == 1 else Text(args["missing"])

    def render_result(_result: ToolResult, _options: RenderOptions) -> Component:
        return Text(5)  # type: ignore[arg-type]  # the mistake

    sheet, _ = await shown(tool("slow", stream, render_call=render_call, render_result=render_result), {"n": 1})
    failing, _ = await shown(tool("slow", render_call=render_call), {"n": 2})

    assert sheet.lines[1:3] == ["Slow: n=1", "  the end"]
    assert sheet.lines[3].startswith("slow could not render its result: AttributeError:")
    assert "Slow: n=2" in failing.lines
    assert "slow could not render its call: KeyError: 'missing'" in failing.lines


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


GO = ("Go", "--model", CHAT, "--max-nudges", "0", "--session", "s")
RED, RESET = "\x1b[31m", "\x1b[0m"


def lines_of_run(person: Person, server: ModelServer, *argv: str) -> list[str]:
    """The lines of a run in a pipe, from the message of the person to the last answer."""
    out = person.run("run", *GO, *argv, **provider_environment(server)).out
    return out.partition("Go\n")[2].partition("The end.")[0].splitlines()


@pytest.mark.parametrize("dialect", PLAN_CALLS)
def test_every_call_shows_the_whole_list_or_why_it_was_refused(person: Person, dialect: str) -> None:
    """Also one whose text is that of the call before it: a start in phases, a list, the same refusal."""
    turns = [turn for turn, _ in PLAN_CALLS[dialect]]
    with ModelServer(*turns, {"text": "The end.", "repeat": True}) as server:
        lines = lines_of_run(person, server, "--dialect", dialect)

    expected: list[str] = []
    for header, sign, (first, *others) in (drawn for _, drawn in PLAN_CALLS[dialect]):
        lead, indent = {"": ("", ""), "✓": ("  ", "  "), "✗": ("✗ ", "  ")}[sign]
        expected += [header, lead + first, *(indent + line for line in others)]
    assert [line for line in lines if not line.startswith("Todo update failed")] == expected


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("dialect", PLAN_CALLS)
def test_a_refusal_has_the_sign_and_the_colour_of_an_error(person: Person, dialect: str) -> None:
    refusal = {
        "indexed": f"{RED}✗ {RESET}{RED}Error: indices [9] out of range (0 to 2){RESET}",
        "phased": f'{RED}Errors: Task "Nope" not found{RESET}',
        "declared": f"{RED}✗ {RESET}{RED}todos: expected at most one item in_progress, got 2{RESET}",
        "brief": f"{RED}✗ {RESET}{RED}no 9; there are 1-3{RESET}",
    }[dialect]
    turns = [turn for turn, _ in PLAN_CALLS[dialect]]
    with ModelServer(*turns, {"text": "The end.", "repeat": True}) as server:
        environ = {"NO_COLOR": "", "TERM": "xterm", **provider_environment(server)}
        out = at_terminal(person, *GO, "--dialect", dialect, **environ).end().out

    assert out.count(refusal) == 2, out
    assert out.count(f"{RED}✘{RESET}") == (2 if dialect == "phased" else 0)


def test_of_a_long_plan_what_has_changed_is_shown_and_how_much_has_not(person: Person) -> None:
    """Whoever changed it, also before a call that was refused. All of it if tasks have moved, or if it is asked for."""
    others = call("bash", command="tildone todo done 5 --session s && tildone todo add 'Task 11' --session s")
    calls: tuple[dict[str, Any], ...] = (
        {"add": NUMBERS},
        {"start": 3},
        {"done": 99},
        {"done": 3},
        {"move": "2 before 1"},
        {},
    )
    turns = [call("todo", **args) for args in calls]
    with ModelServer(*turns[:2], others, *turns[2:], {"text": "The end.", "repeat": True}) as server:
        lines = lines_of_run(person, server, "--dialect", "brief", "--allow", "*")

    def after(header: str) -> list[str]:
        rest = lines[lines.index(header) + 1 :]
        return rest[: next((at for at, line in enumerate(rest) if not line.startswith("  ")), len(rest))]

    assert lines[1:11] == [f"  – #{number} Task {number}" for number in range(1, 11)]
    assert after("▸ Started: Task 3") == ["  ● #3 Task 3", "  9 unchanged"]
    changed = ["  ✓ #3 Task 3", "  ● #4 Task 4", "  ✓ #5 Task 5", "  – #11 Task 11", "  7 unchanged"]
    assert after("▸ Started: Task 4") == changed
    assert len(after("↕ Moved: Task 2")) == 11
    assert lines[-12:] == ["Todo", *after("↕ Moved: Task 2")]


EMPTY = AssistantMessage(())


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def fed(*events: PublicEvent) -> tuple[RunMeter, Clock]:
    clock = Clock()
    meter = RunMeter(clock)
    for event in events:
        meter.feed(event)
        clock.now += 2
    return meter, clock


def answer(usage: Usage) -> MessageEnd:
    return MessageEnd(AssistantMessage((), usage=usage))


def delta(text: str, kind: BlockKind = BlockKind.TEXT, usage: Usage = Usage()) -> MessageUpdate:  # noqa: B008  frozen
    return MessageUpdate(usage, BlockDelta(kind, 0, text))


def test_the_activity_follows_the_events() -> None:
    tool = ToolExecutionStart("1", "bash", {})
    steps: list[tuple[PublicEvent, Activity]] = [
        (AgentStart(), Activity.IDLE),
        (MessageStart(UserMessage("Go")), Activity.IDLE),
        (MessageStart(EMPTY), Activity.THINKING),
        (delta("hm", BlockKind.THINKING), Activity.THINKING),
        (delta("Well"), Activity.WRITING),
        (answer(Usage()), Activity.IDLE),
        (tool, Activity.RUNNING),
        (ToolExecutionStart("2", "bash", {}), Activity.RUNNING),
        (ToolExecutionEnd("1", "bash", text_result(""), is_error=False), Activity.RUNNING),
        (ToolExecutionEnd("2", "bash", text_result(""), is_error=False), Activity.IDLE),
        (RetryStart(1, 5, 100, "busy"), Activity.PAUSING),
        (AgentEnd(()), Activity.IDLE),
        (CustomEvent(COMPACTION_START, {}), Activity.COMPACTING),
        (CustomEvent(COMPACTION_END, {}), Activity.IDLE),
    ]
    meter = RunMeter()
    for event, activity in steps:
        meter.feed(event)
        assert meter.activity is activity, event


def test_time_is_counted_while_the_agent_works_and_not_while_the_person_is_asked() -> None:
    meter, clock = fed()

    def asked(seconds: float) -> None:
        meter.pause()
        clock.now += seconds
        meter.resume()

    asked(0)
    clock.now += 1000
    assert meter.worked_seconds == 0

    meter, clock = fed(AgentStart(), MessageStart(EMPTY))
    assert (meter.seconds, meter.worked_seconds) == (2, 4)
    asked(1000)
    clock.now += 1
    assert (meter.seconds, meter.worked_seconds) == (1, 5)

    meter.feed(AgentEnd(()))
    clock.now += 1000
    asked(0)
    clock.now += 1000
    assert meter.worked_seconds == 5

    meter.feed(AgentStart())
    clock.now += 1
    assert meter.worked_seconds == 6


def test_tokens_are_estimated_until_they_are_reported() -> None:
    meter, _ = fed(AgentStart(), MessageStart(EMPTY), delta("x" * 400))
    assert meter.figures() == ["~100 out"]

    meter.feed(delta("x", usage=Usage(input=1500, output=120)))
    assert meter.figures() == ["1.5k in", "120 out"]

    meter.feed(answer(Usage(input=1000, output=130, cache_read=400, cache_write=100, total_tokens=1630)))
    assert meter.figures() == ["1.5k in", "130 out"]

    meter.feed(AgentEnd(()))
    assert meter.summary() == "Took 6.0 s · 1.5k in · 130 out"


def test_cost_is_shown_only_where_it_is_known_and_the_usage_of_subagents_is_added() -> None:
    priced = Usage(input=10, output=5, total_tokens=15, cost=Cost(total=0.25))
    of_subagents = CustomEvent(SUBAGENT_USAGE, {"usage": encode_usage(Usage(input=1000, output=20))})
    meter = RunMeter()
    for events, figures in (
        ([answer(priced)], ["10 in", "5 out", "$0.25"]),
        ([CustomEvent(COMPACTION_END, {"usage": encode_usage(priced)})], ["20 in", "10 out", "$0.50"]),
        ([of_subagents, of_subagents, CustomEvent(SUBAGENT_USAGE, {})], ["2.0k in", "50 out", "$0.50"]),
        ([answer(Usage(input=1, total_tokens=1))], ["2.0k in", "50 out", "≥ $0.50"]),
    ):
        for event in events:
            meter.feed(event)
        assert meter.figures() == figures
