"""Requests to a provider represent our messages exactly.

Its streams are decoded to events and one message, in both formats.
"""

import asyncio
import base64
import json
from typing import Any

import pytest

from tests.host import records as messages
from tests.host.models.model_server import ModelServer, Turn
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
from tests.host.records import Message
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.run.model import Model, ToolSpec
from tildone.run.providers.provider_model import parameters

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}


@both_formats
async def test_consecutive_messages_are_not_merged(spec: str) -> None:
    """A prompt and the context that an extension adds to it are two messages."""
    async with open_scripted(spec) as (model, server):
        await stream_records(
            model, chat_request("Continue.", {"role": "user", "content": "List: none"}, system="Be brief.")
        )

    assert seen(server) == [("user", "Continue."), ("user", "List: none")]
    assert system(server) == "Be brief."


@both_formats
async def test_without_a_system_prompt_no_system_message_is_sent(spec: str) -> None:
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request("Go", system="", tools=()))

    assert seen(server) == [("user", "Go")]
    assert system(server) is None
    assert "tools" not in server.requests[0].body


@both_formats
async def test_results_follow_the_calls_in_order_and_by_id(spec: str) -> None:
    async with open_scripted(spec, {"text": "Both", "tools": [["look", {"path": "a"}], ["look", {"path": "b"}]]}) as (
        model,
        server,
    ):
        asked = await answer_record(model)
        first, second = messages.tool_calls(asked)
        results = [result(first, "1"), result(second, "2", is_error=True)]

        await stream_records(model, chat_request("Go", asked, *results, "And now?"))

    if spec == CHAT:
        _, told, one, two, last = server.requests[1].messages
        assert [call["id"] for call in told["tool_calls"]] == [first["id"], second["id"]]
        assert told["content"] == "Both"
        assert [call["function"]["arguments"] for call in told["tool_calls"]] == ['{"path":"a"}', '{"path":"b"}']
        assert one == {"role": "tool", "tool_call_id": first["id"], "content": "1"}
        assert two == {"role": "tool", "tool_call_id": second["id"], "content": "2"}
    else:
        _, told, both, last = server.requests[1].messages
        assert [block["type"] for block in told["content"]] == ["text", "tool_use", "tool_use"]
        assert [block["tool_use_id"] for block in both["content"]] == [first["id"], second["id"]]
        assert [block["is_error"] for block in both["content"]] == [False, True]
        assert [block["content"][0]["text"] for block in both["content"]] == ["1", "2"]
    assert words(last) == "And now?"


@both_formats
@pytest.mark.parametrize("dialect", [INDEXED, PHASED, DECLARED], ids=lambda dialect: dialect.name)
async def test_schemas_are_sent_unchanged(spec: str, dialect: Any) -> None:
    """No key of a schema is added, dropped or moved, and strict mode does not rewrite it."""
    tools = [ToolSpec(tool.name, tool.description, tool.parameters) for tool in dialect.tools]
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request(tools=(LOOK, *tools)))

    sent = [tool.get("function", tool) for tool in server.requests[0].body["tools"]]
    assert [(tool["name"], tool["description"]) for tool in sent] == [(t.name, t.description) for t in (LOOK, *tools)]
    for tool, meant in zip(sent, (LOOK, *tools), strict=True):
        schema = tool["parameters" if spec == CHAT else "input_schema"]
        assert schema == meant.parameters
        assert list(schema) == list(meant.parameters)
        assert not tool.get("strict")


def test_strict_mode_is_switched_off() -> None:
    """OpenAI's Responses API is strict by default."""
    assert [tool.strict for tool in parameters(chat_request()).function_tools] == [False]


@both_formats
async def test_a_user_message_can_contain_an_image(spec: str) -> None:
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request(messages.user("What is it?", 0, [IMAGE])))

    told, shown = server.requests[0].messages[0]["content"]
    assert told["text"] == "What is it?"
    assert PIXEL in str(shown)
    assert "image/png" in str(shown)


@both_formats
async def test_a_tool_result_can_contain_an_image(spec: str) -> None:
    async with open_scripted(spec, {"tool": "look", "args": {"path": "a.png"}}) as (model, server):
        asked = await answer_record(model)
        [call] = messages.tool_calls(asked)
        shown = messages.tool_result(call["id"], "look", [messages.text("Seen"), IMAGE], is_error=False, at=0)

        await stream_records(model, chat_request("Go", asked, shown))

    assert "Seen" in str(server.requests[1].messages)
    assert PIXEL in str(server.requests[1].messages)


@both_formats
async def test_thinking_is_sent_back_to_its_own_model(spec: str) -> None:
    async with open_scripted(spec, {"thinking": "Hm", "tool": "look", "args": {"path": "a"}}) as (model, server):
        asked = await answer_record(model)

        await stream_records(model, chat_request("Go", asked, result(messages.tool_calls(asked)[0], "1")))

    told = server.requests[1].messages[1]
    if spec == CHAT:
        assert told["reasoning_content"] == "Hm"
    else:
        assert told["content"][0] == {"type": "thinking", "thinking": "Hm", "signature": "c2lnbmVk"}


