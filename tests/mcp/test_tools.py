"""What clients are offered.

Tools, the prompt, the server's instructions, and the plan as a resource that tells of changes.
"""

import asyncio
import copy
import itertools
import json
import re
import subprocess
import threading
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import INVALID_PARAMS, PromptReference, ResourceTemplateReference, TextContent

from tests.formats.hostile_plans import BREAKS, COMMENTS, CONTROLS, MARKDOWN, SURROGATES
from tests.mcp.project import DIALECTS, MODES, TIMEOUT_SECONDS, Inbox, Project, read, subscribed, text_of
from tests.suite.forking import PROGRAM
from tildone.agents.mcp.protocol import CLIENTS, is_another, tool_listing, wants_structured
from tildone.agents.mcp.resources import parse_uri
from tildone.agents.mcp.server import RESOURCE_NOT_FOUND
from tildone.app.opening import session_in
from tildone.base import replace
from tildone.log.session import Session
from tildone.plan.dialects import Reply, dialect_named, tools_of
from tildone.plan.events import Author
from tildone.plan.formats.markdown_reader import read_checklist as read_markdown
from tildone.plan.model import Task
from tildone.plan.ops import Append

every_mode = pytest.mark.parametrize("mode", MODES)
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)

Calls = list[tuple[str, dict[str, Any], bool]]
"""A tool, its arguments, and whether the result is an error. A refusal of `indexed` is none."""

CALLS: dict[str, Calls] = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
TODOS = CALLS["declared"][0][1]["todos"]


@every_mode
@every_dialect
async def test_every_tool_returns_its_dialects_reply(project: Project, dialect: str, mode: str) -> None:
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
async def test_results_are_the_replies_of_the_session(project: Project, dialect: str) -> None:
    """The server adds no words of its own."""
    async with project.client("auto", dialect=dialect) as client:
        results = [await client.call_tool(tool, given) for tool, given, _ in CALLS[dialect]]
    with closing(project.store) as store:
        twin = session_in(store, "twin", dialect_named(dialect))
        replies = [twin.call(tool, given) for tool, given, _ in CALLS[dialect]]

    assert {tool for tool, _, _ in CALLS[dialect]} == set(tools_of(dialect))
    assert [timeless(text_of(result)) for result in results] == [timeless(reply.text) for reply in replies]
    for result, reply in zip(results, replies, strict=True):
        assert timeless(result.structured_content or {}) in ({}, timeless(reply.details))


@every_mode
async def test_a_tool_is_listed_with_its_hints(project: Project, mode: str) -> None:
    async with project.client(mode, dialect="indexed") as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}

    kinds = ("read_only_hint", "idempotent_hint", "destructive_hint", "open_world_hint")
    assert {name: [kind for kind in kinds if getattr(hint, kind) is not False] for name, hint in hints.items()} == {
        "write_todos": [],
        "list_todos": ["read_only_hint", "idempotent_hint"],
        "edit_todos": ["idempotent_hint"],
    }


@every_mode
@pytest.mark.parametrize("name", ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "Visual Studio Code"])
async def test_clients_that_show_models_structured_content_get_text(project: Project, name: str, mode: str) -> None:
    """And no output schema, with which a tool must return structured content. Claude Code is to load it at once."""
    async with project.client(mode, name) as client:
        [tool] = (await client.list_tools()).tools
        result = await client.call_tool("todo", {"add": ["One"]})

    assert (tool.output_schema, tool.meta) == (None, {"anthropic/alwaysLoad": True})
    assert result.structured_content is None
    assert text_of(result) == "1"


LONG = "x" * 300_000
INVALID: dict[str, dict[str, Any]] = {
    "types": {"ops": 5, "todos": 3.5, "sing": {}, "mode": None},
    "nesting": {"add": [[[[[]]]]], "ops": [None], "todos": [None], "summary": [], "indices": [[]]},
    "size": {"todos": [{"text": LONG}], "ops": [{"op": LONG}], "add": [LONG], "summary": ""},
    "names": {"\u2028": "\x00", "\x1b[2J": {}},
}


