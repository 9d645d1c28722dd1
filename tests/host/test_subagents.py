"""Subagents in a host: their tools, results, aborts, bounds and usage, with models that answer from scripts."""

import asyncio
from typing import Any

from tests.host.subagent_bench import USAGE, Parent, Scripts, offered, task
from tests.host.test_host import extend, talk, tool
from tildone.base.errors import StoreError
from tildone.run.codec import encode_usage
from tildone.run.events import AgentEnd, AgentSettled, PublicEvent
from tildone.run.extension import BeforeSettle, KeepGoing, ToolCallRequest
from tildone.run.host import ExtensionAPI, Host
from tildone.run.kit.definition import AbortSignal, ToolResult, text_result
from tildone.run.messages import CustomMessage, ToolResultMessage, text_of
from tildone.run.model import ModelFailure
from tildone.run.subagents import usage_of_subagents
from tildone.run.transcript import Transcript
from tildone.stores.pi.session_file import header


async def test_a_subagent_has_a_conversation_of_its_own_and_its_result_is_that_of_the_call() -> None:
    """It knows nothing of the parent's conversation, has a prompt of its own, and its parent's has only the report."""
    model = Scripts(go=[[task("docs")], "thanks"], docs=[[("look", {})], [("yield", {"result": "12 pages"})]])
    parent = Parent(model, tool("look"))

    await talk(parent.host)

    [result] = parent.results
    assert (text_of(result), result.is_error) == ("12 pages", False)
    first = model.requests["docs"][0]
    assert [text_of(message) for message in first.messages] == ["docs"]
    assert first.system.startswith("You are a subagent")
    assert offered(first) == ["look", "yield"]
    assert offered(model.requests["go"][0]) == ["look", "task"]
    assert len(model.requests["docs"]) == 2
    assert (len(parent.children), parent.ended) == (1, 1)


async def test_without_yield_the_last_answer_is_the_result() -> None:
    model = Scripts(go=[[task("a"), task("b")]], a=["found it"], b=[" "])
    parent = Parent(model)

    await talk(parent.host)

    texts = [text_of(result) for result in parent.results]
    assert texts == ["found it", "The subagent ended without an answer."]


async def test_a_subagent_may_yield_an_error() -> None:
    """The call has failed with it; a call of yield without either is refused, and the subagent goes on."""
    model = Scripts(go=[[task("a")]], a=[[("yield", {})], [("yield", {"error": "there is no such file"})]])
    parent = Parent(model)

    await talk(parent.host)

    [result] = parent.results
    assert (text_of(result), result.is_error) == ("there is no such file", True)
    [refused, _] = parent.children[0].transcript.tool_results()
    assert "a result or an error is required" in text_of(refused)


async def test_tools_without_inherit_and_inactive_tools_are_not_the_subagents() -> None:
    """A host with yield does not register them at all, so an extension of the subagent cannot add one either."""

    def register(api: ExtensionAPI) -> None:
        for late in (tool("todo_write", inherit=False), tool("own"), tool("off")):
            api.register_tool(late)

    model = Scripts(go=[[task("a")]], a=[])
    parent = Parent(
        model,
        tool("look"),
        tool("todo_write", inherit=False),
        tool("off"),
        prepare=lambda host: extend(host, register),
    )
    extend(parent.host, lambda api: api.set_active_tools(["look", "todo_write", "task"]))

    await talk(parent.host)

    assert offered(model.requests["a"][0]) == ["look", "yield", "own"]
    assert offered(model.requests["go"][0]) == ["look", "todo_write", "task"]


async def test_several_subagents_work_at_the_same_time() -> None:
    """Each waits until both have begun; the results are in the order of the calls."""
    begun, both = [], asyncio.Event()

    async def meet(_signal: AbortSignal) -> str:
        begun.append(1)
        if len(begun) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 10)
        return f"met {len(begun)}"

    model = Scripts(go=[[task("a"), task("b")]], a=[meet], b=[meet])
    parent = Parent(model)

    await talk(parent.host)

    assert [text_of(result) for result in parent.results] == ["met 2", "met 2"]


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
    parent = Parent(model, most=2)

    await talk(parent.host)

    assert most == 2
    assert [text_of(result) for result in parent.results] == ["ok"] * 5


