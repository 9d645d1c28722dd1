"""A provider's stream is decoded to events and one message, in both formats."""

import asyncio
from typing import Any

import pytest

from tests.host import records as messages
from tests.host.models.scripted_model import (
    ANTHROPIC,
    CHAT,
    LOOK,
    answer_record,
    both_formats,
    chat_request,
    open_scripted,
    stream_records,
    without_usage,
)
from tildone.run.model import ModelFailure


@both_formats
async def test_text_is_streamed_and_then_returned_as_a_message(spec: str) -> None:
    async with open_scripted(spec, {"text": "All is well"}) as (model, _):
        deltas = await stream_records(model)

    assert without_usage(deltas) == [
        {"type": "text_start", "contentIndex": 0},
        {"type": "text_delta", "contentIndex": 0, "delta": "All"},
        {"type": "text_delta", "contentIndex": 0, "delta": " is"},
        {"type": "text_delta", "contentIndex": 0, "delta": " well"},
        {"type": "text_end", "contentIndex": 0, "content": "All is well"},
    ]
    assert deltas[-1]["type"] == "done"
    assert deltas[-1]["reason"] == "stop"
    assert deltas[-1]["message"]["content"] == [messages.text("All is well")]


@both_formats
async def test_an_answer_has_its_model_and_stop_reason(spec: str) -> None:
    """The fields of pi's assistant message, so that a session file can be opened there."""
    async with open_scripted(spec, {"text": "Hello"}) as (model, _):
        given = await answer_record(model)

    assert (given["role"], given["model"], given["responseModel"]) == ("assistant", model.id, "scripted")
    assert (given["api"], given["provider"]) == {
        CHAT: ("openai-completions", "openai"),
        ANTHROPIC: ("anthropic-messages", "anthropic"),
    }[spec]
    assert given["responseId"] == {CHAT: "chatcmpl-1", ANTHROPIC: "msg_1"}[spec]
    assert given["rawStopReason"] == {CHAT: "stop", ANTHROPIC: "end_turn"}[spec]
    assert given["timestamp"] > 1_700_000_000_000
    assert "errorMessage" not in given


@both_formats
async def test_text_and_a_tool_call_share_a_message(spec: str) -> None:
    async with open_scripted(spec, {"text": "Looking", "tool": "look", "args": {"path": "a.py"}}) as (model, _):
        deltas = await stream_records(model)

    told, call = deltas[-1]["message"]["content"]
    assert deltas[-1]["reason"] == "toolUse"
    assert told == messages.text("Looking")
    assert call == {"type": "toolCall", "id": call["id"], "name": "look", "arguments": {"path": "a.py"}}
    assert [delta for delta in without_usage(deltas) if delta["contentIndex"] == 1] == [
        {"type": "toolcall_start", "contentIndex": 1, "id": call["id"], "toolName": "look"},
        {"type": "toolcall_delta", "contentIndex": 1, "delta": '{"path":'},
        {"type": "toolcall_delta", "contentIndex": 1, "delta": ' "a.py"}'},
        {"type": "toolcall_end", "contentIndex": 1, "toolCall": call},
    ]


@both_formats
async def test_parallel_calls_keep_their_order_and_ids(spec: str) -> None:
    calls = [["look", {"path": name}] for name in "abc"]
    async with open_scripted(spec, {"tools": calls}) as (model, _):
        given = await answer_record(model)

    assert [call["arguments"]["path"] for call in messages.tool_calls(given)] == ["a", "b", "c"]
    assert len({call["id"] for call in messages.tool_calls(given)}) == 3


@both_formats
async def test_arguments_that_are_not_an_object_are_preserved_as_text(spec: str) -> None:
    """They match no tool's schema, so the host refuses the call."""
    wrong = ['{"path": "a', "[1]", "null", '"text"', "{path: 1}", "NaN", "[" * 100_000]
    async with open_scripted(spec, {"tools": [["look", arguments] for arguments in wrong]}) as (model, _):
        calls = messages.tool_calls(await answer_record(model))

    assert [call["arguments"] for call in calls] == [{}] * len(wrong)
    assert [messages.arguments_of(call) for call in calls] == wrong


