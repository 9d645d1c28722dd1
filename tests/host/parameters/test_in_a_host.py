"""Tools with schemas of every kind in a host: calls, refusals, and what is sent to a provider."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, field_validator

from tests.host import records as messages
from tests.host.models.scripted_model import both_formats, chat_request, open_scripted, stream_records
from tests.host.test_host import Script, extend, host_with, talk
from tildone.plan.text.styles import plain
from tildone.run.extension import ChangeArguments, ToolCallRequest
from tildone.run.host import Host
from tildone.run.kit.defaults import default_call
from tildone.run.kit.definition import InvalidDefinition, ToolDefinition, ToolResult, draw, text_result, tool
from tildone.run.model import ToolSpec

ANYTHING_GOES = {
    "type": "object",
    "required": ["to"],
    "properties": {
        "to": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}}]},
        "mode": {"const": "fast"},
        "size": {"type": ["integer", "null"], "minimum": 1},
        "extra": True,
        "tree": {"$ref": "#/$defs/tree"},
    },
    "$defs": {"tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}}},
}


async def show(_call_id: str, params: Any, *_others: object) -> ToolResult:
    return text_result(repr(params))


SEND = ToolDefinition("send", "Send", "Send it.", ANYTHING_GOES, show)


async def results(definition: ToolDefinition, *calls: dict[str, Any]) -> list[tuple[str, bool]]:
    host, _ = host_with(Script([(definition.name, call) for call in calls], "done"), definition)
    await talk(host)
    return told(host)


def told(host: Host) -> list[tuple[str, bool]]:
    said = [message for message in messages.said_in(host.transcript) if message["role"] == "toolResult"]
    return [(message["content"][0]["text"], message["isError"]) for message in said]


async def test_a_schema_with_unions_constants_and_references_is_checked_in_a_run() -> None:
    good: dict[str, Any] = {"to": ["a"], "mode": "fast", "size": None, "extra": [1], "tree": {"child": {}}}

    assert await results(SEND, good, {"to": "", "mode": "slow"}, {"to": True}, {"to": 5, "size": "3"}) == [
        (repr(good), False),
        (
            "Error: to: expected at least 1 characters, got 0; mode: expected 'fast', got 'slow'",
            True,
        ),
        ("Error: to: expected a string or an array, got true", True),
        ("{'to': '5', 'size': 3}", False),
    ]


class Pair(BaseModel):
    low: int
    high: int = 9

    @field_validator("high")
    @classmethod
    def _bounded(cls, high: int) -> int:
        if high > 9:
            raise ValueError("high must be at most nine")
        return high


async def test_a_model_and_a_function_are_called_with_their_types() -> None:
    @tool
    async def add(pair: Annotated[Pair, "Both"], times: int = 1) -> str:
        """Add."""
        return str((pair.low + pair.high) * times)

    pair = ToolDefinition("pair", "Pair", "Show a pair.", Pair, show)

    assert await results(pair, {"low": "1"}, {"low": 1, "high": 10}) == [
        ("Pair(low=1, high=9)", False),
        ("Error: high: high must be at most nine", True),
    ]
    assert await results(add, {"pair": {"low": 1}, "times": 2}, {"pear": {}}) == [
        ("20", False),
        ("Error: pair: required, an object; pear: unknown field; known are pair, times", True),
    ]


async def test_extensions_see_and_change_the_arguments_of_a_typed_tool_as_json() -> None:
    host, _ = host_with(
        Script([("pair", {"low": 1})], "done"), ToolDefinition("pair", "Pair", "Show a pair.", Pair, show)
    )
    seen = list[object]()

    def change(request: ToolCallRequest, _ctx: object) -> ChangeArguments:
        seen.append(request.arguments)
        return ChangeArguments({"low": 2})

    extend(host, lambda api: api.on(ToolCallRequest, change))
    await talk(host)

    assert seen == [{"low": 1}]
    assert told(host) == [("Pair(low=2, high=9)", False)]


def test_a_schema_that_cannot_be_served_never_gets_into_a_run() -> None:
    host, _ = host_with(Script())
    broken = ToolDefinition("broken", "Broken", "Fail.", {"type": "object", "$ref": "#/nowhere"}, show)

    [failure] = host.load([("mine", lambda api: api.register_tool(broken))])

    assert "tool 'broken': parameters: $ref" in failure.error
    assert host.tools == {}
    with pytest.raises(InvalidDefinition, match="tool 'broken'"):
        host_with(Script(), broken)


@both_formats
async def test_every_kind_of_schema_is_sent_to_a_provider_unchanged(spec: str) -> None:
    async with open_scripted(spec) as (model, server):
        await stream_records(model, chat_request(tools=(ToolSpec("send", "Send it.", ANYTHING_GOES),)))

    [sent] = [each.get("function", each) for each in server.requests[0].body["tools"]]
    assert sent.get("parameters", sent.get("input_schema")) == ANYTHING_GOES


def test_the_default_rendering_takes_every_kind_of_schema() -> None:
    args = {"mode": "fast", "extra": {"x": 1}, "tree": {}, "size": None, "to": "me"}
    [line] = draw(default_call(SEND, args), 100)

    assert plain(line) == 'Send: "me" mode=fast size=null extra=1 field tree=0 fields'
    [line] = draw(default_call(SEND, {"mode": "fast"}), 100)
    assert plain(line) == "Send: mode=fast"
