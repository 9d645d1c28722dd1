"""Requests represent our messages exactly; streams are decoded to events and one message, in both formats."""

import asyncio
import base64
import json
from pathlib import Path
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
from tests.host.records import Json, Message
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.run.model import Model, ToolSpec
from tildone.run.providers.provider_model import parameters

IMAGE = {"type": "image", "data": base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(), "mimeType": "image/png"}
REQUESTS, ANSWERS = (
    json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8")) for name in ("requests.json", "answers.json")
)


@both_formats
async def test_a_conversation_is_sent_message_by_message(spec: str) -> None:
    """Consecutive messages are not merged: a prompt and the context that an extension adds to it are two.

    The answers of another model are sent without thinking, signatures and ids, which a provider refuses, and left out
    if nothing remains. Lone surrogates, which every later request would contain, are replaced.
    """
    async with open_scripted(spec) as (model, server):
        said = [by(model, each["content"]) if is_own(each) else each for each in REQUESTS["conversation"]]
        await stream_records(model, chat_request(*said, system="Be brief."))

    assert server.requests[0].messages == REQUESTS[spec]
    if spec == ANTHROPIC:  # which caches only what it is asked to
        [system] = server.requests[0].body["system"]
        assert (system.pop("cache_control")["type"], system) == ("ephemeral", {"type": "text", "text": "Be brief."})
        assert server.requests[0].body["cache_control"]["type"] == "ephemeral"


def is_own(message: Message) -> bool:
    return message["role"] == "assistant" and "model" not in message


@both_formats
async def test_without_a_system_prompt_no_system_message_is_sent(spec: str) -> None:
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request("Go", system="", tools=()))

    assert seen(server) == [("user", "Go")]
    assert not {"system", "tools"} & server.requests[0].body.keys()


@both_formats
async def test_an_answer_is_sent_back_with_the_results_of_its_calls(spec: str) -> None:
    """With its thinking, and with a call whose arguments are no object: the model sees the text that it wrote."""
    calls = [["look", {"path": "a.png"}], ["look", '{"path": ']]
    async with open_scripted(spec, {"thinking": "Hm", "text": "Both", "tools": calls}) as (model, server):
        asked = await answer_record(model)
        first, second = messages.tool_calls(asked)
        image = messages.tool_result(first["id"], "look", [messages.text("Seen"), IMAGE], is_error=False, at=0)

        await stream_records(model, chat_request("Go", asked, image, result(second, "2", is_error=True), "And now?"))

    [_, told, *results, last] = server.requests[1].messages
    if spec == CHAT:
        arguments = [json.loads(call["function"]["arguments"]) for call in told["tool_calls"]]
        assert (told["reasoning_content"], told["content"]) == ("Hm", "Both")
        assert [call["id"] for call in told["tool_calls"]] == [first["id"], second["id"]]
        assert [each.get("tool_call_id") for each in results[:2]] == [first["id"], second["id"]]
        assert results[1] == {"role": "tool", "tool_call_id": second["id"], "content": "2"}
    else:
        thinking, text, *uses = told["content"]
        [both] = results
        arguments = [use["input"] for use in uses]
        assert thinking == {"type": "thinking", "thinking": "Hm", "signature": "c2lnbmVk"}
        assert text == {"type": "text", "text": "Both"}
        assert [block["tool_use_id"] for block in both["content"]] == [first["id"], second["id"]]
        assert [block["is_error"] for block in both["content"]] == [False, True]
        assert [block["content"][0]["text"] for block in both["content"]] == ["Seen", "2"]
    assert [list(each.values()) for each in arguments] == [["a.png"], ['{"path": ']]
    assert "Seen" in str(results)
    assert IMAGE["data"] in str(results)
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


async def test_thinking_is_sent_back_only_with_its_signature() -> None:
    """Redacted thinking has nothing else; interrupted thinking has none, and the provider refuses it."""
    hidden = {"type": "thinking", "thinking": "", "thinkingSignature": "c2VjcmV0", "redacted": True}
    async with open_scripted(ANTHROPIC) as (model, server):
        await stream_records(model, chat_request("Go", by(model, [hidden, messages.text("Yes")]), "Why?"))
        redacted = server.requests[0].messages[1]["content"][0]
        await stream_records(model, chat_request("Go", by(model, [{"type": "thinking", "thinking": "Hm"}]), "Well?"))

    assert redacted == {"type": "redacted_thinking", "data": "c2VjcmV0"}
    assert seen(server) == [("user", "Go"), ("user", "Well?")]


