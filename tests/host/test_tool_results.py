"""Results of tools that other people wrote: whatever they return, the run goes on."""

import asyncio
import json
from typing import Any

import pytest

from tests.host import records as messages
from tests.host.records import Json
from tests.host.test_host import Script, extend, host_with, talk, tool
from tildone.run.extension import ReplaceResult, ToolCallRequest, ToolResultReady
from tildone.run.kit.definition import AbortSignal, ImageContent, TextContent, ToolResult, text_result

HI = (TextContent("hi"),)


async def ended(run: Any) -> tuple[Json, list[Json]]:
    """Call a tool in a host; return the event of its end, and all events."""
    host, told = host_with(Script([("look", {})], "fine"), tool("look", run))
    await talk(host)
    assert messages.text_of(messages.said_in(host.transcript)[-1]) == "fine"
    json.dumps(told)
    json.dumps([entry.record for entry in host.transcript.entries], allow_nan=False)
    [event] = [event for event in told if event["type"] == "tool_execution_end"]
    return event, told


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ("text", "a tool must return a ToolResult, not a str"),
        (None, "a tool must return a ToolResult, not a NoneType"),
        ({"content": []}, "a tool must return a ToolResult, not a dict"),
        (ToolResult("text"), "the content of a result must be"),  # type: ignore[arg-type]  # what tools may do
        (ToolResult(None), "the content of a result must be"),  # type: ignore[arg-type]  # the same
        (ToolResult(("text",)), "the content of a result must be"),  # type: ignore[arg-type]  # the same
        (ToolResult((TextContent(5),)), "the content of a result must be"),  # type: ignore[arg-type]  # the same
        (ToolResult((ImageContent(b"x", "image/png"),)), "the content"),  # type: ignore[arg-type]  # the same
    ],
)
async def test_something_that_is_not_a_result_is_a_failed_call(returned: Any, problem: str) -> None:
    async def run(*_: Any) -> Any:
        return returned

    event, _ = await ended(run)

    assert event["isError"]
    assert problem in event["result"]["content"][0]["text"]


async def test_details_that_json_cannot_represent_are_converted() -> None:
    """The call has not failed: the tool has done its work."""
    circular: Json = {}
    circular["me"] = circular

    async def run(*_: Any) -> ToolResult:
        details = {"set": {1}, 5: (1, 2.5), "nan": float("nan"), "type": int, "ok": [None, True, "x"]}
        return ToolResult(HI, {**details, "circular": circular})

    event, _ = await ended(run)

    assert not event["isError"]
    details = event["result"]["details"]
    assert "…" in json.dumps(details.pop("circular"), ensure_ascii=False)
    assert details == {"set": [1], "5": [1, 2.5], "nan": None, "type": "<class 'int'>", "ok": [None, True, "x"]}


async def test_other_details_are_passed_on_as_they_are() -> None:
    details = {"pair": (1, 2)}

    async def run(*_: Any) -> ToolResult:
        return ToolResult([TextContent("hi"), ImageContent("aGk=", "image/png")], details)  # type: ignore[arg-type]  # a list works, too

    event, _ = await ended(run)

    assert event["result"]["details"] is details


async def test_updates_are_checked_and_converted_too() -> None:
    async def run(_params: Any, _signal: Any, on_update: Any) -> ToolResult:
        on_update(ToolResult(HI, {"set": {1}}))
        on_update({"output": "half"})
        return text_result("not reached")

    event, told = await ended(run)

    [update] = [event for event in told if event["type"] == "tool_execution_update"]
    assert update["partialResult"]["details"] == {"set": [1]}
    assert event["result"]["content"][0]["text"] == "a tool must return a ToolResult, not a dict"


async def test_the_result_of_an_extension_is_checked_too() -> None:
    host, told = host_with(Script([("look", {})], "fine"), tool("look"))
    extend(host, lambda api: api.on(ToolResultReady, lambda *_: ReplaceResult("mine")))  # type: ignore[arg-type]  # what extensions may do
    await talk(host)

    [event] = [event for event in told if event["type"] == "tool_execution_end"]
    assert event["isError"]
    assert event["result"]["content"][0]["text"] == "Error: a tool must return a ToolResult, not a str"


