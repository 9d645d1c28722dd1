"""The HTTP server: the same tools, resources and prompt as on stdio, in this process."""

import asyncio
import json
import threading

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, ResourceTemplateReference

from tests.mcp.project import (
    DIALECTS,
    MODES,
    TIMEOUT_SECONDS,
    Inbox,
    Project,
    connected,
    read,
    subscribed,
    text_of,
)
from tildone.agents.mcp import subscriptions
from tildone.plan.dialects import dialect_named

every_mode = pytest.mark.parametrize("mode", MODES)
CURRENT = "plan://current"


@every_mode
async def test_both_servers_answer_alike(project: Project, mode: str) -> None:
    """Listings, a call, a resource and the prompt, as the client of each sees them."""
    seen = []
    for connect in (project.client, project.http_client):
        async with connect(mode) as client:
            called = await client.call_tool("todo", {"add": ["One"]})
            seen.append(
                (
                    await client.list_tools(),
                    await client.list_resources(),
                    await client.list_prompts(),
                    await client.get_prompt("plan", {"task": "Fly"}),
                    (text_of(called).split()[0] in {"1", "2"}, called.is_error, await read(client) != ""),
                    client.instructions,
                )
            )

    assert seen[0] == seen[1]


@every_mode
async def test_a_refusal_of_indexed_is_a_normal_result_on_both_servers(project: Project, mode: str) -> None:
    """As in a library and in a host: `details.error` says what was refused. Invalid arguments are an error."""
    invalid = {"action": "start", "indices": "0"}
    for connect in (project.client, project.http_client):
        async with connect(mode, dialect="indexed") as client:
            refused = await client.call_tool("edit_todos", {"action": "start", "indices": [7]})
            wrong = await client.call_tool("edit_todos", invalid)

        assert (text_of(refused), refused.is_error) == ("Error: no todos exist", False)
        assert refused.structured_content == {"action": "edit", "todos": [], "error": "no todos exist"}
        assert wrong.is_error


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_input_schemas_are_listed_as_written(project: Project, dialect: str) -> None:
    """Models read schemas, in the order of their fields."""
    async with project.http_client(dialect=dialect) as client:
        listed = (await client.list_tools()).tools

    schemas = [json.dumps(tool.input_schema) for tool in listed]
    assert schemas == [json.dumps(tool.parameters) for tool in dialect_named(dialect).tools]


@every_mode
async def test_errors_are_protocol_errors(project: Project, mode: str) -> None:
    async with project.http_client(mode) as client:
        with pytest.raises(MCPError, match="Unknown tool 'rm'; known are todo") as tool:
            await client.call_tool("rm", {})
        with pytest.raises(MCPError, match="Unknown prompt 'poem'"):
            await client.get_prompt("poem", {})
        with pytest.raises(MCPError, match="Resource not found: plan://another"):
            await client.read_resource("plan://another")

    assert tool.value.code == INVALID_PARAMS


@every_mode
async def test_only_the_callers_session_is_offered(project: Project, mode: str) -> None:
    """On HTTP, callers are strangers to each other."""
    project.add("Elsewhere", session="another")
    async with project.http_client(mode) as client:
        templates = (await client.list_resource_templates()).resource_templates
        template = ResourceTemplateReference(uri="plan://{session}")
        names = (await client.complete(template, {"name": "session", "value": "a"})).completion.values

    assert (templates, names) == ([], [])


async def test_a_lone_surrogate_is_replaced(project: Project) -> None:
    """It cannot be encoded; the text says which one it is."""
    project.add("a\ud800b")
    async with project.http_client() as client:
        called = await client.call_tool("todo", {})

    assert (text_of(called), called.structured_content) == ("1 a<U+D800>b", {"say": "1 a<U+D800>b"})


@every_mode
async def test_a_change_is_reported_until_the_client_disconnects(project: Project, mode: str) -> None:
    """The server keeps running, and its watch ends."""
    inbox = Inbox()
    async with project.http_server() as server:
        async with (
            connected(server, mode, message_handler=inbox) as client,
            subscribed(client, inbox, CURRENT) as next_change,
        ):
            await asyncio.to_thread(project.add, "By hand")
            changed = await next_change()
            watched = watching()
        for thread in watched:
            await asyncio.to_thread(thread.join, TIMEOUT_SECONDS)

        assert (changed, len(watched), watching()) == (CURRENT, 1, [])


@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
async def test_after_unsubscribing_nothing_is_watched(project: Project) -> None:
    async with project.http_client("legacy", message_handler=Inbox()) as client:
        await client.subscribe_resource(CURRENT)
        await client.subscribe_resource(CURRENT)
        watched = watching()
        await client.unsubscribe_resource(CURRENT)
        for thread in watched:
            await asyncio.to_thread(thread.join, TIMEOUT_SECONDS)

        assert (len(watched), watching()) == (1, [])


@every_mode
async def test_the_number_of_subscriptions_is_limited(
    project: Project, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "MAX_SUBSCRIPTIONS", 1)
    inbox = Inbox()
    async with project.http_client(mode, message_handler=inbox) as client, subscribed(client, inbox, CURRENT):
        with pytest.raises(MCPError, match="1 subscriptions are open") as refused:
            async with subscribed(client, inbox, f"{CURRENT}.json"):
                pass

    assert refused.value.code == INTERNAL_ERROR


def watching() -> list[threading.Thread]:
    """The threads that watch a session."""
    return [thread for thread in threading.enumerate() if thread.name == "mcp watch" and thread.is_alive()]
