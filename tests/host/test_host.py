"""The host: turns, tools, queues, failures and aborts, with a model of a script, or one whose rate is limited."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from tests.host import records as messages
from tests.host.records import Json
from tildone.base.schema import SchemaProblem
from tildone.run.events import AgentStart, AnswerDone, BlockDelta, BlockKind, StreamEvent
from tildone.run.extension import (
    AgentStartReply,
    BeforeAgentStart,
    BeforeSettle,
    BlockCall,
    ChangeArguments,
    ConversationEnd,
    KeepGoing,
    ReplaceResult,
    ToolCallRequest,
    ToolResultReady,
)
from tildone.run.host import ABORT_GRACE_SECONDS, ExtensionAPI, Host, HostBusy
from tildone.run.kit.components import Text
from tildone.run.kit.definition import AbortController, Aborted, AbortSignal, ToolDefinition, ToolResult, text_result
from tildone.run.messages import CustomMessage, DeveloperMessage, StopReason, TextBlock, Usage, tool_call
from tildone.run.model import ChatRequest, LimitedModel, ModelFailure, RetryPolicy, assistant_message
from tildone.run.transcript import Transcript
from tildone.run.turn_loop import Delivery
from tildone.stores.pi.session_file import header

ANY_OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}}


class Script:
    """Answers in order: a text, a list of calls, a failure to raise, or a function that waits."""

    api = provider = id = "script"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[ChatRequest] = []

    async def stream(
        self, request: ChatRequest, signal: AbortSignal | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else "done"
        if callable(answer):
            await answer(signal)
            answer = "after the wait"
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            return
        if isinstance(answer, str):
            yield BlockDelta(BlockKind.TEXT, 0, answer, Usage())
            yield AnswerDone(assistant_message([TextBlock(answer)], self, StopReason.STOP, 0))
        else:
            calls = [tool_call(f"c{i}", *call) for i, call in enumerate(answer)]
            yield AnswerDone(assistant_message(calls, self, StopReason.TOOL_USE, 0))

    async def close(self) -> None:
        """Nothing is open."""


def host_with(
    model: Script, *tools: ToolDefinition, retry: RetryPolicy | None = None, abort_grace: float = ABORT_GRACE_SECONDS
) -> tuple[Host, list[Json]]:
    """Return a host and the list of its events."""
    ids = itertools.count()
    transcript = Transcript(header("s", "/p", 0), now=lambda: 0, new_id=lambda: f"e{next(ids)}")
    made = Host(
        model=model, transcript=transcript, cwd="/p", now=lambda: 0, tools=tools, retry=retry, abort_grace=abort_grace
    )
    told: list[Json] = []
    made.listen(lambda event: told.append(messages.event(event)))
    return made, told


def asked(model: Script) -> list[str]:
    """Return the texts of the messages of the newest request."""
    return [messages.text_of(said) for said in messages.shown(model.requests[-1].messages)]


def last_stored(host: Host) -> Json:
    return messages.said_in(host.transcript)[-1]


def tool(name: str, run: Callable[..., Any] | None = None, **more: Any) -> ToolDefinition:
    async def execute(call_id: str, params: Any, signal: Any, on_update: Any, ctx: Any) -> ToolResult:
        del call_id, ctx
        if run is None:
            return text_result(f"{name} ran")
        result: ToolResult = await run(params, signal, on_update)
        return result

    return ToolDefinition(name, name.title(), f"Does {name}.", ANY_OBJECT, execute, **more)


def extend(host: Host, plug: Callable[[ExtensionAPI], None]) -> None:
    host.load([("test", plug)])


async def ran(
    model: Script, *tools: ToolDefinition, plug: Callable[[ExtensionAPI], None] | None = None, **more: Any
) -> tuple[Host, list[Json]]:
    """Return a host that has answered one prompt, with an extension if there is one, and the list of its events."""
    host, told = host_with(model, *tools, **more)
    if plug:
        extend(host, plug)
    await talk(host)
    return host, told


def of_kind(told: list[Json], kind: str) -> list[Json]:
    return [event for event in told if event["type"] == kind]


def tool_texts(host: Host) -> list[str]:
    """Return the texts of the results of tools."""
    return [messages.text_of(said) for said in messages.said_in(host.transcript) if said["role"] == "toolResult"]


async def talk(host: Host, text: str = "go") -> None:
    await host.prompt(text)
    await host.settled()


def kinds(told: list[Json]) -> list[str]:
    return [event["type"] for event in told]


EVENTS = """
agent_start turn_start message_start message_end message_start message_end tool_execution_start tool_execution_end
message_start message_end turn_end turn_start message_start message_update message_end turn_end agent_end agent_settled
"""


async def test_the_events_of_a_turn_are_published_in_order_and_stored() -> None:
    """They range from the prompt to the settled event."""
    host, told = await ran(Script([("look", {})], "found it"), tool("look"))

    assert kinds(told) == EVENTS.split()
    roles = [message["role"] for message in messages.said_in(host.transcript)]
    assert roles == ["user", "assistant", "toolResult", "assistant"]


async def test_calls_run_concurrently_and_exclusive_calls_alone() -> None:
    """Results are in the order of the calls, whichever ended first."""
    order: list[str] = []
    gate = asyncio.Event()

    async def slow(*_: Any) -> ToolResult:
        order.append("slow begins")
        await gate.wait()
        order.append("slow ends")
        return text_result("slow")

    async def quick(*_: Any) -> ToolResult:
        order.append("quick")
        gate.set()
        return text_result("quick")

    async def alone(*_: Any) -> ToolResult:
        order.append("alone")
        return text_result("alone")

    calls: list[tuple[str, Json]] = [("slow", {}), ("quick", {}), ("alone", {}), ("quick", {})]
    host, _ = await ran(Script(calls), tool("slow", slow), tool("quick", quick), tool("alone", alone, exclusive=True))

    assert order == ["slow begins", "quick", "slow ends", "alone", "quick"]
    assert tool_texts(host) == ["slow", "quick", "alone", "quick"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("none", {}), "unknown tool 'none'; known are look"),
        (("look", {"n": "x"}), "n: expected an integer, got 'x'"),
        (("look", "not json"), "expected an object, got 'not json'"),
        (("look", {"n": 13}), "n: expected another number"),
    ],
)
async def test_a_call_that_cannot_be_executed_has_an_error_result(call: Any, said: str) -> None:
    """The result contains the reason, and its details are empty."""
    demands = lambda given: [SchemaProblem("n", "expected another number")] if given.get("n") == 13 else []  # noqa: E731  a field
    _, told = await ran(Script([call]), tool("look", demands=demands))

    (ended,) = of_kind(told, "tool_execution_end")
    assert ended["isError"]
    assert ended["result"]["details"] == {}
    assert said in ended["result"]["content"][0]["text"]


async def test_extensions_can_block_calls_and_change_arguments_and_results() -> None:
    """They do so before and after a tool runs."""

    async def echo(params: Any, *_: Any) -> ToolResult:
        return text_result(str(params["n"]))

    def plug(api: ExtensionAPI) -> None:
        api.on(ToolCallRequest, lambda event, _: BlockCall("not today") if event.arguments["n"] == 1 else None)
        api.on(ToolCallRequest, lambda event, _: ChangeArguments({"n": event.arguments["n"] * 10}))
        api.on(ToolResultReady, lambda event, _: ReplaceResult(text_result(f"<{event.result.text}>")))

    host, _ = await ran(Script([("echo", {"n": 1}), ("echo", {"n": 2})]), tool("echo", echo), plug=plug)

    assert tool_texts(host) == ["<not today>", "<20>"]


async def test_handlers_run_in_order_and_an_error_in_one_does_not_stop_the_others() -> None:
    """The error is reported with the extension and the event."""
    heard: list[str] = []

    def broken(_event: AgentStart, _ctx: Any) -> None:
        raise ValueError("oops")

    async def second(_event: AgentStart, _ctx: Any) -> None:
        heard.append("second")

    def plug(api: ExtensionAPI) -> None:
        for handler in (lambda *_: heard.append("first"), broken, second):
            api.on(AgentStart, handler)

    host, told = host_with(Script())
    extend(host, plug)
    host.load([("bad", lambda _: (_ for _ in ()).throw(OSError("cannot load")))])

    await talk(host)

    assert heard == ["first", "second"]
    complaints = [(one["extensionPath"], one["event"], one["error"]) for one in of_kind(told, "extension_error")]
    assert complaints == [("bad", "load", "cannot load"), ("test", "agent_start", "oops")]


async def test_nothing_stays_registered_of_an_extension_that_raises() -> None:
    """Neither its tools, handlers, commands and renderers, nor its choice of tools. A tool that it replaced is back."""
    heard: list[str] = []

    async def command(_arguments: str, _ctx: Any) -> None:
        heard.append("command")

    def plug(api: ExtensionAPI) -> None:
        api.register_tool(tool("first", prompt_snippet="Another"))
        api.register_tool(tool("second"))
        api.register_command("cry", "cry", command)
        api.register_message_renderer("cry", lambda _: Text("cry"))
        api.on(AgentStart, lambda *_: heard.append("handler"))
        api.set_active_tools(())
        raise OSError("cannot load")

    first = tool("first")
    host, _ = host_with(Script(), first)

    assert len(host.load([("bad", plug)])) == 1
    await talk(host)

    assert (host.tools, host.commands, host.renderers) == ({"first": first}, {}, {})
    assert host.active_tools() == [first]
    assert heard == []


async def test_extensions_can_add_messages_and_replace_the_system_prompt() -> None:
    """The person's message is first, then the added one, then those queued for the next turn."""
    model = Script()

    def plug(api: ExtensionAPI) -> None:
        reply = AgentStartReply(CustomMessage("hint", "psst"), "Be somebody else.")
        api.on(BeforeAgentStart, lambda *_: reply)
        api.send_message(CustomMessage("late", "later"), deliver_as=Delivery.NEXT_TURN)

    await ran(model, plug=plug)

    assert model.requests[0].system == "Be somebody else."
    assert asked(model) == ["go", "psst", "later"]


