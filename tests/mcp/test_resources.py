"""The plan as a resource: found, read, and heard of when it changes, through whichever process."""

import asyncio
import json
import subprocess
import threading

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, PromptReference, ResourceTemplateReference

from tests.formats.hostile_plans import BREAKS, COMMENTS, CONTROLS, MARKDOWN, SURROGATES
from tests.mcp.room import MODES, PATIENCE, PROGRAM, Heard, Room, called, listening, read
from tildone.dialects import dialect_named
from tildone.formats.markdown import read as read_markdown
from tildone.mcp import subscriptions
from tildone.mcp.resources import parse_uri, session_uri
from tildone.mcp.server import RESOURCE_NOT_FOUND
from tildone.wiring import session_in

every_mode = pytest.mark.parametrize("mode", MODES)
CURRENT, AS_DATA = "plan://current", "plan://current.json"


@every_mode
async def test_the_plan_is_listed_as_markdown_and_as_data(room: Room, mode: str) -> None:
    async with room.client(mode) as client:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates

    assert [(each.uri, each.mime_type) for each in listed] == [
        (CURRENT, "text/markdown"),
        (AS_DATA, "application/json"),
    ]
    assert [each.uri_template for each in templates] == ["plan://{session}"]


@every_mode
async def test_the_plan_is_read_as_it_is_now(room: Room, mode: str) -> None:
    async with room.client(mode) as client:
        before = await read(client)
        await client.call_tool("todo", {"add": ["One", "Two"]})
        await client.call_tool("todo", {"done": 1, "note": "2 See there"})
        after, data = await read(client), json.loads(await read(client, AS_DATA))

    assert before == "# Todos\n"
    assert after == "- [x] One\n- [ ] Two\n  > See there\n"
    assert data == {
        "session": str(room.project),
        "closed": 1,
        "total": 2,
        "phases": [
            {
                "name": "",
                "tasks": [
                    {"text": "One", "status": "completed", "notes": [], "number": 1},
                    {"text": "Two", "status": "pending", "notes": ["See there"], "number": 2},
                ],
            }
        ],
    }


async def test_whatever_a_task_says_it_is_read_whole(room: Room) -> None:
    """Nothing in it can pass for a task, a heading or an end."""
    store = room.store
    made = session_in(store, str(room.project), dialect_named("indexed"))
    texts = [text for text in (*BREAKS, *MARKDOWN, *CONTROLS, *SURROGATES, *COMMENTS) if text.strip()]
    assert not made.call("write_todos", {"mode": "replace", "todos": [{"text": text} for text in texts]}).is_error
    store.close()

    async with room.client() as client:
        markdown, data = await read(client), json.loads(await read(client, AS_DATA))

    assert [task.text for task in read_markdown(markdown).plan.tasks] == texts
    assert [task["text"] for task in data["phases"][0]["tasks"]] == texts


@every_mode
async def test_another_session_can_be_looked_at(room: Room, mode: str) -> None:
    room.add("Elsewhere", session="/a b/ü?#")

    async with room.client(mode) as client:
        found = await read(client, session_uri("/a b/ü?#"))
        template = ResourceTemplateReference(uri="plan://{session}")
        names = (await client.complete(template, {"name": "session", "value": "/a"})).completion
        none = (await client.complete(template, {"name": "session", "value": "/z"})).completion
        task = (await client.complete(PromptReference(name="plan"), {"name": "task", "value": ""})).completion

    assert found == "- [ ] Elsewhere\n"
    assert (names.values, names.total, names.has_more) == (["/a b/ü?#"], 1, False)
    assert none.values == task.values == []


@every_mode
@pytest.mark.parametrize("uri", ["plan://nowhere", "plan://", "file:///etc/passwd", "", "plan:current"])
async def test_nothing_is_found_at_any_other_address(room: Room, mode: str, uri: str) -> None:
    async with room.client(mode) as client:
        with pytest.raises(MCPError, match="Resource not found") as missing:
            await client.read_resource(uri)

    assert missing.value.code == (RESOURCE_NOT_FOUND if mode == "legacy" else INVALID_PARAMS)