async def test_a_tool_whose_own_work_is_cancelled_fails_and_the_run_goes_on() -> None:
    async def run(*_: Any) -> ToolResult:
        work = asyncio.ensure_future(asyncio.Event().wait())
        work.cancel()
        await work
        return text_result("not reached")

    event, _ = await ended(run)

    assert event["isError"]
    assert event["result"]["content"][0]["text"] == "Error: cancelled"


async def test_work_that_the_abort_signal_cancels_is_an_aborted_call() -> None:
    """Also if the tool passes the cancellation on."""
    begun = asyncio.Event()

    async def run(_params: Any, signal: AbortSignal, _on_update: Any) -> ToolResult:
        work = asyncio.ensure_future(asyncio.Event().wait())
        signal.on_abort(work.cancel)
        begun.set()
        await work
        return text_result("not reached")

    host, told = host_with(Script([("look", {})]), tool("look", run))
    await host.prompt("go")
    await begun.wait()
    host.request_abort("Escape")
    async with asyncio.timeout(30):
        await host.settled()

    [event] = [event for event in told if event["type"] == "tool_execution_end"]
    assert event["result"]["content"][0]["text"] == "Error: aborted"


GRACE = 0.01


async def forever(updates: list[Any], *, cleans_up: bool) -> None:
    """Ignore cancellation until there is an update; with `cleans_up`, end at the first."""
    while not updates:
        try:
            await asyncio.sleep(GRACE)
        except asyncio.CancelledError:
            if cleans_up:
                raise


@pytest.mark.parametrize("cleans_up", [True, False])
async def test_a_call_that_ignores_the_abort_is_cancelled_and_then_left_behind(*, cleans_up: bool) -> None:
    """It is answered as aborted, the next call is not made, and what it reports later is dropped."""
    begun, over, updates = asyncio.Event(), asyncio.Event(), list[Any]()

    async def deaf(_params: Any, _signal: Any, on_update: Any) -> ToolResult:
        begun.set()
        try:
            await forever(updates, cleans_up=cleans_up)
            on_update(text_result("still there"))
            raise ValueError("too late")
        finally:
            over.set()

    model = Script([("deaf", {}), ("look", {})], "never")
    tools = tool("deaf", deaf, exclusive=True), tool("look", exclusive=True)
    host, told = host_with(model, *tools, abort_grace=GRACE)
    await host.prompt("go")
    await begun.wait()

    await host.abort()

    assert over.is_set() == cleans_up
    updates.append(1)
    await over.wait()
    await asyncio.sleep(0)
    assert "tool_execution_update" not in {event["type"] for event in told}
    results = [event["result"]["content"][0]["text"] for event in told if event["type"] == "tool_execution_end"]
    assert results == ["Error: aborted"] * 2
    assert messages.said_in(host.transcript)[-1]["stopReason"] == "aborted"
    assert len(model.requests) == 1


async def test_a_handler_that_ignores_the_abort_does_not_hold_up_the_call() -> None:
    """Such as one that asks the person."""
    begun = asyncio.Event()

    async def ask(*_: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    host, told = host_with(Script([("look", {})]), tool("look"), abort_grace=GRACE)
    extend(host, lambda api: api.on(ToolCallRequest, ask))
    await host.prompt("go")
    await begun.wait()

    await host.abort()

    [event] = [event for event in told if event["type"] == "tool_execution_end"]
    assert event["result"]["content"][0]["text"] == "Error: aborted"


async def test_a_run_that_is_cancelled_while_a_tool_works_stays_cancelled() -> None:
    begun = asyncio.Event()

    async def run(*_: Any) -> ToolResult:
        begun.set()
        await asyncio.Event().wait()
        return text_result("not reached")

    host, told = host_with(Script([("look", {})]), tool("look", run))
    await host.prompt("go")
    await begun.wait()
    task = host.task
    assert task is not None
    task.cancel()
    await asyncio.wait({task}, timeout=30)

    assert task.cancelled()
    assert "tool_execution_end" not in [event["type"] for event in told]