@both_formats
async def test_a_call_without_arguments_has_an_empty_object(spec: str) -> None:
    async with open_scripted(spec, {"tool": "look", "args": ""}) as (model, _):
        [call] = messages.tool_calls(await answer_record(model))

    assert call == {"type": "toolCall", "id": call["id"], "name": "look", "arguments": {}}


@both_formats
async def test_thinking_is_a_block_of_its_own(spec: str) -> None:
    async with open_scripted(spec, {"thinking": "Hm hm", "text": "Yes"}) as (model, _):
        deltas = await stream_records(model)

    assert without_usage(deltas)[:4] == [
        {"type": "thinking_start", "contentIndex": 0},
        {"type": "thinking_delta", "contentIndex": 0, "delta": "Hm"},
        {"type": "thinking_delta", "contentIndex": 0, "delta": " hm"},
        {"type": "thinking_end", "contentIndex": 0, "content": "Hm hm"},
    ]
    thought, told = deltas[-1]["message"]["content"]
    assert (thought["type"], thought["thinking"], told) == ("thinking", "Hm hm", messages.text("Yes"))


@both_formats
async def test_text_arrives_before_the_answer_is_complete(spec: str) -> None:
    async with open_scripted(spec, {"text": "one two three", "hold": 3}) as (model, server):
        stream = model.stream(chat_request())

        early = [await anext(stream), await anext(stream)]

        assert await asyncio.to_thread(server.held.wait, 5)
        assert messages.delta(early[1])["delta"] == "one"
        server.release()
        assert [messages.delta(event) async for event in stream][-1]["message"]["content"] == [
            messages.text("one two three")
        ]


@pytest.mark.parametrize(
    ("spec", "ends", "reason"),
    [
        (CHAT, "length", "length"),
        (CHAT, "stop", "stop"),
        (CHAT, "something_new", "stop"),
        (CHAT, None, "stop"),
        (ANTHROPIC, "max_tokens", "length"),
        (ANTHROPIC, "stop_sequence", "stop"),
    ],
)
async def test_stop_reasons_are_mapped_to_those_of_pi(spec: str, ends: str | None, reason: str) -> None:
    async with open_scripted(spec, {"text": "So far", "ends": ends}) as (model, _):
        deltas = await stream_records(model)

    assert (deltas[-1]["reason"], deltas[-1]["message"]["stopReason"]) == (reason, reason)


@pytest.mark.parametrize(("spec", "ends"), [(CHAT, "length"), (ANTHROPIC, "max_tokens")])
async def test_a_truncated_call_has_the_stop_reason_length(spec: str, ends: str) -> None:
    """A truncated call must not be taken for a complete one."""
    async with open_scripted(spec, {"tool": "look", "args": '{"pa', "ends": ends}) as (model, _):
        given = await answer_record(model)

    assert given["stopReason"] == "length"
    assert messages.arguments_of(messages.tool_calls(given)[0]) == '{"pa'


@both_formats
async def test_tool_calls_with_the_stop_reason_stop_are_tool_use(spec: str) -> None:
    ends = {CHAT: "stop", ANTHROPIC: "end_turn"}[spec]
    async with open_scripted(spec, {"tool": "look", "args": {"path": "a"}, "ends": ends}) as (model, _):
        given = await answer_record(model)

    assert given["stopReason"] == "toolUse"


@pytest.mark.parametrize(("spec", "ends"), [(CHAT, "content_filter"), (ANTHROPIC, "refusal")])
async def test_a_refusal_is_a_permanent_failure(spec: str, ends: str) -> None:
    async with open_scripted(spec, {"text": "I", "ends": ends}) as (model, _):
        with pytest.raises(ModelFailure, match="refused") as caught:
            await stream_records(model)

    assert not caught.value.transient