@every_dialect
async def test_an_invalid_call_changes_nothing(project: Project, dialect: str) -> None:
    tools = tools_of(dialect)
    async with project.client("auto", dialect=dialect) as client:
        for kind, invalid in INVALID.items():
            refused = {tool: (await client.call_tool(tool, invalid)).is_error for tool in tools}
            assert (kind, refused) == (kind, {tool: tool != "list_todos" for tool in tools})

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


def test_a_tool_without_an_output_schema_is_listed_without_one() -> None:
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
    if isinstance(reply, str):
        changing = ("time_ms", '"text":', "persisted_to", '"summary"')
        return "\n".join(line for line in reply.splitlines() if not any(word in line for word in changing))
    return {key: item for key, item in reply.items() if key not in {"stats", "data", "text"}}


@every_mode
@every_dialect
async def test_the_prompt_contains_the_dialects_tools_and_guidelines(project: Project, dialect: str, mode: str) -> None:
    task = "Fly to the moon\nand back"
    async with project.client(mode, dialect=dialect) as client:
        [listed] = (await client.list_prompts()).prompts
        [message] = (await client.get_prompt(listed.name, {"task": f"  {task} "})).messages

    assert listed.arguments is not None
    assert [(argument.name, argument.required) for argument in listed.arguments] == [("task", True)]
    assert isinstance(message.content, TextContent)
    assert message.role == "user"
    assert message.content.text.endswith(f"\n\nTask: {task}")
    for tool in dialect_named(dialect).tools:
        assert tool.name in message.content.text
        assert all(line in message.content.text for line in tool.guidelines)


@every_dialect
async def test_the_instructions_are_the_guidelines_each_once(project: Project, dialect: str) -> None:
    guidelines = [line for tool in dialect_named(dialect).tools for line in tool.guidelines]
    async with project.client("legacy", dialect=dialect) as client:
        instructions = client.instructions

    assert (instructions or "").splitlines() == [f"- {line}" for line in dict.fromkeys(guidelines)]


@every_mode
async def test_an_unknown_name_and_a_prompt_without_a_task_are_protocol_errors(project: Project, mode: str) -> None:
    async with project.client(mode) as client:
        with pytest.raises(MCPError, match="Unknown tool 'rm_rf'; known are todo") as unknown:
            await client.call_tool("rm_rf", {})
        with pytest.raises(MCPError, match="Unknown prompt 'poem'; there is plan"):
            await client.get_prompt("poem", {"task": "Fly"})
        for given in (None, {}, {"task": ""}, {"task": " \n"}):
            with pytest.raises(MCPError, match="Missing argument task: what is to be done") as refused:
                await client.get_prompt("plan", given)
            assert refused.value.code == INVALID_PARAMS

    assert unknown.value.code == INVALID_PARAMS


def test_no_client_can_be_taken_for_another_coding_agent() -> None:
    """Names are prefixes, so none may begin with another. Nor do two use the same variable or key."""
    clients = CLIENTS.values()
    names = [name for client in clients for name in client.names]
    places = [place for each in clients for place in (each.conversation_variable, each.process_variable) if place]
    places += [key for each in clients for key in each.conversation_meta]

    assert [pair for pair in itertools.permutations(names, 2) if pair[0].startswith(pair[1])] == []
    assert [name for name in names if name != name.lower() or not name] == []
    assert len(places) == len(set(places))


def test_a_client_without_a_known_name_may_be_any_coding_agent_and_gets_everything() -> None:
    names = ("claude-code", "codex-mcp-client", "copilot-cli", "claude-ai", "opencode", "")
    assert [wants_structured(name) for name in names] == [False, False, False, True, True, True]
    others = [is_another(name, "claude") for name in ("", "something new", "claude-code", "opencode")]
    assert others == [False, False, False, True]


CURRENT, AS_JSON = "plan://current", "plan://current.json"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
LOG, LOG_AS_JSON = "log://current", "log://current.json"