def result(call: dict[str, Any], text: str, *, is_error: bool = False) -> Message:
    return messages.tool_result(call["id"], call["name"], text, is_error=is_error, at=0)


def by(model: Model, content: list[dict[str, Any]]) -> Message:
    return messages.assistant(content, model, messages.empty_usage(), "stop", 0)


def seen(server: ModelServer) -> list[tuple[str, str]]:
    return [(message["role"], words(message)) for message in server.requests[-1].messages]


def words(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def without_state(content: list[Json]) -> list[Json]:
    return [{name: value for name, value in block.items() if name not in STATE} for block in content]


STATE = {"tildone", "thinkingSignature"}


@both_formats
@pytest.mark.parametrize("case", ANSWERS)
async def test_an_answer_is_streamed_and_then_returned_as_a_message(spec: str, case: str) -> None:
    expected = ANSWERS[case]
    async with open_scripted(spec, expected["turn"]) as (model, _):
        told = json.loads(
            json.dumps(await stream_records(model)).replace("toolu_1_", "call_").replace("call_1_", "call_")
        )

    done = told[-1]
    assert without_usage(told) == expected["events"]
    assert (done["type"], done["reason"]) == ("done", expected["reason"])
    assert without_state(done["message"]["content"]) == expected["content"]


@both_formats
async def test_an_answer_has_its_model_and_stop_reason(spec: str) -> None:
    """The fields of pi's assistant message, so that a session file can be opened there."""
    async with open_scripted(spec, {"text": "Hello"}) as (model, _):
        given = await answer_record(model)

    assert (given["role"], given["model"], given["responseModel"]) == ("assistant", model.id, "scripted")
    assert [given[name] for name in ("api", "provider", "responseId", "rawStopReason")] == {
        CHAT: ["openai-completions", "openai", "chatcmpl-1", "stop"],
        ANTHROPIC: ["anthropic-messages", "anthropic", "msg_1", "end_turn"],
    }[spec]
    assert given["timestamp"] > 1_700_000_000_000
    assert "errorMessage" not in given
    assert given["usage"] == messages.empty_usage() | {"input": 10, "output": 5, "totalTokens": 15}


@both_formats
async def test_arguments_that_are_not_an_object_are_preserved_as_text(spec: str) -> None:
    """They match no tool's schema, so the host refuses the call."""
    wrong = ['{"path": "a', "[1]", "null", '"text"', "{path: 1}", "NaN", "[" * 100_000]
    async with open_scripted(spec, {"tools": [["look", arguments] for arguments in wrong]}) as (model, _):
        calls = messages.tool_calls(await answer_record(model))

    assert [call["arguments"] for call in calls] == [{}] * len(wrong)
    assert [messages.arguments_of(call) for call in calls] == wrong


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


CACHED: dict[str, tuple[Json, Json]] = {
    CHAT: (
        {
            "prompt_tokens": 1000,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 600},
            "completion_tokens_details": {"reasoning_tokens": 40},
        },
        {"input": 400, "output": 50, "cacheRead": 600, "cacheWrite": 0, "totalTokens": 1050, "reasoning": 40},
    ),
    ANTHROPIC: (
        {"input_tokens": 100, "output_tokens": 50, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 300},
        {"input": 100, "output": 50, "cacheRead": 600, "cacheWrite": 300, "totalTokens": 1050},
    ),
}


@both_formats
async def test_cached_tokens_are_not_counted_as_input_and_have_a_price_of_their_own(spec: str) -> None:
    """As in pi, the input excludes tokens that were read from or written to the cache.

    The deltas have the usage as soon as it is known: Anthropic reports the input before the first text.
    """
    reported, counted = CACHED[spec]
    async with open_scripted(spec, {"text": "Hi", "usage": reported, "model": spec.partition(":")[2]}) as (model, _):
        deltas = await stream_records(model)

    usage = deltas[-1]["message"]["usage"]
    cost = usage.pop("cost")
    parts = [cost[name] for name in ("input", "output", "cacheRead", "cacheWrite")]
    assert usage == counted
    assert cost["total"] == pytest.approx(sum(parts))
    assert all(part > 0 for part in parts) == (spec == ANTHROPIC)
    assert 0 < cost["cacheRead"] / 600 < cost["input"] / counted["input"]
    assert spec == CHAT or deltas[0]["usage"]["input"] == 100


async def test_a_model_can_be_used_again_after_it_was_closed() -> None:
    async with open_scripted(CHAT, {"text": "One"}, {"text": "Two"}) as (model, _):
        await stream_records(model)
        await model.close()

        again = await answer_record(model, chat_request("Go on", tools=(LOOK,)))

    assert messages.text_of(again) == "Two"