@both_formats
async def test_the_answer_of_another_model_is_sent_without_thinking_and_provider_state(spec: str) -> None:
    """A provider refuses the signatures and some ids of another one."""
    call = messages.tool_call("call_1|fc_2", "look", {"path": "a"}) | {"thoughtSignature": "opaque"}
    thought = {"type": "thinking", "thinking": "Hm", "thinkingSignature": "c2ln"}
    said = messages.text("Looking") | {"textSignature": "msg_1"}
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request("Go", by_another([thought, said, call]), result(call, "1")))

    sent = str(server.requests[0].messages)
    assert "Hm" not in sent
    assert "Looking" in sent
    assert "opaque" not in sent
    assert sent.count("'call_1_fc_2'") == 2


@both_formats
async def test_an_answer_with_only_the_thinking_of_another_model_is_left_out(spec: str) -> None:
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request("Go", by_another([{"type": "thinking", "thinking": "Hm"}]), "Well?"))

    assert seen(server) == [("user", "Go"), ("user", "Well?")]


async def test_thinking_is_sent_back_only_with_its_signature() -> None:
    """Redacted thinking has nothing else; interrupted thinking has none, and the provider refuses it."""
    hidden = {"type": "thinking", "thinking": "", "thinkingSignature": "c2VjcmV0", "redacted": True}
    async with open_scripted(ANTHROPIC) as (model, server):
        await stream_records(model, chat_request("Go", by(model, [hidden, messages.text("Yes")]), "Why?"))
        redacted = server.requests[0].messages[1]["content"][0]
        await stream_records(model, chat_request("Go", by(model, [{"type": "thinking", "thinking": "Hm"}]), "Well?"))

    assert redacted == {"type": "redacted_thinking", "data": "c2VjcmV0"}
    assert seen(server) == [("user", "Go"), ("user", "Well?")]


@both_formats
async def test_a_call_with_invalid_json_can_be_sent_again(spec: str) -> None:
    """Both formats accept only an object; the model still sees the text it wrote."""
    async with open_scripted(spec, {"tool": "look", "args": '{"path": '}) as (model, server):
        asked = await answer_record(model)

        await stream_records(
            model, chat_request("Go", asked, result(messages.tool_calls(asked)[0], "no", is_error=True))
        )

    told = server.requests[1].messages[1]
    sent = json.loads(told["tool_calls"][0]["function"]["arguments"]) if spec == CHAT else told["content"][0]["input"]
    assert list(sent.values()) == ['{"path": ']


@both_formats
async def test_a_lone_surrogate_does_not_break_the_conversation(spec: str) -> None:
    """It cannot be encoded as UTF-8, and every later request would contain it."""
    call = messages.tool_call("call_1", "look", {"path": "\ud83d"})
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request("a\ud83d", by(model, [call]), result(call, "\udc4db")))

    assert "a\ufffd" in str(server.requests[0].messages)
    assert "\ufffdb" in str(server.requests[0].messages)


async def test_caching_is_requested_from_providers_that_need_it() -> None:
    async with open_scripted(ANTHROPIC) as (model, server):
        await stream_records(model, chat_request("Go", system="Be brief."))

    body = server.requests[0].body
    assert body["cache_control"]["type"] == "ephemeral"
    assert body["system"][0]["cache_control"]["type"] == "ephemeral"


def result(call: dict[str, Any], text: str, *, is_error: bool = False) -> Message:
    return messages.tool_result(call["id"], call["name"], text, is_error=is_error, at=0)


def by(model: Model, content: list[dict[str, Any]]) -> Message:
    return messages.assistant(content, model, messages.empty_usage(), "stop", 0)


def by_another(content: list[dict[str, Any]]) -> Message:
    return messages.assistant(
        content, messages.SilentModel("openai-responses", "elsewhere", "other"), messages.empty_usage(), "toolUse", 0
    )


def seen(server: ModelServer) -> list[tuple[str, str]]:
    shown = server.requests[-1].messages
    return [(message["role"], words(message)) for message in shown if message["role"] not in {"system", "developer"}]


def words(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def system(server: ModelServer) -> str | None:
    body = server.requests[-1].body
    if isinstance(body.get("system"), list):
        return "".join(block["text"] for block in body["system"])
    found = [words(message) for message in body["messages"] if message["role"] in {"system", "developer"}]
    return found[0] if found else None


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
    ("spec", "ends", "reason", "with_call"),
    [
        (CHAT, "length", "length", "length"),
        (CHAT, "stop", "stop", "toolUse"),
        (CHAT, "something_new", "stop", "toolUse"),
        (CHAT, None, "stop", "toolUse"),
        (ANTHROPIC, "max_tokens", "length", "length"),
        (ANTHROPIC, "stop_sequence", "stop", "toolUse"),
        (ANTHROPIC, "end_turn", "stop", "toolUse"),
    ],
)
async def test_stop_reasons_are_mapped_to_those_of_pi(spec: str, ends: str | None, reason: str, with_call: str) -> None:
    """A truncated call must not be taken for a complete one."""
    call: Turn = {"tool": "look", "args": '{"pa', "ends": ends}
    async with open_scripted(spec, {"text": "So far", "ends": ends}, call) as (model, _):
        deltas = await stream_records(model)
        called = await answer_record(model)

    assert (deltas[-1]["reason"], deltas[-1]["message"]["stopReason"]) == (reason, reason)
    assert called["stopReason"] == with_call
    assert messages.arguments_of(messages.tool_calls(called)[0]) == '{"pa'


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
