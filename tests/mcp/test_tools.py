"""Tools, as a client of the official SDK lists and calls them."""

import copy
from typing import Any

import jsonschema
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tests.mcp.project import DIALECTS, MODES, Project, text_of
from tildone.agents.mcp.json_rpc import replace_surrogates
from tildone.agents.mcp.protocol import tool_listing
from tildone.app.opening import session_in
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.dialects import Reply, dialect_named, tools_of

every_mode = pytest.mark.parametrize("mode", MODES)
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)

Calls = list[tuple[str, dict[str, Any], bool]]
"""A tool, its arguments, and whether the result is an error. A refusal of `indexed` is none."""

TODOS = [{"content": "One", "status": "completed"}, {"content": "Two", "status": "in_progress", "id": "x"}]
CALLS: dict[str, Calls] = {
    "brief": [
        ("todo", {"add": ["One", "Two"]}, False),
        ("todo", {}, False),
        ("todo", {"done": 1}, False),
        ("todo", {"done": 7}, True),
        ("todo", {"sing": 1}, True),
    ],
    "indexed": [
        ("write_todos", {"mode": "replace", "todos": [{"text": "One"}, {"text": "Two"}]}, False),
        ("list_todos", {}, False),
        ("edit_todos", {"action": "complete", "indices": [0]}, False),
        ("edit_todos", {"action": "complete", "indices": [7]}, False),
        ("write_todos", {"mode": "replace"}, True),
    ],
    "phased": [
        ("todo_write", {"ops": [{"op": "init", "list": [{"phase": "A", "items": ["One", "Two"]}]}]}, False),
        ("todo_write", {"ops": [{"op": "note", "task": "Two", "text": "See there"}]}, False),
        ("todo_write", {"ops": [{"op": "done", "task": "One"}]}, False),
        ("todo_write", {"ops": [{"op": "done", "task": "Three"}]}, True),
        ("todo_write", {}, True),
    ],
    "declared": [
        ("TodoWrite", {"summary": "All of it", "todos": TODOS}, False),
        ("TodoWrite", {"summary": "All of it", "todos": [{**item, "status": "completed"} for item in TODOS]}, False),
        ("TodoWrite", {"summary": "All of it", "todos": [{**item, "status": "in_progress"} for item in TODOS]}, True),
        ("TodoWrite", {"summary": "All of it"}, True),
    ],
}


@every_mode
@every_dialect
async def test_every_tool_returns_its_dialects_reply(project: Project, dialect: str, mode: str) -> None:
    """The text, the error flag, and structured content that fits the tool's schema exactly."""
    async with project.client(mode, dialect=dialect) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        results = [(tool, await client.call_tool(tool, given), refused) for tool, given, refused in CALLS[dialect]]

    for tool, result, refused in results:
        schema, data = schemas[tool], result.structured_content
        assert (bool(text_of(result)), result.is_error) == (True, refused)
        if schema is not None and data is not None:
            jsonschema.validate(data, exactly(schema))
        else:
            assert refused or tool == "list_todos"


@every_dialect
def test_every_tool_has_a_case(dialect: str) -> None:
    assert {tool for tool, _, _ in CALLS[dialect]} == set(tools_of(dialect))


@every_dialect
async def test_results_are_the_replies_of_the_session(project: Project, dialect: str) -> None:
    """The server adds no words of its own."""
    async with project.client("auto", dialect=dialect) as client:
        results = [await client.call_tool(tool, given) for tool, given, _ in CALLS[dialect]]
    store = project.store
    twin = session_in(store, "twin", dialect_named(dialect))

    replies = [twin.call(tool, given) for tool, given, _ in CALLS[dialect]]

    store.close()
    assert [timeless(text_of(result)) for result in results] == [timeless(reply.text) for reply in replies]
    for result, reply in zip(results, replies, strict=True):
        assert timeless(result.structured_content or {}) in ({}, timeless(reply.details))


@every_mode
async def test_a_tool_is_listed_with_its_hints(project: Project, mode: str) -> None:
    async with project.client(mode, dialect="indexed") as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    flags = {
        name: (hint.read_only_hint, hint.idempotent_hint, hint.destructive_hint, hint.open_world_hint)
        for name, hint in hints.items()
        if hint
    }
    assert flags == {
        "write_todos": (False, False, False, False),
        "list_todos": (True, True, False, False),
        "edit_todos": (False, True, False, False),
    }


@every_mode
@pytest.mark.parametrize("name", ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "Visual Studio Code"])
async def test_clients_that_show_models_structured_content_get_text(project: Project, name: str, mode: str) -> None:
    """And no output schema: a tool that has one must return structured content."""
    async with project.client(mode, name) as client:
        [tool] = (await client.list_tools()).tools
        result = await client.call_tool("todo", {"add": ["One"]})

    assert tool.output_schema is None
    assert result.structured_content is None
    assert text_of(result) == "1"


