"""Tools made from functions: what the decorator takes from the function, and what the host passes to it."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from tildone.run.kit.definition import (
    AbortSignal,
    Delegate,
    InvalidDefinition,
    Invocation,
    OnUpdate,
    ToolDefinition,
    ToolResult,
    send_update,
    text_result,
    tool,
    validated,
    wrap_tool,
)


@tool
async def search_notes(query: Annotated[str, "Words to look for"], limit: int = 10) -> str:
    """Search the notes.

    Newest first.
    """
    return f"{query} {limit}"


def run(definition: ToolDefinition, params: dict[str, Any], *others: Any) -> ToolResult:
    return asyncio.run(definition.execute("call_1", params, *(others or (None, None, None))))


def test_name_label_and_description_come_from_the_function() -> None:
    assert validated(search_notes) is search_notes
    assert (search_notes.name, search_notes.label) == ("search_notes", "Search Notes")
    assert search_notes.description == "Search the notes.\n\nNewest first."


def test_they_can_be_given_and_other_fields_too() -> None:
    @tool(name="find", label="Finder", description="Find it.", exclusive=True, prompt_guidelines=("Use it.",))
    async def search() -> str:
        return ""

    assert (search.name, search.label, search.description) == ("find", "Finder", "Find it.")
    assert (search.exclusive, search.prompt_guidelines) == (True, ("Use it.",))


def test_arguments_are_passed_by_name_and_defaults_are_the_functions() -> None:
    assert run(search_notes, {"query": "keys"}).text == "keys 10"
    assert run(search_notes, {"query": "keys", "limit": 2}) == text_result("keys 2")


def test_a_function_gets_from_the_host_what_it_names() -> None:
    @tool
    async def watch(
        ctx: str, path: str, *, tool_call_id: str, signal: AbortSignal | None, on_update: OnUpdate | None
    ) -> ToolResult:
        """Watch a file."""
        send_update(on_update, text_result("half"))
        return text_result("done", {"given": (tool_call_id, path, signal, ctx)})

    signal, partial = AbortSignal(), list[ToolResult]()

    assert run(watch, {"path": "a"}, signal, partial.append, "ctx").details == {"given": ("call_1", "a", signal, "ctx")}
    assert [each.text for each in partial] == ["half"]


def test_another_kind_of_result_is_an_error() -> None:
    async def count() -> str:
        """Count."""
        return 5  # type: ignore[return-value]  # what a function without types may do

    with pytest.raises(TypeError, match="must return a ToolResult or a text, not int"):
        run(tool(count), {})


def test_a_tool_from_a_function_can_be_wrapped() -> None:
    async def loudly(call: Invocation, delegate: Delegate) -> ToolResult:
        return text_result((await delegate(call)).text.upper())

    assert run(wrap_tool(search_notes, loudly), {"query": "keys"}).text == "KEYS 10"


def test_the_schema_is_known_once_the_tool_is_registered() -> None:
    assert search_notes.schema == {"type": "object"}


async def positional(path: str, /) -> str:
    """One."""
    return path


async def several(*paths: str) -> str:
    """Two."""
    return str(paths)


async def unannotated(path) -> str:  # type: ignore[no-untyped-def]  # the case under test
    """Three."""
    return str(path)


def synchronous(path: str) -> str:
    """Four."""
    return path


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (positional, "the parameter path cannot be passed by name"),
        (several, "the parameter paths cannot be passed by name"),
        (unannotated, "the parameter path has no annotation"),
        (synchronous, "the function must be async"),
    ],
)
def test_a_signature_that_cannot_describe_arguments_is_refused(function: Callable[..., Any], complaint: str) -> None:
    with pytest.raises(InvalidDefinition, match=complaint):
        validated(tool(function))
