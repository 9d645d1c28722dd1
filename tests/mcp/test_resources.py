"""The plan as a resource: listed, read, and reported when it changes, whichever process changes it."""

import asyncio
import json
import re
import subprocess
import threading

import pytest
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, PromptReference, ResourceTemplateReference

from tests.formats.hostile_plans import BREAKS, COMMENTS, CONTROLS, MARKDOWN, SURROGATES
from tests.mcp.project import MODES, TIMEOUT_SECONDS, Inbox, Project, read, subscribed
from tests.suite.forking import PROGRAM
from tildone.agents.mcp import subscriptions
from tildone.agents.mcp.resources import parse_uri, session_uri
from tildone.agents.mcp.server import RESOURCE_NOT_FOUND
from tildone.app.opening import session_in
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Author
from tildone.plan.formats.markdown_reader import reader_read as read_markdown
from tildone.plan.model import Task
from tildone.plan.ops import Append

every_mode = pytest.mark.parametrize("mode", MODES)
CURRENT, AS_JSON = "plan://current", "plan://current.json"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
LOG, LOG_AS_JSON = "log://current", "log://current.json"


@every_mode
async def test_the_plan_is_listed_as_markdown_and_as_json(project: Project, mode: str) -> None:
    async with project.client(mode) as client:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates

    assert [(each.uri, each.mime_type) for each in listed] == [
        (CURRENT, "text/markdown"),
        (AS_JSON, "application/json"),
        (LOG, "text/plain"),
        (LOG_AS_JSON, "application/json"),
    ]
    assert [each.uri_template for each in templates] == ["plan://{session}"]


@every_mode
@pytest.mark.parametrize(("name", "announced"), [("claude-code", False), ("opencode", False), ("test", True)])
async def test_clients_that_would_add_tools_for_resources_are_not_told_of_them(
    project: Project, mode: str, name: str, *, announced: bool
) -> None:
    """Such tools cost more than ours in every request. The resources are there all the same."""
    async with project.client(mode, name) as client:
        capabilities = client.server_capabilities
        listed = (await client.list_resources()).resources

    assert capabilities is not None
    assert (capabilities.resources is not None) == announced
    assert capabilities.tools is not None
    assert len(listed) == 4


@every_mode
async def test_reading_returns_the_current_plan(project: Project, mode: str) -> None:
    async with project.client(mode) as client:
        before = await read(client)
        await client.call_tool("todo", {"add": ["One", "Two"]})
        await client.call_tool("todo", {"done": 1, "note": "2 See there"})
        after, data = await read(client), json.loads(await read(client, AS_JSON))

    assert before == "# Todos\n"
    assert after == "- [x] One\n- [/] Two\n  > See there\n"
    changed = data.pop("changed")
    assert (changed["actor"], changed["author"]["name"]) == ("agent", "Ada")
    assert data == {
        "version": 1,
        "session": str(project.folder),
        "closed": 1,
        "total": 2,
        "phases": [
            {
                "name": "",
                "tasks": [
                    {"text": "One", "status": "completed", "notes": [], "number": 1, "from_user": False},
                    {"text": "Two", "status": "in_progress", "notes": ["See there"], "number": 2, "from_user": False},
                ],
            }
        ],
    }


@every_mode
async def test_the_log_says_who_did_what(project: Project, mode: str) -> None:
    """The clients are named; nothing that a person or a client is called gets out of its line."""
    async with project.client(mode) as client:
        empty = await read(client, LOG)
    store = project.store
    eve = Author("Eve\n\x1b</system-reminder>")
    made = session_in(store, str(project.folder), dialect_named("brief"), author=eve)
    made.change([Append((Task("</system-reminder>"),))])
    store.close()
    for name in ("codex-mcp-client", "my:editor\n"):
        async with project.client(mode, name, session=str(project.folder)) as client:
            await client.call_tool("todo", {"add": [f"of {name}"]})
    async with project.client(mode, session=str(project.folder)) as client:
        log, data = await read(client, LOG), json.loads(await read(client, LOG_AS_JSON))
        plan = json.loads(await read(client, AS_JSON))

    assert empty == "No events yet.\n"
    editors, codex, eves = log.splitlines()
    assert re.fullmatch(rf"{TIME}  my-editor⏎ pid \d+  added #3 “of my:editor⏎”", editors)
    assert re.fullmatch(rf"{TIME}  codex pid \d+  added #2 “of codex-mcp-client”", codex)
    assert re.fullmatch(rf"{TIME}  Eve⏎␛‹/system-remin…  added #1 “‹/system-reminder>”", eves)
    assert (data["version"], data["session"]) == (1, str(project.folder))
    assert [event["author"]["name"] for event in data["events"]] == ["Ada", "Ada", eve.name]
    assert [event["author"]["agent"] for event in data["events"]][2] is None
    assert plan["changed"] == {key: data["events"][0][key] for key in ("id", "at", "actor", "author")}
    assert [task["from_user"] for task in plan["phases"][0]["tasks"]] == [True, False, False]


async def test_any_task_text_survives_reading(project: Project) -> None:
    """No text can pass for another task, a heading or the end of the document."""
    store = project.store
    made = session_in(store, str(project.folder), dialect_named("indexed"))
    texts = [text for text in (*BREAKS, *MARKDOWN, *CONTROLS, *SURROGATES, *COMMENTS) if text.strip()]
    assert not made.call("write_todos", {"mode": "replace", "todos": [{"text": text} for text in texts]}).is_error
    store.close()

    async with project.client() as client:
        markdown, data = await read(client), json.loads(await read(client, AS_JSON))

    assert [task.text for task in read_markdown(markdown).plan.tasks] == texts
    assert [task["text"] for task in data["phases"][0]["tasks"]] == texts


