"""Subagents: tools, results, aborts, bounds, what they share with their parent, and work pending after a turn."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from tests.clock import FakeClock
from tests.host import records as messages
from tests.host.records import Json
from tests.host.subagent_bench import USAGE, Parent, Scripts, offered, task
from tests.host.test_host import Script, extend, host_with, of_kind, ran, talk, tool
from tests.suite.waiting import until_async
from tildone.base import StoreError
from tildone.run.codec import encode_usage
from tildone.run.events import AgentEnd, AgentSettled, PublicEvent, TurnEnd
from tildone.run.extension import (
    BeforeSettle,
    BlockCall,
    ChangeArguments,
    Interruption,
    KeepGoing,
    NoUI,
    PermissionAnswer,
    PermissionReply,
    PermissionRequest,
    SubagentTurn,
    ToolCallRequest,
)
from tildone.run.host import ExtensionAPI, ExtensionContext, Host
from tildone.run.kit.definition import AbortSignal, ToolResult, text_result
from tildone.run.messages import CustomMessage, DeveloperMessage, ToolResultMessage, text_of
from tildone.run.model import ModelFailure
from tildone.run.subagents import subagent_host, usage_of_subagents
from tildone.run.tools.builtin import builtin_tools
from tildone.run.tools.permissions import PermissionGuard, PermissionPolicy
from tildone.run.transcript import Transcript
from tildone.run.turn_loop import Delivery, PendingWork
from tildone.stores.pi.session_file import header


async def worked(*given: Any, **options: Any) -> Parent:
    """Return a parent that has answered one prompt."""
    parent = Parent(*given, **options)
    await talk(parent.host)
    return parent


async def test_a_subagent_has_a_conversation_of_its_own_and_its_result_is_that_of_the_call() -> None:
    """It knows nothing of the parent's conversation, has a prompt of its own, and its parent's has only the report."""
    model = Scripts(go=[[task("docs")], "thanks"], docs=[[("look", {})], [("yield", {"result": "12 pages"})]])
    parent = await worked(model, tool("look"))

    [result] = parent.results
    first, *more = model.requests["docs"]
    assert (text_of(result), result.is_error) == ("12 pages", False)
    assert [text_of(message) for message in first.messages] == ["docs"]
    assert first.system.startswith("You are a subagent")
    assert (offered(first), offered(model.requests["go"][0])) == (["look", "yield"], ["look", "task"])
    assert (len(more), len(parent.children), parent.ended) == (1, 1, 1)


def full(child: Host) -> None:
    """Give the host a conversation that cannot be stored."""

    def write(_record: Any) -> None:
        raise StoreError("the disk is full")

    child.use(Transcript(header("full", "/p", 0), now=lambda: 0, new_id=lambda: "e", write=write))


def stopping(child: Host) -> None:
    extend(child, lambda api: api.on(ToolCallRequest, lambda _event, ctx: ctx.abort()))


FAILURE = ModelFailure("no such key", transient=False)
OUTCOMES: dict[str, tuple[list[Any], Callable[[Host], None], str, bool]] = {
    "an answer": (["found it"], lambda _: None, "found it", False),
    "no answer": ([" "], lambda _: None, "The subagent ended without an answer.", False),
    "a failure": ([FAILURE], lambda _: None, "Error: the subagent's model failed: no such key", True),
    "a stop": ([[("look", {})]], stopping, "Error: the subagent was stopped before it had finished", True),
    "no storage": ([], full, "the disk is full", True),
}


@pytest.mark.parametrize("case", OUTCOMES)
async def test_the_end_of_a_subagent_is_the_result_of_the_call(case: str) -> None:
    """The parent goes on."""
    script, prepare, text, is_error = OUTCOMES[case]
    model = Scripts(go=[[task("a")], "I see"], a=script)
    parent = await worked(model, tool("look"), prepare=prepare)

    [result] = parent.results
    assert (text_of(result), result.is_error) == (text, is_error)
    assert (parent.ended, len(model.requests["go"])) == (1, 2)


async def test_a_subagent_may_yield_an_error() -> None:
    """The call has failed with it; a call of yield without either is refused, and the subagent goes on."""
    model = Scripts(go=[[task("a")]], a=[[("yield", {})], [("yield", {"error": "there is no such file"})]])
    parent = await worked(model)

    [result] = parent.results
    assert (text_of(result), result.is_error) == ("there is no such file", True)
    [refused, _] = parent.children[0].transcript.tool_results()
    assert "a result or an error is required" in text_of(refused)


async def test_tools_without_inherit_and_inactive_tools_are_not_the_subagents() -> None:
    """A host with yield does not register them at all, so an extension of the subagent cannot add one either."""
    plan, off = tool("todo_write", inherit=False), tool("off")

    def register(api: ExtensionAPI) -> None:
        for late in (plan, tool("own"), off):
            api.register_tool(late)

    model = Scripts(go=[[task("a")]], a=[])
    parent = Parent(model, tool("look"), plan, off, prepare=lambda host: extend(host, register))
    extend(parent.host, lambda api: api.set_active_tools(["look", "todo_write", "task"]))

    await talk(parent.host)

    assert offered(model.requests["a"][0]) == ["look", "yield", "own"]
    assert offered(model.requests["go"][0]) == ["look", "todo_write", "task"]


async def test_several_subagents_work_at_the_same_time() -> None:
    """Each waits until both have begun; the results are in the order of the calls."""
    both = asyncio.Barrier(2)

    def meeting(name: str) -> Callable[[AbortSignal], Awaitable[str]]:
        async def meet(_signal: AbortSignal) -> str:
            await asyncio.wait_for(both.wait(), 10)
            return f"{name} met"

        return meet

    parent = await worked(Scripts(go=[[task("a"), task("b")]], a=[meeting("a")], b=[meeting("b")]))

    assert [text_of(result) for result in parent.results] == ["a met", "b met"]


async def test_no_more_than_the_maximum_work_at_the_same_time() -> None:
    at_work, most = 0, 0

    async def work(_signal: AbortSignal) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0)
        at_work -= 1
        return "ok"

    names = "abcde"
    model = Scripts(go=[[task(name) for name in names]], **{name: [work] for name in names})
    parent = await worked(model, most=2)

    assert most == 2
    assert [text_of(result) for result in parent.results] == ["ok"] * 5


async def until_aborted(signal: AbortSignal) -> str:
    over = asyncio.Event()
    signal.on_abort(over.set)
    await asyncio.wait_for(over.wait(), 10)
    signal.raise_if_aborted()
    return "never"


async def test_an_abort_reaches_subagents_and_their_tools() -> None:
    """One is in a tool, one waits for its model, one has not begun; all end, and what they used is counted."""
    in_tool, at_model = asyncio.Event(), asyncio.Event()

    async def sleep(_params: Any, signal: AbortSignal, _update: Any) -> ToolResult:
        in_tool.set()
        return text_result(await until_aborted(signal))

    async def forever(signal: AbortSignal) -> str:
        at_model.set()
        return await until_aborted(signal)

    model = Scripts(go=[[task("a"), task("b"), task("c")]], a=[[("sleep", {})]], b=[forever], c=["never"])
    parent = Parent(model, tool("sleep", sleep), most=2)

    await parent.host.prompt("go")
    await asyncio.wait_for(asyncio.gather(in_tool.wait(), at_model.wait()), 10)
    parent.host.request_abort("enough")
    await asyncio.wait_for(parent.host.settled(), 10)

    assert [(text_of(result), result.is_error) for result in parent.results] == [("Error: aborted", True)] * 3
    assert model.requests["c"] == []
    used = usage_of_subagents(parent.results[0])
    assert used is not None
    assert used.total_tokens == 110
    assert [host.is_running for host in parent.children] == [False, False]
    # A call of theirs that is left behind ends before that of the parent is cancelled.
    assert all(2 * host.abort_grace < parent.host.abort_grace for host in parent.children)


async def test_a_turn_that_a_subagent_begins_after_the_abort_is_aborted() -> None:
    """An extension may start a turn of its own at any moment, as a countdown does."""
    model = Scripts(go=[[task("a")]], a=[])
    begun: list[bool] = []

    def prepare(child: Host) -> None:
        release = child.pending.hold()

        def begin() -> None:
            parent.host.request_abort("enough")
            child.send_user("go on")
            release()

        def when_settled(event: PublicEvent) -> None:
            if isinstance(event, AgentSettled) and not begun:
                begun.append(True)
                asyncio.get_running_loop().call_soon(begin)

        child.listen(when_settled)

    parent = Parent(model, prepare=prepare)
    await talk(parent.host)

    assert len(model.requests["a"]) == 1
    assert text_of(parent.results[0]) == "Error: aborted"


async def test_the_usage_of_subagents_is_reported_as_it_arises_and_in_the_result() -> None:
    """Updates show only the number of tool calls."""
    model = Scripts(go=[[task("a")]], a=[[("look", {}), ("look", {})], "done"])
    parent = await worked(model, tool("look"))

    updates = [event["partialResult"]["content"] for event in of_kind(parent.told, "tool_execution_update")]
    assert [content[0]["text"] for content in updates] == ["Task: 1 tool call", "Task: 2 tool calls"]
    report = {"type": "subagent_usage", "toolCallId": "go10", "usage": encode_usage(USAGE)}
    assert of_kind(parent.told, "subagent_usage") == [report] * 2
    [result] = parent.results
    used = usage_of_subagents(result)
    assert used is not None
    assert (used.total_tokens, used.cost and used.cost.total) == (220, 0.6)
    assert isinstance(result.details, dict)
    details = [result.details[name] for name in ("requests", "toolCalls", "description", "conversation")]
    assert details == [2, 2, "look at a", "child0"]


def test_results_of_other_tools_have_no_usage_of_subagents() -> None:
    details = {"usage": encode_usage(USAGE)}

    assert usage_of_subagents(ToolResultMessage("c", "bash", (), details)) is None
    assert usage_of_subagents(ToolResultMessage("c", "task", ())) is None
    assert usage_of_subagents(ToolResultMessage("c", "task", (), {"usage": 1})) is None


async def test_a_subagent_that_has_yielded_begins_no_turn() -> None:
    """An extension that continues agents does not continue it, not even while its last turn ends."""

    def go_on(api: ExtensionAPI) -> None:
        def later(*_: object) -> None:
            asyncio.get_running_loop().call_soon(api.send_user_message, "go on")

        api.on(AgentEnd, lambda *_: api.send_message(CustomMessage("x", "go on"), trigger_turn=True))
        api.on(BeforeSettle, lambda *_: KeepGoing([CustomMessage("x", "go on")]))
        api.on(AgentSettled, later)

    model = Scripts(go=[[task("a")]], a=[[("yield", {"result": "1"})], "more"])
    parent = await worked(model, prepare=lambda host: extend(host, go_on))

    assert len(model.requests["a"]) == 1
    assert text_of(parent.results[0]) == "1"


async def test_extensions_of_the_parent_block_and_change_the_calls_of_subagents() -> None:
    """They also learn of each turn."""
    seen: list[Any] = []

    async def look(params: Any, _signal: Any, _update: Any) -> ToolResult:
        seen.append(params)
        return text_result("ok")

    def reply(event: ToolCallRequest, _ctx: ExtensionContext) -> Any:
        if event.tool_name == "rm":
            return BlockCall("not here")
        return ChangeArguments({"n": 7}) if event.tool_name == "look" else None

    turns: list[str] = []
    model = Scripts(go=[[task("a")]], a=[[("look", {"n": 1}), ("rm", {})], "done"])
    parent = Parent(model, tool("look", look), tool("rm"))
    extend(parent.host, lambda api: api.on(ToolCallRequest, reply))
    extend(parent.host, lambda api: api.on(SubagentTurn, lambda event, _ctx: turns.append(event.call_id)))

    await talk(parent.host)

    assert seen == [{"n": 7}]
    assert [text_of(each) for each in parent.children[0].transcript.tool_results()] == ["ok", "not here"]
    assert turns == ["go10", "go10"]


async def test_an_error_of_a_subagents_extension_is_reported_by_the_parent() -> None:
    def fail(*_: object) -> None:
        raise ValueError("broken")

    def broken(child: Host) -> None:
        extend(child, lambda api: api.on(ToolCallRequest, fail))

    parent = await worked(Scripts(go=[[task("a")]], a=[[("look", {})]]), tool("look"), prepare=broken)

    assert [event["error"] for event in of_kind(parent.told, "extension_error")] == ["broken"]


async def test_a_long_report_is_cut_and_the_list_follows_it() -> None:
    report = "\n".join(map(str, range(5000)))
    parent = await worked(Scripts(go=[[task("a")]], a=[report]), listed="- [x] One")

    text = text_of(parent.results[0])
    assert "\n1999\n\n\n(cut: 2000 of 5,000 lines)\n\nThe subagent's list:\n- [x] One" in text
    assert "2000\n" not in text.partition("(cut")[0]


class Asked(NoUI):
    """A person who always allows what is asked."""

    has_ui = True

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.notices: list[str] = []

    def notify(self, message: str, kind: str = "info") -> None:
        self.notices.append(f"{kind} {message}")

    async def ask_permission(self, request: PermissionRequest) -> PermissionReply | None:
        self.questions.append(request.question)
        return PermissionReply(PermissionAnswer.ALWAYS)

    async def select(self, title: str, options: Sequence[str], timeout: float | None = None) -> str | None:  # noqa: ASYNC109  the protocol's
        return f"{title} {options} {timeout}"

    async def confirm(self, title: str, message: str, timeout: float | None = None) -> bool:  # noqa: ASYNC109  the protocol's
        return (title, message, timeout) == ("Subagent “s”: t", "m", 1)

    async def input(self, title: str, placeholder: str = "") -> str | None:
        return f"{title} {placeholder}"

    async def editor(self, title: str, prefill: str = "") -> str | None:
        return f"{title} {prefill}"


async def test_permissions_are_asked_for_with_the_subagents_name_and_hold_for_the_whole_conversation(
    tmp_path: Any,
) -> None:
    """What the person allows one subagent, its parent and the others may do."""
    person = Asked()
    write: tuple[str, Json] = ("write", {"path": "x.txt", "content": "x"})
    model = Scripts(go=[[task("a\n\u202e")], [task("b")], [write]], **{"a\n\u202e": [[write]], "b": [[write]]})
    parent = await worked(model, *builtin_tools(PermissionGuard(PermissionPolicy())), ui=person, cwd=str(tmp_path))

    [question] = person.questions
    assert question.startswith("Subagent “look at a")
    assert "\n" not in question
    assert question.endswith("Create x.txt?  +1 −0")
    # The call of the parent waits for the person, too.
    waits = [(each["toolCallId"], each["asks"]) for each in of_kind(parent.told, "tool_execution_asks")]
    first = of_kind(parent.told, "tool_execution_start")[0]["toolCallId"]
    assert waits == [(first, True), (first, False)]
    results = [each for host in (*parent.children, parent.host) for each in host.transcript.tool_results()]
    assert [text_of(each) for each in results if each.tool_name == "write" and each.is_error] == []


async def test_questions_and_notices_of_a_subagent_go_to_the_person_but_panels_do_not() -> None:
    person = Asked()
    parent = Parent(Scripts(), ui=person)
    ui = subagent_host(parent.host, parent.transcript("c"), "s").ctx.ui

    ui.set_status("key", "text")
    ui.set_widget("key", ["line"])
    ui.notify("hello", "warning")
    await ui.page("a long text")

    assert (ui.has_ui, person.notices) == (True, ["warning Subagent “s”: hello", "info a long text"])
    assert await ui.select("t", ["a"], 2) == "Subagent “s”: t ['a'] 2"
    assert await ui.confirm("t", "m", 1)
    assert [await ask("t", "p") for ask in (ui.input, ui.editor)] == ["Subagent “s”: t p"] * 2


async def test_an_ordinary_host_has_no_yield() -> None:
    parent = await worked(Script([("yield", {"result": "x"})]))

    assert "unknown tool 'yield'" in text_of(parent.results[0])
    assert parent.host.yielded is None


async def test_waiting_ends_when_the_last_hold_is_released() -> None:
    holds = PendingWork()
    first, second = holds.hold(), holds.hold()
    waiting = asyncio.ensure_future(holds.released())

    first()
    first()
    await asyncio.sleep(0)
    held = bool(holds)
    second()
    await waiting

    assert (held, bool(holds)) == (True, False)


def counting_host() -> tuple[Host, FakeClock]:
    clock = FakeClock()
    host, _ = host_with(Script("one", "two"))
    host.after = clock.after
    return host, clock


async def test_a_holding_timer_keeps_the_run_alive_until_its_turn_is_over() -> None:
    host, clock = counting_host()
    host.ctx.after(3000, lambda: host.send_user("Go on"), holds=True)
    over = asyncio.ensure_future(host.over())
    await asyncio.sleep(0)
    waited = not over.done()

    clock.advance(3000)
    await over

    assert waited
    assert not host.is_running
    assert roles(host) == ["user", "assistant"]


async def test_a_cancelled_timer_does_not_keep_the_run_alive() -> None:
    host, clock = counting_host()
    forget = host.ctx.after(3000, lambda: host.send_user("Go on"), holds=True)
    other = host.ctx.after(5000, lambda: None)

    forget()
    await host.over()
    clock.advance(9000)
    other()

    assert host.transcript.messages() == []


def roles(host: Host) -> list[str]:
    return [message["role"] for message in messages.said_in(host.transcript)]


def stop_reasons(host: Host) -> list[str | None]:
    return [message.get("stopReason") for message in messages.said_in(host.transcript)]


async def open_another(host: Host) -> None:
    await host.open(Transcript(header("other", "/p", 0), now=lambda: 0, new_id=lambda: "e"), "new")


ACTS: dict[str, Callable[[Host], Awaitable[object]]] = {
    "prompt": lambda host: host.prompt("hi"),
    "command": lambda host: host.prompt("/look"),
    "steer": lambda host: host.steer("hi"),
    "follow_up": lambda host: host.follow_up("hi"),
    "abort": lambda host: host.abort(),
    "clear_queues": lambda host: host.clear_queues(),
    "rename": lambda host: host.rename("work"),
    "open": open_another,
    "turn_to": lambda host: host.turn_to(None),
}


@pytest.mark.parametrize("act", ACTS)
async def test_whatever_the_person_does_is_an_interruption(act: str) -> None:
    """Extensions hear of it first, so a countdown cannot end in the meantime."""
    host, _ = host_with(Script())
    heard: list[bool] = []

    async def look(_typed: str, _ctx: Any) -> None:
        assert heard

    extend(host, lambda api: api.register_command("look", "Look.", look))
    extend(host, lambda api: api.on(Interruption, lambda _, ctx: heard.append(ctx.is_idle)))

    await ACTS[act](host)

    assert heard == [True]
    await host.settled()


async def test_an_extension_that_speaks_is_no_interruption() -> None:
    host, _ = host_with(Script())
    heard: list[Any] = []
    extend(host, lambda api: api.on(Interruption, lambda *_: heard.append(1)))

    host.send_user("Go on")
    await host.settled()

    assert heard == []


async def test_an_abort_that_comes_too_late_stops_what_the_end_of_the_turn_starts() -> None:
    """The answer is complete: only a countdown, a reminder and the queue are left to be stopped. No message is lost."""
    host, clock = counting_host()
    cancels: list[Callable[[], None]] = []

    def plug(api: ExtensionAPI) -> None:
        api.on(TurnEnd, lambda *_: host.request_abort())
        api.on(AgentEnd, lambda _, ctx: cancels.append(ctx.after(3000, lambda: host.send_user("Go on"), holds=True)))
        api.on(BeforeSettle, lambda *_: KeepGoing([DeveloperMessage("Go on")]))
        api.on(Interruption, lambda *_: cancels[0]() if cancels else None)

    extend(host, plug)
    await host.prompt("Go")
    await host.follow_up("Later")
    await host.settled()

    assert not host.pending
    clock.advance(3000)
    assert stop_reasons(host) == [None, "stop"]
    assert await host.clear_queues() == ([], ["Later"])


class HeldModel(Script):
    """A model whose first answer takes until `go_on` is set, and its second for ever."""

    def __init__(self) -> None:
        super().__init__(self._first, self._second)
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def _first(self, signal: AbortSignal) -> None:
        self.begun.set()
        await self.go_on.wait()
        signal.raise_if_aborted()

    async def _second(self, _signal: AbortSignal) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize("times", [1, 2])
async def test_a_message_to_a_turn_that_was_aborted_begins_the_next_one(times: int) -> None:
    """Unless that is aborted before it begins: then the model is not asked."""
    model = HeldModel()
    host, _ = host_with(model)
    await host.prompt("Go")
    await model.begun.wait()

    aborting = asyncio.ensure_future(host.abort())
    speaking = asyncio.ensure_future(host.prompt("Instead"))
    await asyncio.sleep(0)
    for _ in range(times - 1):
        host.request_abort()
    waited = not speaking.done()
    model.go_on.set()
    await asyncio.gather(aborting, speaking)

    assert waited
    await until_async(lambda: len(messages.said_in(host.transcript)) == 2 + times)
    await (host.settled() if times > 1 else until_async(lambda: len(model.requests) == 2))
    assert (host.is_running, len(model.requests)) == ((True, 2) if times == 1 else (False, 1))
    assert [text for said in messages.said_in(host.transcript) if (text := messages.text_of(said))] == ["Go", "Instead"]
    await stopped(host)


async def test_an_abort_waits_only_for_the_turn_that_it_stops() -> None:
    """It takes longer than that turn, because an extension does; meanwhile the person has begun another one."""
    model, gate, heard = HeldModel(), asyncio.Event(), list[Any]()
    host, _ = host_with(model)

    async def wait_once(*_: Any) -> None:
        heard.append(1)
        if len(heard) == 1:
            await gate.wait()

    await host.prompt("Go")
    await model.begun.wait()
    extend(host, lambda api: api.on(Interruption, wait_once))
    aborting = asyncio.ensure_future(host.abort())
    await until_async(lambda: heard)
    model.go_on.set()
    await host.settled()
    await host.prompt("Instead")
    gate.set()
    await aborting

    assert host.is_running
    await stopped(host)


async def stopped(host: Host) -> None:
    """Cancel a turn that does not end."""
    task = host.task
    assert task
    task.cancel()
    await asyncio.wait({task})


async def test_a_message_of_an_extension_at_the_end_is_added_at_once() -> None:
    """It needs no turn."""
    said = CustomMessage("notice", "That was it.", display=True)
    host, _ = await ran(Script("one"), plug=lambda api: api.on(AgentEnd, lambda *_: api.send_message(said)))

    assert roles(host) == ["user", "assistant", "custom"]


async def test_messages_queued_at_the_end_are_answered_before_the_agent_settles() -> None:
    left = ["More", "And more"]

    def plug(api: ExtensionAPI) -> None:
        def say(*_: Any) -> None:
            if left:
                api.send_user_message(left.pop(), deliver_as=Delivery.FOLLOW_UP)

        api.on(AgentEnd, say)

    host, told = await ran(Script("one", "two"), plug=plug)

    assert roles(host) == ["user", "assistant"] * 3
    assert len(of_kind(told, "agent_settled")) == 1
    assert of_kind(told, "auto_retry_end") == []


async def test_a_run_aborted_during_a_tool_ends_with_an_aborted_message() -> None:
    """The last message shows that the run was aborted."""

    async def hang(_params: Any, signal: AbortSignal, _update: Any) -> ToolResult:
        stopped = asyncio.Event()
        signal.on_abort(stopped.set)
        host.request_abort("now")
        await stopped.wait()
        return text_result("ended")

    host, told = host_with(Script([("hang", {})], "never"), tool("hang", hang))
    await talk(host)

    assert stop_reasons(host) == [None, "toolUse", None, "aborted"]
    [end] = of_kind(told, "agent_end")
    assert end["messages"][-1]["stopReason"] == "aborted"