@pytest.mark.parametrize("session", ["/home/you/project", "C:\\you\\project", "a/b?c#d%20", "ü 🙂", "current.json"])
def test_a_session_is_found_again_by_its_address(session: str) -> None:
    found = parse_uri(session_uri(session))

    assert found is not None
    assert (found.session, found.as_json) == ((None, True) if session == "current.json" else (session, False))


@every_mode
async def test_a_change_by_another_process_is_heard_of(room: Room, mode: str) -> None:
    """Both forms of the plan are told of, and what is read then is the new one."""
    heard = Heard()
    async with room.client(mode, heard=heard) as client, listening(client, heard, CURRENT, AS_DATA) as change:
        command = [PROGRAM, "todo", "append", "From a shell"]
        await asyncio.to_thread(
            subprocess.run, command, cwd=room.project, env=room.environment(), check=True, stdout=subprocess.DEVNULL
        )
        told = {await change(), await change()}
        plan = await read(client)

    assert told == {CURRENT, AS_DATA}
    assert plan == "# Todos\n- [ ] From a shell\n"


@every_mode
async def test_a_change_by_the_client_itself_is_heard_of_too(room: Room, mode: str) -> None:
    heard = Heard()
    async with room.client(mode, heard=heard) as client, listening(client, heard, CURRENT) as change:
        await client.call_tool("todo", {"add": ["One"]})

        assert await change() == CURRENT


async def test_who_listens_late_is_told_like_those_who_came_before(room: Room) -> None:
    heard = Heard()
    async with room.client("auto") as client:
        async with listening(client, heard, CURRENT) as first, listening(client, heard, CURRENT) as second:
            room.add("One")

            assert [await first(), await second()] == [CURRENT, CURRENT]
        async with listening(client, heard, CURRENT) as third:
            room.add("Two")

            assert await third() == CURRENT


@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
async def test_who_no_longer_listens_is_not_told_and_nothing_is_watched(room: Room) -> None:
    heard = Heard()
    async with room.client("legacy", heard=heard) as client:
        await client.subscribe_resource(CURRENT)
        await client.subscribe_resource(CURRENT)
        watched = watching()
        room.add("One")
        once = await heard.change()
        await client.unsubscribe_resource(CURRENT)
        for thread in watched:
            await asyncio.to_thread(thread.join, PATIENCE)
        room.add("Two")
        await read(client)

    assert (once, len(watched), watching()) == (CURRENT, 1, [])
    assert heard.nothing


@every_mode
async def test_when_a_client_leaves_nothing_is_watched_any_more(room: Room, mode: str) -> None:
    """The connection's end ends what it asked for; the server goes on."""
    heard = Heard()
    with room.server() as server:
        client = Client(server, mode=mode, client_info=called("test"), message_handler=heard)
        async with client, listening(client, heard, CURRENT):
            watched = watching()
        for thread in watched:
            await asyncio.to_thread(thread.join, PATIENCE)

        assert (len(watched), watching()) == (1, [])


async def test_an_address_where_nothing_is_gets_left_out_of_what_is_listened_to(room: Room) -> None:
    wanted = [CURRENT, "plan://nowhere"]
    async with room.client("auto") as client, client.listen(resource_subscriptions=wanted) as stream:
        honoured = stream.honored

    assert honoured is not None
    assert honoured.resource_subscriptions == [CURRENT]


async def test_there_is_a_bound_to_how_much_is_listened_to(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MAX_SUBSCRIPTIONS", 1)
    heard = Heard()
    async with room.client("auto") as client, listening(client, heard, CURRENT):
        with pytest.raises(MCPError, match="1 subscriptions are open") as refused:
            async with listening(client, heard, CURRENT):
                pass

    assert refused.value.code == INTERNAL_ERROR


async def test_a_store_that_is_gone_and_comes_back_is_heard_of(room: Room) -> None:
    """What is wrong with a store is told to whoever calls; who listens waits."""
    room.add("One")
    heard = Heard()
    async with room.client("auto") as client, listening(client, heard, CURRENT) as change:
        ruined = room.ruin_store()
        with pytest.raises(MCPError, match="not a tildone store"):
            await read(client)
        ruined.unlink()
        room.add("Two")

        assert await change() == CURRENT


def watching() -> list[threading.Thread]:
    """The threads that wait for a change."""
    return [thread for thread in threading.enumerate() if thread.name == "mcp watch" and thread.is_alive()]
