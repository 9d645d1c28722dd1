"""The SDK's server, which serves HTTP: the same tools, resources and prompt as on stdio, in this process."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, ResourceTemplateReference

from tests.mcp.project import (
    DIALECTS,
    MODES,
    TIMEOUT_SECONDS,
    Inbox,
    Project,
    client_info,
    read,
    subscribed,
    text_of,
)
from tildone.dialects import dialect_named
from tildone.mcp import subscriptions
from tildone.mcp.executor import SerialExecutor
from tildone.mcp.json_rpc import RequestError
from tildone.mcp.sdk_requests import run_on

every_mode = pytest.mark.parametrize("mode", MODES)
CURRENT = "plan://current"


@asynccontextmanager
async def connected(
    project: Project, mode: str, inbox: Inbox | None = None, dialect: str = "brief"
) -> AsyncIterator[Client]:
    with project.sdk_server(dialect) as server:
        async with Client(server, mode=mode, client_info=client_info("test"), message_handler=inbox) as client:
            yield client


@every_mode
async def test_both_servers_answer_alike(project: Project, mode: str) -> None:
    """Listings, a call, a resource and the prompt, as the client of each sees them."""
    seen = []
    for connect in (project.client, lambda mode: connected(project, mode)):
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
    for connect in (project.client, lambda mode, dialect: connected(project, mode, dialect=dialect)):
        async with connect(mode, dialect="indexed") as client:
            refused = await client.call_tool("edit_todos", {"action": "start", "indices": [7]})
            wrong = await client.call_tool("edit_todos", invalid)

        assert (text_of(refused), refused.is_error) == ("Error: no todos exist", False)
        assert refused.structured_content == {"action": "edit", "todos": [], "error": "no todos exist"}
        assert wrong.is_error


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_input_schemas_are_listed_as_written(project: Project, dialect: str) -> None:
    """The SDK would sort their fields, and models read schemas."""
    async with connected(project, "auto", dialect=dialect) as client:
        listed = (await client.list_tools()).tools

    schemas = [json.dumps(tool.input_schema) for tool in listed]
    assert schemas == [json.dumps(tool.parameters) for tool in dialect_named(dialect).tools]


@every_mode
async def test_errors_are_protocol_errors(project: Project, mode: str) -> None:
    async with connected(project, mode) as client:
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
    async with connected(project, mode) as client:
        templates = (await client.list_resource_templates()).resource_templates
        template = ResourceTemplateReference(uri="plan://{session}")
        names = (await client.complete(template, {"name": "session", "value": "a"})).completion.values

    assert (templates, names) == ([], [])


async def test_a_lone_surrogate_is_replaced(project: Project) -> None:
    """The SDK could not encode it; the text says which one it is."""
    project.add("a\ud800b")
    async with connected(project, "auto") as client:
        called = await client.call_tool("todo", {})

    assert (text_of(called), called.structured_content) == ("1 a<U+D800>b", {"say": "1 a<U+D800>b"})


@every_mode
async def test_a_change_is_reported_until_the_client_disconnects(project: Project, mode: str) -> None:
    """The server keeps running, and its watch ends."""
    inbox = Inbox()
    with project.sdk_server() as server:
        client = Client(server, mode=mode, client_info=client_info("test"), message_handler=inbox)
        async with client, subscribed(client, inbox, CURRENT) as next_change:
            watched = watching()
            await asyncio.to_thread(project.add, "By hand")
            changed = await next_change()
        for thread in watched:
            await asyncio.to_thread(thread.join, TIMEOUT_SECONDS)

        assert (changed, len(watched), watching()) == (CURRENT, 1, [])


@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
async def test_after_unsubscribing_nothing_is_watched(project: Project) -> None:
    async with connected(project, "legacy", Inbox()) as client:
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
    async with connected(project, mode, inbox) as client, subscribed(client, inbox, CURRENT):
        with pytest.raises(MCPError, match="1 subscriptions are open") as refused:
            async with subscribed(client, inbox, f"{CURRENT}.json"):
                pass

    assert refused.value.code == INTERNAL_ERROR


async def test_a_long_job_does_not_block_the_event_loop() -> None:
    executor, proceed = SerialExecutor("test"), threading.Event()
    slow = asyncio.create_task(run_on(executor, lambda: proceed.wait(TIMEOUT_SECONDS)))

    await asyncio.sleep(0)
    running = not slow.done()
    proceed.set()

    assert (running, await slow) == (True, True)
    executor.close()


async def test_a_job_cancelled_in_the_queue_never_starts() -> None:
    executor, proceed = SerialExecutor("test"), threading.Event()
    done: list[str] = []
    slow = asyncio.create_task(run_on(executor, lambda: proceed.wait(TIMEOUT_SECONDS)))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(run_on(executor, lambda: done.append("cancelled")))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    proceed.set()
    await slow

    await run_on(executor, lambda: done.append("next"))

    executor.close()
    assert done == ["next"]


async def test_an_error_of_a_job_is_reported_and_raised_where_it_was_submitted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    executor = SerialExecutor("test")

    def broken() -> Any:
        raise ZeroDivisionError

    with pytest.raises(RequestError, match="tildone itself is at fault: ZeroDivisionError") as raised:
        await run_on(executor, broken)

    assert raised.value.code == INTERNAL_ERROR
    assert capsys.readouterr().err == "tildone mcp: ZeroDivisionError()\n"
    assert await run_on(executor, lambda: "continued") == "continued"
    executor.close()


def watching() -> list[threading.Thread]:
    """The threads that watch a session."""
    return [thread for thread in threading.enumerate() if thread.name == "mcp watch" and thread.is_alive()]
