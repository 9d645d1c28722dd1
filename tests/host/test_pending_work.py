"""Work that is pending after a turn: a run is over without it, and the person can stop it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.clock import FakeClock
from tests.host import records as messages
from tests.host.test_host import Script, extend, host_with, tool
from tests.suite.waiting import until_async
from tildone.run.events import AgentEnd, TurnEnd
from tildone.run.extension import BeforeSettle, Interruption, KeepGoing
from tildone.run.host import ExtensionAPI, Host
from tildone.run.kit.definition import AbortSignal, ToolResult, text_result
from tildone.run.messages import CustomMessage, DeveloperMessage
from tildone.run.queues import Delivery
from tildone.run.transcript import Transcript
from tildone.run.turn_loop import PendingWork
from tildone.stores.pi.session_file import header


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
    assert [message.get("stopReason") for message in messages.said_in(host.transcript)] == [None, "stop"]
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