async def test_steering_is_delivered_before_the_next_request_and_follow_ups_at_the_stop() -> None:
    """One message is delivered at a time. The queues can be cleared, which returns their texts."""
    cleared: list[Any] = []

    async def busy(*_: Any) -> ToolResult:
        for _time in range(2):
            cleared.append(await host.clear_queues())
            await host.steer("left")
            await host.follow_up("and then this")
        with pytest.raises(HostBusy, match="a turn is running"):
            await host.prompt("hello?")
        return text_result("ok")

    model = Script([("busy", {})], "turned left", "did that, too")
    host, told = host_with(model, tool("busy", busy))

    await talk(host)

    assert cleared == [([], []), (["left"], ["and then this"])]
    assert asked(model) == ["go", "", "ok", "left", "turned left", "and then this"]
    queues = [(event["steering"], event["followUp"]) for event in of_kind(told, "queue_update")]
    assert (["left"], []) in queues
    assert queues[-1] == ([], [])


async def test_an_abort_ends_the_turn_at_once() -> None:
    """The incomplete answer is stored as an aborted message, and nothing follows."""

    async def waits(signal: AbortSignal) -> None:
        host.request_abort("enough")
        signal.raise_if_aborted()

    host, told = host_with(Script(waits))

    await talk(host)

    assert last_stored(host)["stopReason"] == "aborted"
    assert kinds(told)[-3:] == ["turn_end", "agent_end", "agent_settled"]
    assert not host.is_running


