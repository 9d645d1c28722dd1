"""What a provider streams arrives as our deltas and as one message, in either format."""

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
from tildone.host.model import ModelFailure


@both_formats
async def test_text_comes_word_by_word_and_then_as_a_message(spec: str) -> None:
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
async def test_an_answer_says_who_gave_it_and_why_it_ended(spec: str) -> None:
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
async def test_calls_side_by_side_keep_their_order_and_their_ids(spec: str) -> None:
    calls = [["look", {"path": name}] for name in "abc"]
    async with open_scripted(spec, {"tools": calls}) as (model, _):
        given = await answer_record(model)

    assert [call["arguments"]["path"] for call in messages.tool_calls(given)] == ["a", "b", "c"]
    assert len({call["id"] for call in messages.tool_calls(given)}) == 3


@both_formats
async def test_arguments_that_are_no_object_are_kept_as_they_came(spec: str) -> None:
    """The door refuses them, since text fits no tool's schema; nothing on the way there breaks."""
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
async def test_words_arrive_while_the_model_is_still_speaking(spec: str) -> None:
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
async def test_why_an_answer_ended_is_said_in_pis_words(spec: str, ends: str | None, reason: str) -> None:
    async with open_scripted(spec, {"text": "So far", "ends": ends}) as (model, _):
        deltas = await stream_records(model)

    assert (deltas[-1]["reason"], deltas[-1]["message"]["stopReason"]) == (reason, reason)


@pytest.mark.parametrize(("spec", "ends"), [(CHAT, "length"), (ANTHROPIC, "max_tokens")])
async def test_a_call_that_was_cut_by_the_limit_says_so(spec: str, ends: str) -> None:
    """Half a call is not to be mistaken for a whole one."""
    async with open_scripted(spec, {"tool": "look", "args": '{"pa', "ends": ends}) as (model, _):
        given = await answer_record(model)

    assert given["stopReason"] == "length"
    assert messages.arguments_of(messages.tool_calls(given)[0]) == '{"pa'


@both_formats
async def test_a_server_that_calls_tools_but_says_stop_is_understood(spec: str) -> None:
    ends = {CHAT: "stop", ANTHROPIC: "end_turn"}[spec]
    async with open_scripted(spec, {"tool": "look", "args": {"path": "a"}, "ends": ends}) as (model, _):
        given = await answer_record(model)

    assert given["stopReason"] == "toolUse"


@pytest.mark.parametrize(("spec", "ends"), [(CHAT, "content_filter"), (ANTHROPIC, "refusal")])
async def test_a_refusal_is_a_failure_that_will_not_pass(spec: str, ends: str) -> None:
    async with open_scripted(spec, {"text": "I", "ends": ends}) as (model, _):
        with pytest.raises(ModelFailure, match="refused") as caught:
            await stream_records(model)

    assert not caught.value.transient


async def test_a_message_that_just_ends_was_cut_off() -> None:
    """Anthropic always says why it ends; a stream that does not was cut, however cleanly."""
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
async def test_tokens_are_counted_once_wherever_they_came_from(spec: str) -> None:
    """The input is what was neither read from the cache nor written to it, as pi counts."""
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
async def test_a_model_that_is_on_no_price_list_costs_nothing(spec: str) -> None:
    async with open_scripted(spec, {"text": "Hello"}) as (model, _):
        usage = (await answer_record(model))["usage"]

    assert usage == messages.empty_usage() | {"input": 10, "output": 5, "totalTokens": 15}


async def test_reasoning_is_counted_where_it_is_told() -> None:
    told = {"completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 40}}
    async with open_scripted(CHAT, {"text": "Hello", "usage": told}) as (model, _):
        usage = (await answer_record(model))["usage"]

    assert (usage["output"], usage["reasoning"]) == (50, 40)


async def test_usage_is_told_with_the_deltas_as_soon_as_it_is_known() -> None:
    """Anthropic counts the input before the first word; whoever watches can show it."""
    async with open_scripted(ANTHROPIC, {"text": "Hello"}) as (model, _):
        deltas = await stream_records(model)

    assert deltas[0]["usage"]["input"] == 10


async def test_a_model_can_be_used_again_after_it_was_closed() -> None:
    async with open_scripted(CHAT, {"text": "One"}, {"text": "Two"}) as (model, _):
        await stream_records(model)
        await model.close()

        again = await answer_record(model, chat_request("Go on", tools=(LOOK,)))

    assert messages.text_of(again) == "Two"


async def test_a_script_can_go_on_for_ever() -> None:
    async with open_scripted(CHAT, {"text": "First"}, {"text": "Again", "repeat": True}) as (model, _):
        told = [messages.text_of(await answer_record(model)) for _ in range(4)]

    assert told == ["First", "Again", "Again", "Again"]