@every_mode
async def test_the_plan_is_listed_as_markdown_and_as_json(project: Project, mode: str) -> None:
    async with project.client(mode) as client:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates

    kinds = {CURRENT: "text/markdown", AS_JSON: "application/json", LOG: "text/plain", LOG_AS_JSON: "application/json"}
    assert [(each.uri, each.mime_type) for each in listed] == [*kinds.items()]
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
    one = {"text": "One", "status": "completed", "notes": [], "number": 1, "from_user": False}
    two = {"text": "Two", "status": "in_progress", "notes": ["See there"], "number": 2, "from_user": False}
    phases = [{"name": "", "tasks": [one, two]}]
    assert data == {"version": 1, "session": str(project.folder), "closed": 1, "total": 2, "phases": phases}


@every_mode
async def test_the_log_says_who_did_what(project: Project, mode: str) -> None:
    """The clients are named; nothing that a person or a client is called gets out of its line."""
    async with project.client(mode) as client:
        empty = await read(client, LOG)
    eve = Author("Eve\n\x1b</system-reminder>")
    with closing(project.store) as store:
        made = session_in(store, str(project.folder), dialect_named("brief"), author=eve)
        made.change([Append((Task("</system-reminder>"),))])
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
        text = await read(client, f"plan://{quote('/a b/ü?#', safe='')}")
        template = ResourceTemplateReference(uri="plan://{session}")
        names = (await client.complete(template, {"name": "session", "value": "/a"})).completion
        none = (await client.complete(template, {"name": "session", "value": "/z"})).completion
        task = (await client.complete(PromptReference(name="plan"), {"name": "task", "value": ""})).completion

    assert text == "- [ ] Elsewhere\n"
    assert (names.values, names.total, names.has_more) == (["/a b/ü?#"], 1, False)
    assert none.values == task.values == []


@every_mode
async def test_an_unknown_uri_is_not_found(project: Project, mode: str) -> None:
    async with project.client(mode) as client:
        for uri in ("plan://nowhere", "plan://", "file:///etc/passwd", "", "plan:current"):
            with pytest.raises(MCPError, match="Resource not found") as missing:
                await client.read_resource(uri)
            assert missing.value.code == (RESOURCE_NOT_FOUND if mode == "legacy" else INVALID_PARAMS)


def test_the_uri_of_a_session_names_it() -> None:
    names = ["/home/you/project", "C:\\you\\project", "a/b?c#d%20", "ü 🙂", "current.json"]
    parsed = [parse_uri(f"plan://{quote(session, safe='', errors='replace')}") for session in names]

    expected = [*((name, False) for name in names[:4]), (None, True)]
    assert [(each.session, each.as_json) for each in parsed if each] == expected


@every_mode
async def test_a_change_by_another_process_or_the_client_itself_is_reported(project: Project, mode: str) -> None:
    inbox = Inbox()
    async with project.client(mode, inbox=inbox) as client, subscribed(client, inbox, CURRENT, AS_JSON) as next_change:
        command = [str(PROGRAM), "todo", "append", "From a shell"]
        told = {"cwd": project.folder, "env": project.environment(), "capture_output": True}
        await asyncio.to_thread(partial(subprocess.run, command, check=True, **told))
        changed = {await next_change(), await next_change()}
        plan = await read(client)
        await client.call_tool("todo", {"add": ["One"]})
        own = {await next_change(), await next_change()}
        watched = watching()

    assert changed == own == {CURRENT, AS_JSON}
    # Its watch ends with the connection.
    assert (len(watched), watching()) == (1, [])
    assert plan == "- [ ] From a shell\n"


async def test_a_late_subscriber_is_notified_like_the_first(project: Project) -> None:
    inbox = Inbox()
    async with project.client("auto") as client:
        async with subscribed(client, inbox, CURRENT) as first, subscribed(client, inbox, CURRENT) as second:
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


async def test_an_unknown_uri_is_left_out_of_a_subscription(project: Project) -> None:
    wanted = [CURRENT, "plan://nowhere"]
    async with project.client("auto") as client, client.listen(resource_subscriptions=wanted) as stream:
        honored = stream.honored

    assert honored is not None
    assert honored.resource_subscriptions == [CURRENT]


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
    return [thread for thread in threading.enumerate() if thread.name == "mcp watch" and thread.is_alive()]