async def test_an_abort_reaches_the_running_tool() -> None:
    """No further request is sent."""

    async def waits(_params: Any, signal: AbortSignal, _update: Any) -> ToolResult:
        host.request_abort("enough")
        signal.raise_if_aborted()
        raise AssertionError

    model = Script([("wait", {}), ("wait", {})])
    host, _ = host_with(model, tool("wait", waits, exclusive=True))

    await talk(host)

    assert (tool_texts(host), len(model.requests)) == (["Error: aborted"] * 2, 1)


async def test_a_transient_failure_is_retried() -> None:
    """The pause is published, and the failed answer is not sent to the model."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    model = Script(ModelFailure("overloaded", transient=True), None, "at last")
    _, told = await ran(model, retry=RetryPolicy(sleep=sleep))

    assert pauses == [2.0, 4.0]
    assert [event["willRetry"] for event in of_kind(told, "agent_end")] == [True, True, False]
    assert asked(model) == ["go"]
    assert of_kind(told, "auto_retry_end") == [{"type": "auto_retry_end", "success": True, "attempt": 3}]


async def test_a_permanent_failure_is_reported_and_ends_the_run() -> None:
    """The policy limits the retries; a permanent failure is not retried."""

    async def sleep(_seconds: float) -> None:
        return

    failing = [ModelFailure(f"busy {i}", transient=True) for i in range(5)]
    host, told = await ran(Script(*failing), retry=RetryPolicy(attempts=2, sleep=sleep))
    final, more = await ran(Script(ModelFailure("no key", transient=False)))

    [ended] = of_kind(told, "auto_retry_end")
    assert (ended["success"], ended["finalError"], last_stored(host)["errorMessage"]) == (False, "busy 2", "busy 2")
    assert (of_kind(more, "auto_retry_start"), last_stored(final)["stopReason"]) == ([], "error")


async def test_an_abort_ends_the_pause_before_a_retry() -> None:
    """No further request is sent. A failure after an abort is not retried at all."""

    async def sleep(_seconds: float) -> None:
        host.request_abort("enough")
        await asyncio.Event().wait()

    async def aborted(_signal: AbortSignal) -> None:
        host.request_abort("enough")
        raise ModelFailure("cut", transient=True)

    ends = list[Json]()
    for answer, starts in ((ModelFailure("overloaded", transient=True), 1), (aborted, 0)):
        model = Script(answer)
        host, told = host_with(model, retry=RetryPolicy(sleep=sleep))
        await talk(host)
        assert (len(model.requests), len(of_kind(told, "auto_retry_start"))) == (1, starts)
        ends += of_kind(told, "auto_retry_end")

    assert [(end["success"], end["finalError"]) for end in ends] == [(False, "Aborted")]


async def test_an_extension_can_continue_the_agent_before_it_settles() -> None:
    """It does so until it has no more messages."""
    reminders = ["one more", "last one"]

    def before_settle(_event: BeforeSettle, _ctx: Any) -> KeepGoing | None:
        return KeepGoing([DeveloperMessage(reminders.pop(0))]) if reminders else None

    model = Script("a", "b", "c")
    _, told = await ran(model, plug=lambda api: api.on(BeforeSettle, before_settle))

    assert asked(model) == ["go", "a", "one more", "b", "last one"]
    assert len(of_kind(told, "agent_settled")) == 1


async def test_commands_are_run_and_not_sent_to_the_model() -> None:
    """A failing command is reported; an unknown command is an ordinary message."""
    ran: list[str] = []

    async def greet(arguments: str, ctx: Any) -> None:
        assert ctx.is_idle
        ran.append(arguments)
        if arguments == "fail":
            raise ValueError("cannot")

    model = Script()
    host, told = host_with(model)
    extend(host, lambda api: api.register_command("greet", "Say hello.", greet))

    for typed in ("/greet the world", "/greet", "/greet fail", "/other"):
        await talk(host, typed)

    assert ran == ["the world", "", "fail"]
    assert len(model.requests) == 1
    assert [one["error"] for one in of_kind(told, "extension_error")] == ["cannot"]


async def test_custom_messages_are_added_at_once_or_queued() -> None:
    """Without a running turn they are added at once, or start a turn on request; otherwise they are queued."""
    model = Script()
    host, told = host_with(model)
    apis: list[ExtensionAPI] = []
    extend(host, apis.append)
    [api] = apis

    api.send_message(CustomMessage("note", "fyi", display=True))
    api.append_entry("state", {"n": 1})
    assert host.transcript.branch()[-1].record["data"] == {"n": 1}
    assert "entry_appended" in kinds(told)
    api.send_message(CustomMessage("go", "work", display=True), trigger_turn=True)
    api.send_message(CustomMessage("steer", "while you are at it", display=True))
    api.send_user_message("and this", deliver_as=Delivery.FOLLOW_UP)
    await host.settled()

    assert asked(model) == ["fyi", "work", "done", "while you are at it", "done", "and this"]


async def test_closing_aborts_the_turn_and_notifies_extensions() -> None:
    """No task remains."""

    async def forever(signal: AbortSignal) -> None:
        stopped = asyncio.Event()
        signal.on_abort(stopped.set)
        await stopped.wait()
        signal.raise_if_aborted()

    heard: list[str] = []
    host, _ = host_with(Script(forever))
    extend(host, lambda api: api.on(ConversationEnd, lambda *_: heard.append("bye")))
    await host.prompt("go")
    await asyncio.sleep(0)

    await host.close()

    assert heard == ["bye"]
    assert not host.is_running


async def test_closing_does_not_wait_for_a_turn_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler hangs, and so does one of the end itself; the others are told of it."""
    monkeypatch.setattr("tildone.run.host.CLOSE_TIMEOUT_SECONDS", 0.01)
    heard: list[str] = []

    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    host, _ = host_with(Script())
    extend(host, lambda api: api.on(AgentStart, hang))
    extend(host, lambda api: api.on(ConversationEnd, lambda *_: heard.append("bye")))
    extend(host, lambda api: api.on(ConversationEnd, hang))
    await host.prompt("go")

    await host.close()

    assert heard == ["bye"]
    assert host.is_running


