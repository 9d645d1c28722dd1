"""Tool definitions, results, wrapping and dispatch."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypedDict

import pytest

from tildone.base import replace
from tildone.run.kit.definition import (
    AbortSignal,
    Delegate,
    ImageContent,
    InvalidDefinition,
    Invocation,
    OnUpdate,
    TextContent,
    ToolDefinition,
    ToolResult,
    content_to_json,
    dispatch_by_action,
    error_result,
    result_to_json,
    send_update,
    text_result,
    validated,
    wrap_tool,
)


class EchoParams(TypedDict):
    words: str


async def echo(
    tool_call_id: str, params: EchoParams, signal: AbortSignal | None, on_update: OnUpdate | None, ctx: object
) -> ToolResult:
    send_update(on_update, text_result("listening"))
    return text_result(params["words"], {"given": (tool_call_id, params, signal, on_update, ctx)})


PARAMETERS = {"type": "object", "required": ["words"], "properties": {"words": {"type": "string"}}}
ECHO = ToolDefinition("echo", "Echo", "Say it again.", PARAMETERS, echo)
FIVE = ("call_1", {"words": "hello"}, AbortSignal(), lambda _: None, {"cwd": "."})


def run(tool: ToolDefinition, *five: Any) -> ToolResult:
    async def call() -> ToolResult:
        return await tool.execute(*(five or FIVE))

    return asyncio.run(call())


def test_the_text_of_a_result_excludes_images() -> None:
    result = ToolResult((TextContent("one"), ImageContent("aGk=", "image/png"), TextContent("two")), {})

    assert result.text == "one\ntwo"
    assert ToolResult((), {}).text == ""


@pytest.mark.parametrize(
    ("details", "is_error", "failed"),
    [
        ({}, False, False),
        (None, False, False),
        ({}, True, True),
        (None, True, True),
        ({"error": "no todos exist"}, False, True),
        ({"error": None, "refusals": []}, False, False),
        ({"refusals": ["one is not done"]}, False, True),
    ],
)
def test_a_call_has_failed_if_its_details_say_so(details: object, *, is_error: bool, failed: bool) -> None:
    assert ToolResult((), details, is_error=is_error).failed is failed


def test_details_are_never_shared_between_results() -> None:
    one, other = text_result("a"), error_result("b")

    one.details["mine"] = True

    assert other.details == {}


def test_a_failed_call_has_its_message_and_empty_details() -> None:
    """Empty, not missing: renderers detect an exception by that."""
    assert error_result("No such file") == ToolResult((TextContent("No such file"),), {}, is_error=True)
    assert error_result("").text == "Operation failed"


def test_updates_are_sent_to_the_callback_if_there_is_one() -> None:
    seen = list[ToolResult]()

    send_update(seen.append, text_result("half"))
    send_update(None, text_result("nobody looks"))

    assert seen == [text_result("half")]


def test_the_defaults_of_a_definition_are_those_of_an_ordinary_tool() -> None:
    flags = (ECHO.exclusive, ECHO.strict, ECHO.discoverable, ECHO.inherit, ECHO.any_case_name)

    assert flags == (False, False, False, True, False)


def test_a_valid_definition_is_returned() -> None:
    assert validated(ECHO) is ECHO


@pytest.mark.parametrize("name", ["web_search", "processes", "get_v2_time", "a" * 64])
def test_names_in_snake_case_are_valid(name: str) -> None:
    assert validated(replace(ECHO, name=name)).name == name


@pytest.mark.parametrize("name", ["TodoWrite", "web-search", "_hidden", "two__lines", "2fast", "", "größe", "a\n"])
def test_other_names_are_invalid(name: str) -> None:
    with pytest.raises(InvalidDefinition, match="snake_case"):
        validated(replace(ECHO, name=name))


def test_any_case_names_may_be_allowed() -> None:
    assert validated(replace(ECHO, name="TodoWrite", any_case_name=True)).name == "TodoWrite"


@pytest.mark.parametrize("name", ["Todo Write", "", "9Lives"])
def test_any_case_names_are_checked_too(name: str) -> None:
    with pytest.raises(InvalidDefinition, match="letters, digits"):
        validated(replace(ECHO, name=name, any_case_name=True))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"name": "a" * 65}, "longer than 64"),
        ({"label": " "}, "label is empty"),
        ({"description": ""}, "description is empty"),
        ({"parameters": {"type": "string"}}, "schema of an object"),
        ({"parameters": None}, "schema of an object"),
        ({"parameters": {"type": "object", "properties": ["words"]}}, "properties of parameters"),
        ({"parameters": {"type": "object", "required": ["words"]}}, "properties that it does not describe: words"),
        ({"parameters": {"type": "object", "required": [5]}}, "properties that it does not describe: 5"),
        ({"prompt_guidelines": "Use it well"}, "tuple of texts"),
        ({"execute": None}, "execute must be called with tool_call_id, params, signal, on_update, ctx"),
        ({"execute": lambda _call, _params: None}, "execute must be called with"),
    ],
)
def test_an_invalid_definition_is_refused(changes: Mapping[str, Any], complaint: str) -> None:
    """At registration, not at the first call."""
    with pytest.raises(InvalidDefinition, match=complaint):
        validated(replace(ECHO, **changes))


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "object", "required": ["words"], "anyOf": [{"properties": {"words": {"type": "string"}}}]},
        {"type": "object", "required": 5},
        EchoParams,
    ],
)
def test_parameters_that_only_the_host_can_check_are_left_to_it(parameters: Any) -> None:
    """Other keywords may describe a required property, and a class is turned into a schema later."""
    assert validated(replace(ECHO, parameters=parameters)).parameters is parameters


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(InvalidDefinition, match=r"tool 'Echo': .*snake_case.*; the label is empty"):
        validated(replace(ECHO, name="Echo", label=""))


def test_a_wrapped_tool_keeps_unchanged_fields() -> None:
    loud = wrap_tool(ECHO, label="Loud echo", prompt_guidelines=("Shout.",))

    assert loud == replace(ECHO, label="Loud echo", prompt_guidelines=("Shout.",))


def test_a_wrapped_tool_is_validated() -> None:
    with pytest.raises(InvalidDefinition):
        wrap_tool(ECHO, name="Loud Echo")


def test_delegating_passes_on_all_five_arguments_in_order() -> None:
    """The same objects."""

    async def untouched(call: Invocation, delegate: Delegate) -> ToolResult:
        return await delegate(call)

    given = run(wrap_tool(ECHO, untouched)).details["given"]

    assert all(one is other for one, other in zip(given, FIVE, strict=True))


def test_a_wrapper_may_change_arguments_and_result() -> None:
    async def politely(call: Invocation, delegate: Delegate) -> ToolResult:
        inner = await delegate(replace(call, params={"words": f"{call.params['words']}, please"}))
        return text_result(inner.text.capitalize())

    assert run(wrap_tool(ECHO, politely)).text == "Hello, please"


def test_a_wrapper_may_answer_without_delegating() -> None:
    async def refuse(_call: Invocation, _delegate: Delegate) -> ToolResult:
        raise PermissionError("not today")

    with pytest.raises(PermissionError, match="not today"):
        run(wrap_tool(ECHO, refuse))


def test_a_replaced_execute_can_be_wrapped_too() -> None:
    async def silent(*_five: object) -> ToolResult:
        return text_result("…")

    async def twice(call: Invocation, delegate: Delegate) -> ToolResult:
        return text_result((await delegate(call)).text * 2)

    assert run(wrap_tool(ECHO, twice, execute=silent)).text == "……"


def test_calls_are_dispatched_by_action() -> None:
    async def stop(*_five: object) -> ToolResult:
        return text_result("stopped")

    tool = replace(ECHO, execute=dispatch_by_action({"say": echo, "stop": stop}))

    result = run(tool, "call_2", {"action": "say", "words": "hi"}, None, None, "ctx")
    stopped = run(tool, "call_3", {"action": "stop"}, None, None, "ctx")

    assert result.details["given"] == ("call_2", {"action": "say", "words": "hi"}, None, None, "ctx")
    assert stopped.text == "stopped"


@pytest.mark.parametrize("params", [{"action": "fly"}, {}, {"action": ["say"]}])
def test_an_unknown_action_is_an_error_that_names_the_known_ones(params: dict[str, Any]) -> None:
    tool = replace(ECHO, execute=dispatch_by_action({"say": echo, "stop": echo}))

    with pytest.raises(ValueError, match=r"Unknown action: .*; known are say, stop"):
        run(tool, "call_4", params, None, None, None)


def test_content_has_the_wire_format_of_hosts() -> None:
    text, image = TextContent("hi"), ImageContent("aGk=", "image/png")

    assert content_to_json(text) == {"type": "text", "text": "hi"}
    assert content_to_json(image) == {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def test_is_error_is_present_only_on_failures() -> None:
    assert result_to_json(text_result("hi")) == {"content": [{"type": "text", "text": "hi"}], "details": {}}
    assert result_to_json(error_result("no"))["isError"] is True