async def test_a_message_without_a_stop_reason_is_incomplete() -> None:
    """Anthropic always sends a stop reason; a stream without one was cut off."""
    async with open_scripted(ANTHROPIC, {"text": "I", "ends": None}) as (model, _):
        with pytest.raises(ModelFailure, match="cut off") as caught:
            await stream_records(model)

    assert caught.value.transient


CACHED = {
    CHAT: {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 600}},
    ANTHROPIC: {
        "input_tokens": 100,
        "output_tokens": 50,
        "cache_read_input_tokens": 600,
        "cache_creation_input_tokens": 300,
    },
}


@both_formats
async def test_cached_tokens_are_not_counted_as_input(spec: str) -> None:
    """As in pi, the input excludes tokens that were read from or written to the cache."""
    async with open_scripted(spec, {"text": "Hello", "usage": CACHED[spec]}) as (model, _):
        usage = (await answer_record(model))["usage"]

    counted = {name: usage[name] for name in ("input", "output", "cacheRead", "cacheWrite", "totalTokens")}
    assert (
        counted
        == {
            CHAT: {"input": 400, "output": 50, "cacheRead": 600, "cacheWrite": 0, "totalTokens": 1050},
            ANTHROPIC: {"input": 100, "output": 50, "cacheRead": 600, "cacheWrite": 300, "totalTokens": 1050},
        }[spec]
    )


@both_formats
async def test_the_cost_is_known_for_a_model_on_the_price_list(spec: str) -> None:
    turn: dict[str, Any] = {"text": "Hello", "usage": CACHED[spec], "model": spec.partition(":")[2]}
    async with open_scripted(spec, turn) as (model, _):
        cost = (await answer_record(model))["usage"]["cost"]

    parts = [cost[name] for name in ("input", "output", "cacheRead", "cacheWrite")]
    assert cost["total"] == pytest.approx(sum(parts))
    assert all(part > 0 for part in parts) == (spec == ANTHROPIC)
    assert 0 < cost["cacheRead"] / 600 < cost["input"] / {CHAT: 400, ANTHROPIC: 100}[spec]


@both_formats
async def test_a_model_without_a_price_costs_nothing(spec: str) -> None:
    async with open_scripted(spec, {"text": "Hello"}) as (model, _):
        usage = (await answer_record(model))["usage"]

    assert usage == messages.empty_usage() | {"input": 10, "output": 5, "totalTokens": 15}


async def test_reasoning_tokens_are_counted_if_reported() -> None:
    told = {"completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 40}}
    async with open_scripted(CHAT, {"text": "Hello", "usage": told}) as (model, _):
        usage = (await answer_record(model))["usage"]

    assert (usage["output"], usage["reasoning"]) == (50, 40)


async def test_deltas_have_the_usage_as_soon_as_it_is_known() -> None:
    """Anthropic reports the input before the first text, so that a screen can show it."""
    async with open_scripted(ANTHROPIC, {"text": "Hello"}) as (model, _):
        deltas = await stream_records(model)

    assert deltas[0]["usage"]["input"] == 10


async def test_a_model_can_be_used_again_after_it_was_closed() -> None:
    async with open_scripted(CHAT, {"text": "One"}, {"text": "Two"}) as (model, _):
        await stream_records(model)
        await model.close()

        again = await answer_record(model, chat_request("Go on", tools=(LOOK,)))

    assert messages.text_of(again) == "Two"


async def test_the_last_turn_of_a_script_can_repeat() -> None:
    async with open_scripted(CHAT, {"text": "First"}, {"text": "Again", "repeat": True}) as (model, _):
        told = [messages.text_of(await answer_record(model)) for _ in range(4)]

    assert told == ["First", "Again", "Again", "Again"]