REQUEST = ChatRequest("", ())


async def test_a_request_waits_for_the_limit_and_says_why() -> None:
    waits, slept, told = [2000, 500, 0], list[float](), list[str | None]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    inner = Script()
    model = LimitedModel(inner, lambda: waits.pop(0), told.append, RetryPolicy(sleep=sleep))
    events = [event async for event in model.stream(REQUEST)]

    assert (slept, len(inner.requests), type(events[-1])) == ([2.0, 0.5], 1, AnswerDone)
    assert told == [
        "waits for the limit of requests to script, 2.0 s",
        "waits for the limit of requests to script, 0.5 s",
        None,
    ]
    assert (model.api, model.provider, model.id) == (inner.api, inner.provider, inner.id)


async def test_a_request_that_waits_can_be_aborted() -> None:
    told: list[str | None] = []
    inner, controller = Script(), AbortController()
    model = LimitedModel(inner, lambda: 3_600_000, told.append)

    async def read() -> None:
        async for _ in model.stream(REQUEST, controller.signal):
            pass

    reading = asyncio.create_task(read())
    while not told:  # noqa: ASYNC110  there is no event to wait for
        await asyncio.sleep(0)
    controller.abort("interrupted")

    with pytest.raises(Aborted):
        await reading
    assert told[-1] is None
    assert inner.requests == []


async def test_without_a_limit_nothing_is_said() -> None:
    told: list[str | None] = []
    model = LimitedModel(Script(), lambda: 0, told.append)

    assert [event async for event in model.stream(REQUEST)]
    await model.close()
    assert told == []
