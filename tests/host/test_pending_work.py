"""A run is over when no turn is running and no work is pending."""

import asyncio
from typing import Any

from tests.clock import FakeClock
from tests.host import records as messages
from tests.host.test_host import Script, extend, host_with, tool
from tildone.host.events import AgentEnd
from tildone.host.extension_api import ExtensionAPI
from tildone.host.host import Host
from tildone.host.messages import CustomMessage
from tildone.host.pending_work import PendingWork
from tildone.host.runtime import Delivery
from tildone.kit.definition import ToolResult, text_result
from tildone.kit.signal import AbortSignal


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

    assert held
    assert not holds


def counting_host() -> tuple[Host, FakeClock]:
    clock = FakeClock()
    host, _ = host_with(Script("one", "two"))
    host.runtime.after = clock.after
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
    assert [message["role"] for message in messages.said_in(host.transcript)] == ["user", "assistant"]


async def test_a_cancelled_timer_does_not_keep_the_run_alive() -> None:
    host, clock = counting_host()
    forget = host.ctx.after(3000, lambda: host.send_user("Go on"), holds=True)
    other = host.ctx.after(5000, lambda: None)

    forget()
    await host.over()
    clock.advance(9000)
    other()

    assert host.transcript.messages() == []


async def test_a_message_of_an_extension_at_the_end_is_added_at_once() -> None:
    """It needs no turn."""
    host, _ = host_with(Script("one"))
    said = CustomMessage("notice", "That was it.", display=True)
    extend(host, lambda api: api.on(AgentEnd, lambda *_: api.send_message(said)))

    await host.prompt("Go")
    await host.settled()

    assert [message["role"] for message in messages.said_in(host.transcript)] == ["user", "assistant", "custom"]


async def test_messages_queued_at_the_end_are_answered_before_the_agent_settles() -> None:
    host, told = host_with(Script("one", "two"))

    left = ["More", "And more"]

    def plug(api: ExtensionAPI) -> None:
        def say(*_: Any) -> None:
            if left:
                api.send_user_message(left.pop(), deliver_as=Delivery.FOLLOW_UP)

        api.on(AgentEnd, say)

    extend(host, plug)
    await host.prompt("Go")
    await host.settled()

    assert [message["role"] for message in messages.said_in(host.transcript)] == ["user", "assistant"] * 3
    assert [event["type"] for event in told].count("agent_settled") == 1
    assert "auto_retry_end" not in {event["type"] for event in told}


async def test_a_run_aborted_during_a_tool_ends_with_an_aborted_message() -> None:
    """The last message shows that the run was aborted."""

    async def hang(_params: Any, signal: AbortSignal, _update: Any) -> ToolResult:
        stopped = asyncio.Event()
        signal.on_abort(stopped.set)
        host.request_abort("now")
        await stopped.wait()
        return text_result("ended")

    host, told = host_with(Script([("hang", {})], "never"), tool("hang", hang))
    await host.prompt("Go")
    await host.settled()

    assert [message.get("stopReason") for message in messages.said_in(host.transcript)] == [
        None,
        "toolUse",
        None,
        "aborted",
    ]
    [end] = [event for event in told if event["type"] == "agent_end"]
    assert end["messages"][-1]["stopReason"] == "aborted"