async def test_an_abort_reaches_subagents_and_their_tools() -> None:
    """One is in a tool, one waits for its model, one has not begun; all end, and what they used is counted."""
    in_tool, at_model = asyncio.Event(), asyncio.Event()

    async def sleep(_params: Any, signal: AbortSignal, _update: Any) -> ToolResult:
        in_tool.set()
        await forever(signal)
        return text_result("never")

    async def forever(signal: AbortSignal) -> str:
        at_model.set()
        over = asyncio.Event()
        signal.on_abort(over.set)
        await asyncio.wait_for(over.wait(), 10)
        signal.raise_if_aborted()
        return "never"

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
    model = Scripts(go=[[task("a")]], a=[[("look", {})], "done"])
    parent = Parent(model, tool("look"))

    await talk(parent.host)

    reports = [event for event in parent.told if event["type"] == "subagent_usage"]
    assert reports == [{"type": "subagent_usage", "toolCallId": "go10", "usage": encode_usage(USAGE)}] * 2
    [result] = parent.results
    used = usage_of_subagents(result)
    assert used is not None
    assert (used.total_tokens, used.cost and used.cost.total) == (220, 0.6)
    assert isinstance(result.details, dict)
    assert (result.details["requests"], result.details["toolCalls"]) == (2, 1)
    assert (result.details["description"], result.details["conversation"]) == ("look at a", "child0")


def test_results_of_other_tools_have_no_usage_of_subagents() -> None:
    details = {"usage": encode_usage(USAGE)}

    assert usage_of_subagents(ToolResultMessage("c", "bash", (), details)) is None
    assert usage_of_subagents(ToolResultMessage("c", "task", ())) is None
    assert usage_of_subagents(ToolResultMessage("c", "task", (), {"usage": 1})) is None


async def test_updates_show_only_the_number_of_tool_calls() -> None:
    model = Scripts(go=[[task("a")]], a=[[("look", {}), ("look", {})], "done"])
    parent = Parent(model, tool("look"))

    await talk(parent.host)

    updates = [event["partialResult"] for event in parent.told if event["type"] == "tool_execution_update"]
    assert [update["content"][0]["text"] for update in updates] == ["Task: 1 tool call", "Task: 2 tool calls"]


async def test_a_failure_of_the_model_is_a_failed_result_with_the_reason() -> None:
    """The parent goes on."""
    failure = ModelFailure("no such key", transient=False)
    model = Scripts(go=[[task("a")], "I see"], a=[failure])
    parent = Parent(model)

    await talk(parent.host)

    [result] = parent.results
    assert (text_of(result), result.is_error) == ("Error: the subagent's model failed: no such key", True)
    assert len(model.requests["go"]) == 2


async def test_a_subagent_that_an_extension_stops_has_failed() -> None:
    def stop(child: Host) -> None:
        extend(child, lambda api: api.on(ToolCallRequest, lambda _event, ctx: ctx.abort()))

    model = Scripts(go=[[task("a")]], a=[[("look", {})]])
    parent = Parent(model, tool("look"), prepare=stop)

    await talk(parent.host)

    [result] = parent.results
    assert (text_of(result), result.is_error) == ("Error: the subagent was stopped before it had finished", True)


async def test_a_conversation_that_cannot_be_stored_is_a_failed_result() -> None:
    def write(_record: Any) -> None:
        raise StoreError("the disk is full")

    def full(child: Host) -> None:
        child.use(Transcript(header("full", "/p", 0), now=lambda: 0, new_id=lambda: "e", write=write))

    parent = Parent(Scripts(go=[[task("a")]], a=[]), prepare=full)

    await talk(parent.host)

    [result] = parent.results
    assert (text_of(result), result.is_error, parent.ended) == ("the disk is full", True, 1)


async def test_a_subagent_that_has_yielded_begins_no_turn() -> None:
    """An extension that continues agents does not continue it, not even while its last turn ends."""

    def go_on(api: ExtensionAPI) -> None:
        def later(*_: object) -> None:
            asyncio.get_running_loop().call_soon(api.send_user_message, "go on")

        api.on(AgentEnd, lambda *_: api.send_message(CustomMessage("x", "go on"), trigger_turn=True))
        api.on(BeforeSettle, lambda *_: KeepGoing([CustomMessage("x", "go on")]))
        api.on(AgentSettled, later)

    model = Scripts(go=[[task("a")]], a=[[("yield", {"result": "1"})], "more"])
    parent = Parent(model, prepare=lambda host: extend(host, go_on))

    await talk(parent.host)

    assert len(model.requests["a"]) == 1
    assert text_of(parent.results[0]) == "1"