@every_mode
async def test_an_unknown_tool_is_a_protocol_error(project: Project, mode: str) -> None:
    async with project.client(mode) as client:
        with pytest.raises(MCPError, match="Unknown tool 'rm_rf'; known are todo") as refused:
            await client.call_tool("rm_rf", {})

    assert refused.value.code == INVALID_PARAMS


@every_dialect
@pytest.mark.parametrize(
    "invalid",
    [
        {"ops": 5, "todos": 3.5, "sing": {}, "mode": None},
        {"add": [[[[[]]]]], "ops": [None], "todos": [None], "summary": [], "indices": [[]]},
        {"todos": [{"text": "x" * 300_000}], "ops": [{"op": "x" * 300_000}], "add": ["x" * 300_000], "summary": ""},
        {"\u2028": "\x00", "\x1b[2J": {}},
    ],
    ids=["types", "nesting", "size", "names"],
)
async def test_an_invalid_call_changes_nothing(project: Project, dialect: str, invalid: dict[str, Any]) -> None:
    async with project.client("auto", dialect=dialect) as client:
        refused = {tool: (await client.call_tool(tool, invalid)).is_error for tool in tools_of(dialect)}

    assert refused == {tool: tool != "list_todos" for tool in tools_of(dialect)}
    assert project.texts() == []


@every_mode
async def test_an_internal_error_is_one_line_for_the_model_and_one_on_stderr(
    project: Project, mode: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> Reply:
        raise ZeroDivisionError("secret\nthings")

    monkeypatch.setattr(Session, "call", broken)
    async with project.client(mode) as client:
        result = await client.call_tool("todo", {})

    assert (text_of(result), result.is_error) == ("tildone itself is at fault: ZeroDivisionError", True)
    assert capsys.readouterr().err == "tildone mcp: ZeroDivisionError('secret\\nthings')\n"


async def test_a_store_error_is_phrased_by_the_dialect(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.add("One")
    store = project.ruin_store()
    async with project.client("auto", dialect="declared") as client:
        result = await client.call_tool("TodoWrite", {"summary": "All of it", "todos": TODOS})

    assert result.is_error
    assert f'"message": "{store} is not a tildone store"' in text_of(result)
    assert capsys.readouterr().err == f"tildone mcp: {store} is not a tildone store\n"


async def test_a_store_that_can_be_opened_again_is_used_again(project: Project) -> None:
    """The server outlives the fault: an agent whose server ended would lose the tool."""
    project.add("One")
    store = project.ruin_store()
    async with project.client("auto", "claude-code") as client:
        [listed] = (await client.list_tools()).tools
        broken = await client.call_tool("todo", {"add": ["Two"]})
        store.unlink()
        repaired = await client.call_tool("todo", {"add": ["Two"]})

    assert (listed.name, broken.is_error, text_of(broken)) == ("todo", True, f"{store} is not a tildone store")
    assert (repaired.is_error, project.texts()) == (False, ["Two"])


@every_mode
async def test_claude_code_is_told_to_put_the_tools_in_every_request(project: Project, mode: str) -> None:
    """Otherwise a model has to search for them first."""
    async with project.client(mode, "claude-code") as client:
        [tool] = (await client.list_tools()).tools

    assert tool.meta == {"anthropic/alwaysLoad": True}


def test_a_lone_surrogate_is_replaced_everywhere() -> None:
    given = {"a\ud800": ["\udfff", {"b": ("ü\ud800", 1, None)}]}

    assert replace_surrogates(given) == {"a\ufffd": ["\ufffd", {"b": ["ü\ufffd", 1, None]}]}


def test_a_tool_without_an_output_schema_is_listed_without_one() -> None:
    """A dialect need not describe its results."""
    undescribed = replace(dialect_named("brief").tools[0], name="undescribed", output_schema=None)

    listed = tool_listing(undescribed, structured=True)

    assert ("outputSchema" in listed, listed["inputSchema"]) == (False, undescribed.parameters)


def exactly(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, allowing no field that it does not name."""
    strict = copy.deepcopy(schema)
    waiting: list[Any] = [strict]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "properties" in part:
                part.setdefault("additionalProperties", False)
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return strict


def timeless(reply: Any) -> Any:
    """The reply without its times and paths."""
    if isinstance(reply, str):
        changing = ("time_ms", '"text":', "persisted_to", '"summary"')
        return "\n".join(line for line in reply.splitlines() if not any(word in line for word in changing))
    return {key: item for key, item in reply.items() if key not in {"stats", "data", "text"}}