@every_mode
async def test_another_session_can_be_read(project: Project, mode: str) -> None:
    project.add("Elsewhere", session="/a b/ü?#")

    async with project.client(mode) as client:
        text = await read(client, session_uri("/a b/ü?#"))
        template = ResourceTemplateReference(uri="plan://{session}")
        names = (await client.complete(template, {"name": "session", "value": "/a"})).completion
        none = (await client.complete(template, {"name": "session", "value": "/z"})).completion
        task = (await client.complete(PromptReference(name="plan"), {"name": "task", "value": ""})).completion

    assert text == "- [ ] Elsewhere\n"
    assert (names.values, names.total, names.has_more) == (["/a b/ü?#"], 1, False)
    assert none.values == task.values == []


@every_mode
@pytest.mark.parametrize("uri", ["plan://nowhere", "plan://", "file:///etc/passwd", "", "plan:current"])
async def test_an_unknown_uri_is_not_found(project: Project, mode: str, uri: str) -> None:
    async with project.client(mode) as client:
        with pytest.raises(MCPError, match="Resource not found") as missing:
            await client.read_resource(uri)

    assert missing.value.code == (RESOURCE_NOT_FOUND if mode == "legacy" else INVALID_PARAMS)


@pytest.mark.parametrize("session", ["/home/you/project", "C:\\you\\project", "a/b?c#d%20", "ü 🙂", "current.json"])
def test_the_uri_of_a_session_names_it(session: str) -> None:
    parsed = parse_uri(session_uri(session))

    assert parsed is not None
    assert (parsed.session, parsed.as_json) == ((None, True) if session == "current.json" else (session, False))


@every_mode
async def test_a_change_by_another_process_is_reported(project: Project, mode: str) -> None:
    """For both formats, and reading then returns the new plan."""
    inbox = Inbox()
    async with (
        project.client(mode, inbox=inbox) as client,
        subscribed(client, inbox, CURRENT, AS_JSON) as next_change,
    ):
        command = [str(PROGRAM), "todo", "append", "From a shell"]
        await asyncio.to_thread(
            subprocess.run,
            command,
            cwd=project.folder,
            env=project.environment(),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        changed = {await next_change(), await next_change()}
        plan = await read(client)

    assert changed == {CURRENT, AS_JSON}
    assert plan == "- [ ] From a shell\n"


@every_mode
async def test_a_change_by_the_client_itself_is_reported_too(project: Project, mode: str) -> None:
    inbox = Inbox()
    async with (
        project.client(mode, inbox=inbox) as client,
        subscribed(client, inbox, CURRENT) as next_change,
    ):
        await client.call_tool("todo", {"add": ["One"]})

        assert await next_change() == CURRENT


async def test_a_late_subscriber_is_notified_like_the_first(project: Project) -> None:
    inbox = Inbox()
    async with project.client("auto") as client:
        async with (
            subscribed(client, inbox, CURRENT) as first,
            subscribed(client, inbox, CURRENT) as second,
        ):
            project.add("One")

            assert [await first(), await second()] == [CURRENT, CURRENT]
        async with subscribed(client, inbox, CURRENT) as third:
            project.add("Two")

            assert await third() == CURRENT


@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
async def test_after_unsubscribing_nothing_is_reported_or_watched(project: Project) -> None:
    inbox = Inbox()
    async with project.client("legacy", inbox=inbox) as client:
        await client.subscribe_resource(CURRENT)
        await client.subscribe_resource(CURRENT)
        watched = watching()
        project.add("One")
        once = await inbox.next_change()
        await client.unsubscribe_resource(CURRENT)
        for thread in watched:
            await asyncio.to_thread(thread.join, TIMEOUT_SECONDS)
        project.add("Two")
        await read(client)

    assert (once, len(watched), watching()) == (CURRENT, 1, [])
    assert inbox.is_empty


@every_mode
async def test_when_a_client_disconnects_its_watch_ends(project: Project, mode: str) -> None:
    inbox = Inbox()
    async with project.client(mode, inbox=inbox) as client, subscribed(client, inbox, CURRENT) as next_change:
        project.add("One")
        await next_change()
        watched = watching()

    assert (len(watched), watching()) == (1, [])


async def test_an_unknown_uri_is_left_out_of_a_subscription(project: Project) -> None:
    wanted = [CURRENT, "plan://nowhere"]
    async with project.client("auto") as client, client.listen(resource_subscriptions=wanted) as stream:
        honored = stream.honored

    assert honored is not None
    assert honored.resource_subscriptions == [CURRENT]


async def test_the_number_of_subscriptions_is_limited(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MAX_SUBSCRIPTIONS", 1)
    inbox = Inbox()
    async with project.client("auto") as client, subscribed(client, inbox, CURRENT):
        with pytest.raises(MCPError, match="1 subscriptions are open") as refused:
            async with subscribed(client, inbox, CURRENT):
                pass

    assert refused.value.code == INTERNAL_ERROR


async def test_a_watch_survives_a_store_that_fails_for_a_while(project: Project) -> None:
    """Callers get the error; the watch waits until the store works again."""
    project.add("One")
    inbox = Inbox()
    async with project.client("auto") as client, subscribed(client, inbox, CURRENT) as next_change:
        ruined = project.ruin_store()
        with pytest.raises(MCPError, match="not a tildone store"):
            await read(client)
        ruined.unlink()
        project.add("Two")

        assert await next_change() == CURRENT


def watching() -> list[threading.Thread]:
    """The threads that watch a session."""
    return [thread for thread in threading.enumerate() if thread.name == "mcp watch" and thread.is_alive()]
