"""Which session a call works on and who calls.

Agents, subagents and several agents of one process; presence, and the plan's changes.
"""

import asyncio
import dataclasses
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.mcp.project import CLAUDE, MODES, TIMEOUT_SECONDS, Project, meta, read, text_of, until_saved
from tests.plans import session_on
from tests.stores.overridden import overridden, raising
from tildone.agents.mcp import connections as presence
from tildone.agents.mcp.connections import (
    AT_MOST_EVERY_MS,
    COARSE_NS,
    FINE_NS,
    CallerPresence,
    registry_stamp,
    subagent_in_call,
)
from tildone.agents.mcp.resources import SessionSnapshot
from tildone.agents.mcp.server import PlanWatcher
from tildone.base import StoreError
from tildone.base.ids import now
from tildone.log.presence import Presence
from tildone.log.session import Session
from tildone.plan.events import Author, latest_state
from tildone.stores.agents import CALLER_NOTE, MODEL_NOTE, USAGE_NOTE, Agent, AgentId, AgentRegistry
from tildone.stores.assignment import CallingSubagent, announce_call, assign_session, call_key
from tildone.stores.memory import MemoryStore

every_mode = pytest.mark.parametrize("mode", MODES)
OURS, ANOTHER = os.getpid(), os.getppid()
"""Two processes that run as long as the tests do."""


def agent(project: Project, key: str) -> Agent:
    known = project.agents.get(AgentId.parse(key))
    assert known is not None
    return known


def head(project: Project, session: str | None = None) -> str | None:
    return project.look(lambda store: store.session_head(session or str(project.folder)).head)


def seen_head(project: Project, key: str) -> str | None:
    """The head that an agent's model has seen of its session, as the agent's hooks find it."""
    known = agent(project, key)
    return project.look(lambda store: store.records.seen(known.session, known.reader))


def set_seen_head(project: Project, key: str, head: str | None) -> None:
    known = agent(project, key)
    project.look(lambda store: store.records.set_seen(known.session, known.reader, head))


def in_claude(project: Project, session_id: str, process: int = OURS) -> Project:
    """The project of an agent of Claude Code."""
    return dataclasses.replace(project, environ={CLAUDE: session_id}, process=process)


async def add(project: Project, text: str, mode: str = "auto", name: str = "test", *, session: str = "") -> str:
    """Connect, add a task and disconnect; the text of the result."""
    async with project.client(mode, name, session=session) as client:
        return text_of(await client.call_tool("todo", {"add": [text]}))


@every_mode
async def test_agents_that_share_a_session_see_each_others_changes_and_take_no_tasks_from_each_other(
    project: Project, mode: str
) -> None:
    """Nor does one wait for the task of the other: the next one that nobody has taken starts."""
    first_place, second_place = in_claude(project, "1"), in_claude(project, "2", ANOTHER)
    async with first_place.client(mode, session="ours") as one, second_place.client(mode, session="ours") as two:
        calls: list[tuple[Client, dict[str, Any]]] = [
            *((one, {"add": ["One"]}), (two, {"add": ["Two", "Three", "Four"]})),
            *((one, {"start": 1}), (two, {"start": 2}), (one, {"done": 1}), (two, {"done": 2})),
        ]
        replies = [text_of(await client.call_tool("todo", given)) for client, given in calls]

    assert project.texts("ours") == ["One", "Two", "Three", "Four"]
    assert replies[:2] == ["1", "2-4\nPlan:\n1 One\n2 Two\n3 Three\n4 Four"]
    assert (
        replies[4] == "ok; yours: 3\nChanged by others meanwhile; now:\nstarted 2 Two\nstarted 3 Three\n4 Four\ndone 1"
    )
    assert replies[5] == "ok; yours: 4\nChanged by others meanwhile; now:\nstarted 3 Three\nstarted 4 Four\ndone 1-2"


@every_mode
async def test_the_first_agent_gets_the_project_session_and_a_second_one_its_own(project: Project, mode: str) -> None:
    """Its record names the session, and the store has the head that its model has seen, for its hooks."""
    await add(in_claude(project, "1"), "One", mode)

    assert await add(in_claude(project, "2", ANOTHER), "Two", mode) == "1"
    assert (project.texts(), project.texts(f"{project.folder}#claude:2")) == (["One"], ["Two"])
    known = agent(project, "claude:1")
    assert (known.session, seen_head(project, "claude:1"), known.pid) == (str(project.folder), head(project), OURS)


@every_mode
async def test_one_server_of_codex_serves_several_conversations(project: Project, mode: str) -> None:
    """Each call names its conversation; the process says nothing, because it runs many."""
    async with project.client(mode, "codex-mcp-client") as client:
        calls = [("A", "One"), ("B", "Two"), ("A", "Three"), ("B", "Four")]
        replies = [
            text_of(await client.call_tool("todo", {"add": [text]}, meta=meta(**{key: name})))
            for (name, text), key in zip(calls, ("sessionId", "threadId", "sessionId", "sessionId"), strict=True)
        ]

    assert replies == ["1", "1", "2", "2"]
    assert (project.texts(), project.texts(f"{project.folder}#codex:B")) == (["One", "Three"], ["Two", "Four"])


async def test_the_number_of_open_connections_is_limited(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation whose connection was closed gets its session and its seen head back."""
    monkeypatch.setattr("tildone.agents.mcp.server.MAX_CONNECTIONS", 2)
    async with project.client("auto", "codex-mcp-client") as client:
        for text in ("One", "Two"):
            for session in "ABCDE":
                await client.call_tool("todo", {"add": [text]}, meta=meta(sessionId=session))
        reply = text_of(await client.call_tool("todo", {"done": 1}, meta=meta(sessionId="A")))
        for thread in connection_threads():
            if thread.name not in {"codex:E", "codex:A"}:
                await asyncio.to_thread(thread.join, TIMEOUT_SECONDS)
        open_names = sorted(thread.name for thread in connection_threads())

    assert (reply, project.texts()) == ("ok", ["One", "Two"])
    assert open_names == ["codex:A", "codex:E"]


async def test_a_conversation_registered_by_hooks_is_the_same_agent(project: Project) -> None:
    """Also beside another conversation of the same process."""
    assign_session(project.agents, AgentId.parse("codex:A"), OURS, now())
    written = agent(project, "codex:A")
    async with project.client("auto", "codex-mcp-client") as client:
        await client.call_tool("todo", {"add": ["One"]}, meta=meta(sessionId="A"))
        await client.call_tool("todo", {"add": ["Two"]}, meta=meta(sessionId="B"))
        await client.call_tool("todo", {"done": 1}, meta=meta(sessionId="A"))

    assert (project.texts(), project.texts(f"{project.folder}#codex:B")) == (["One"], ["Two"])
    assert agent(project, "codex:A") == written
    assert seen_head(project, "codex:A") == head(project)


async def test_codex_keeps_the_session_it_got_before_it_named_its_conversation(project: Project) -> None:
    """It may read resources first, and such requests name none."""
    async with project.client("auto", "codex-mcp-client") as client:
        await client.call_tool("todo", {"add": ["One"]})
        reply = text_of(await client.call_tool("todo", {"add": ["Two"]}, meta=meta(sessionId="A")))

    assert (reply, project.texts()) == ("2", ["One", "Two"])
    assert [str(known.id) for known in project.agents.all()] == ["codex:A"]


async def test_an_agent_of_opencode_is_identified_by_its_process(project: Project) -> None:
    await add(dataclasses.replace(project, environ={"OPENCODE_PID": "1"}), "One")

    assert (agent(project, "opencode:pid:1").pid, project.texts()) == (1, ["One"])


@pytest.mark.parametrize(
    ("environ", "name", "session_id"),
    [
        ({}, "test", 7),
        *(({"OPENCODE_PID": invalid}, "test", None) for invalid in ("", "x", "-1", "１２x")),
        *(({CLAUDE: "1"}, name, None) for name in ("gemini-cli-mcp-client", "codex-mcp-client", "opencode")),
    ],
)
async def test_what_names_no_agent_is_ignored(
    project: Project, environ: dict[str, str], name: str, session_id: int | None
) -> None:
    """An id of another type, and the environment of another agent, from whom this one, of another name, inherits it."""
    async with dataclasses.replace(project, environ=environ).client("auto", name) as client:
        await client.call_tool("todo", {"add": ["One"]}, meta=meta(sessionId=session_id) if session_id else None)
        await until_saved(client)

        assert [str(known.id) for known in project.agents.all()] == [f"pid:{OURS}"]


@every_mode
async def test_hooks_and_server_find_each_other_by_process(project: Project, mode: str) -> None:
    """Gemini tells only its hooks the conversation id; the server takes over the identity they register."""
    async with project.client(mode, "gemini-cli-mcp-client") as client:
        await client.call_tool("todo", {"add": ["One"]})
        await until_saved(client)
        before = [str(known.id) for known in project.agents.all()]
        assign_session(project.agents, AgentId.parse("gemini:S"), OURS, now())
        reply = text_of(await client.call_tool("todo", {"add": ["Two"]}))

    assert (before, reply) == ([f"pid:{OURS}"], "2")
    assert [str(known.id) for known in project.agents.all()] == ["gemini:S"]
    assert (seen_head(project, "gemini:S"), project.texts()) == (head(project), ["One", "Two"])


@pytest.mark.skipif(os.name == "nt", reason="on Windows, the record is read for every call")
async def test_a_record_that_the_server_remembers_is_read_again_after_a_change(project: Project) -> None:
    async with project.client("auto", "gemini-cli-mcp-client") as client:
        await client.call_tool("todo", {"add": ["One"]})
        aged(project.agents.folder, COARSE_NS)
        await client.call_tool("todo", {"add": ["Two"]})
        await client.call_tool("todo", {"add": ["Three"]})
        assign_session(project.agents, AgentId.parse("gemini:S"), OURS, now())
        project.agents.set_note(AgentId.parse("gemini:S"), MODEL_NOTE, "flash")
        await client.call_tool("todo", {"add": ["Four"]})
        log = json.loads(await read(client, "log://current.json"))

    newest, *_, oldest = ((event["author"]["agent"], event["author"]["model"]) for event in log["events"])
    assert (newest, oldest) == (("gemini:S", "flash"), (f"gemini:pid:{OURS}", None))


async def test_a_cleared_conversation_keeps_its_session(project: Project) -> None:
    """After `/clear` the hooks of Claude Code report a new id; the server's environment has the old one."""
    async with in_claude(project, "old").client() as client:
        await client.call_tool("todo", {"add": ["One"]})
        await until_saved(client)
        assign_session(project.agents, AgentId.parse("claude:new"), OURS, now(), successor=True)
        await client.call_tool("todo", {"add": ["Two"]})

    assert [str(known.id) for known in project.agents.all()] == ["claude:new"]
    assert project.texts() == ["One", "Two"]


async def test_calls_of_a_fork_are_not_those_of_its_parent_which_has_ended(project: Project) -> None:
    """After `/branch` the hooks of Claude Code report a new id, and the parent keeps the session of its own."""
    parent = assign_session(project.agents, AgentId.parse("claude:old"), OURS, now(), "own")
    async with in_claude(project, "old").client() as client:
        await client.call_tool("todo", {"add": ["One"]})
        await until_saved(client)
        project.agents.release(parent)
        assign_session(project.agents, AgentId.parse("claude:new"), OURS, now(), "fork")
        await client.call_tool("todo", {"add": ["Two"]})

    assert [project.texts(name) for name in ("own", "fork")] == [["One"], ["Two"]]


@every_mode
async def test_a_model_whose_context_lost_the_plan_is_told_again(project: Project, mode: str) -> None:
    """Hooks record when its context was compacted, and when they have shown it the plan."""
    project = in_claude(project, "1")
    async with project.client(mode) as client:
        await client.call_tool("todo", {"add": ["One", "Two"]})
        await until_saved(client)
        set_seen_head(project, "claude:1", None)
        forgotten = text_of(await client.call_tool("todo", {"done": 1}))
        await until_saved(client)
        project.add("By hand")
        set_seen_head(project, "claude:1", head(project))
        known = text_of(await client.call_tool("todo", {"done": 2}))

    assert forgotten == "ok\nPlan:\nstarted 2 Two\ndone 1"
    assert known == "ok"


async def test_concurrent_calls_are_carried_out_in_order(project: Project) -> None:
    async with in_claude(project, "1").client("auto") as client:
        calls = [client.call_tool("todo", {"add": [f"Task {number}"]}) for number in range(20)]
        answers = [text_of(result) for result in await asyncio.gather(*calls)]

    assert answers == [str(number) for number in range(1, 21)]


async def test_a_call_does_not_write_the_record(project: Project) -> None:
    """What the model has seen is recorded with the change, in the store."""
    async with in_claude(project, "1").client() as client:
        await client.call_tool("todo", {"add": ["One"]})
        await client.call_tool("todo", {})
        await until_saved(client)
        [file] = (project.home / "tildone" / "agents").rglob("*.json")
        before = file.stat()
        for given in ({}, {"done": 7}, {"done": 1}):
            await client.call_tool("todo", given)
        await until_saved(client)
        after = file.stat()

    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_an_unwritable_registry_does_not_stop_the_server(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = blocked_registry(project)

    replies = [await add(in_claude(project, "1"), "One"), await add(in_claude(project, "2"), "Two", session="named")]

    assert replies == ["1", "1"]
    assert (project.texts(), project.texts("named")) == (["One"], ["Two"])
    assert str(folder) in capsys.readouterr().err


async def test_an_anonymous_agent_is_removed_when_its_server_ends(project: Project) -> None:
    """Its process may be a terminal that stays open for days. It finds its session again."""
    anonymous, another = dataclasses.replace(project, process=OURS), dataclasses.replace(project, process=ANOTHER)
    async with another.client() as first, anonymous.client() as second:
        for client, text in ((first, "First"), (second, "Second")):
            await client.call_tool("todo", {"add": [text]})
    left = list(project.agents.all())
    async with another.client() as first, anonymous.client() as second:
        replies = [text_of(await client.call_tool("todo", {})) for client in (first, second)]

    assert (left, replies) == ([], ["1 First", "1 Second"])


def blocked_registry(project: Project) -> Path:
    folder = Path(project.settings().agents_dir)
    folder.parent.mkdir(parents=True)
    folder.write_text("in the way")
    return folder


def connection_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("codex:")]


CLAUDE_PARENT, CODEX = AgentId("claude", "s1"), AgentId("codex", "s1")
OPENCODE = AgentId("opencode", pid=7)
ARGUMENTS = {"add": ["One"]}


@pytest.fixture
def agents(tmp_path: Path) -> AgentRegistry:
    return AgentRegistry(str(tmp_path), "/project")


def call(**meta: object) -> dict[str, object]:
    return {"name": "todo", "arguments": ARGUMENTS, "_meta": meta}


def test_a_call_of_claude_code_is_the_subagents_whose_hook_announced_it_once(agents: AgentRegistry) -> None:
    """The conversation may be another than the server knows: the person may have cleared it."""
    announce_call(agents, "claude", "toolu_1", AgentId("claude", "s2"), "a1")

    first, again = (
        subagent_in_call(agents, CLAUDE_PARENT, 7, call(**{"claudecode/toolUseId": "toolu_1"})) for _ in range(2)
    )

    assert (first, again) == (CallingSubagent(AgentId("claude", "s2"), "a1"), None)


def test_a_call_of_codex_names_the_subagent(agents: AgentRegistry) -> None:
    subagents = call(threadId="t2", **{"x-codex-turn-metadata": {"parent_thread_id": "s1"}})
    forked = call(threadId="t3", **{"x-codex-turn-metadata": {"thread_source": "user"}})

    assert subagent_in_call(agents, CODEX, 7, subagents) == CallingSubagent(CODEX, "t2")
    assert subagent_in_call(agents, CODEX, 7, forked) is None


@pytest.mark.parametrize("caller", [OPENCODE, AgentId("qwen", "s1"), AgentId("copilot", "s1")])
def test_a_call_may_be_recognised_by_process_and_arguments(agents: AgentRegistry, caller: AgentId) -> None:
    """The server of opencode knows the process only, and that of Qwen Code the conversation."""
    parent = AgentId(caller.integration, "s1")
    announce_call(agents, caller.integration, call_key("", 7, ARGUMENTS), parent, "s2")

    others = {"name": "todo", "arguments": {"add": ["Two"]}}
    assert subagent_in_call(agents, caller, 7, others) is None
    assert subagent_in_call(agents, caller, 8, call()) is None
    assert subagent_in_call(agents, caller, 7, call()) == CallingSubagent(parent, "s2")
    assert subagent_in_call(agents, caller, 7, call()) is None


def test_odd_metadata_and_notes_name_nobody(agents: AgentRegistry) -> None:
    odd: list[object] = [None, [], {"claudecode/toolUseId": 1}, {"claudecode": {"toolUseId": "x"}}]
    for given in ({"name": "todo", "arguments": None, "_meta": each} for each in odd):
        for agent in (CLAUDE_PARENT, CODEX, OPENCODE, AgentId(pid=1)):
            assert subagent_in_call(agents, agent, 7, given) is None
    for note in ("claude:s1", "claude:s1\n", "\na1"):
        agents.set_note(AgentId("claude", "toolu_1"), "call", note)
        assert subagent_in_call(agents, CLAUDE_PARENT, 7, call(**{"claudecode/toolUseId": "toolu_1"})) is None


THIS_PROCESS = os.getpid()


def in_opencode(project: Project) -> Project:
    return replace(project, environ={"OPENCODE_PID": str(THIS_PROCESS)})


async def test_a_call_belongs_to_the_agent_that_hooks_have_noted(project: Project) -> None:
    for session in ("A", "B"):
        assign_session(project.agents, AgentId.parse(f"opencode:{session}"), THIS_PROCESS, now())
    async with in_opencode(project).client() as client:
        replies = []
        for session, text in (("A", "One"), ("B", "Two"), ("A", "Three")):
            project.agents.note_caller(AgentId("opencode", session), THIS_PROCESS)
            replies.append(text_of(await client.call_tool("todo", {"add": [text]})))

    assert replies == ["1", "1", "2"]
    assert (project.texts(), project.texts(f"{project.folder}#opencode:B")) == (["One", "Three"], ["Two"])


async def test_a_noted_agent_without_a_record_gets_the_project_session(project: Project) -> None:
    """Hooks on the fast path note the caller without registering it."""
    project.agents.note_caller(AgentId("opencode", "A"), THIS_PROCESS)

    async with in_opencode(project).client() as client:
        await client.call_tool("todo", {"add": ["One"]})

    assert [str(known.id) for known in project.agents.all()] == ["opencode:A"]
    assert project.texts() == ["One"]


async def test_a_note_from_an_earlier_process_with_the_same_id_is_ignored(project: Project) -> None:
    """Process ids are reused."""
    project.agents.note_caller(AgentId("opencode", "old"), THIS_PROCESS)
    note = project.agents.note(AgentId(pid=THIS_PROCESS), CALLER_NOTE)
    project.agents.set_note(AgentId(pid=THIS_PROCESS), CALLER_NOTE, f"1{note}")

    async with in_opencode(project).client() as client:
        await client.call_tool("todo", {"add": ["One"]})

    assert [str(known.id) for known in project.agents.all()] == [f"opencode:pid:{THIS_PROCESS}"]


AGENT = Agent(AgentId.parse("claude:s1"), "s")


def presences(project: Project) -> list[Presence]:
    return project.look(lambda store: store.records.presences())


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_tells_that_its_agent_is_at_work_and_leaves_at_the_end(project: Project, mode: str) -> None:
    ours = in_claude(project, "s1")
    ours.agents.set_note(AgentId.parse("claude:s1"), USAGE_NOTE, '{"cost":1.5}')
    async with ours.client(mode=mode) as client:
        await client.call_tool("todo", {"op": "add", "text": "One"})
        [present] = presences(ours)

    assert (present.agent, present.host, present.session) == ("claude:s1", "claude", str(project.folder))
    assert (present.doing[:5], present.why, present.cost) == ("todo:", "", 1.5)
    assert present.machine == os.uname().nodename
    assert presences(ours) == []


def test_the_store_is_told_at_most_every_fifteen_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    store, teller, at = MemoryStore(), CallerPresence(lambda _agent: 0.0), 1_000_000
    beats = []
    for later in (0, AT_MOST_EVERY_MS - 1, AT_MOST_EVERY_MS):
        monkeypatch.setattr(presence, "now", lambda later=later: at + later)
        teller.tell(store, AGENT, Author(), "todo: list")
        beats.append(store.records.presences()[0].beat - at)
    teller.tell(store, Agent(AGENT.id, "t"), Author(), "todo: list")

    assert beats == [0, 0, AT_MOST_EVERY_MS]
    assert [each.session for each in store.records.presences()] == ["t"]


def test_a_store_that_cannot_be_written_changes_nothing() -> None:
    store, teller = MemoryStore(), CallerPresence(lambda _agent: 0.0)
    full = raising(StoreError("the disk is full"))
    store.records = overridden(store.records, beat=full, leave=full)

    teller.tell(store, AGENT, Author(), "todo: list")
    teller.leave(lambda: store)
    told = CallerPresence(lambda _agent: 0.0)
    told.tell(MemoryStore(), AGENT, Author(), "todo: list")
    told.leave(lambda: store)

    assert list(store.records.presences()) == []


ID = AgentId("claude", "1")


def aged(folder: str, age: int, offset: int = 1) -> None:
    """Set the time of the folder's last change: `age` nanoseconds ago, in whole milliseconds if `offset` is 0."""
    changed = (time.time_ns() - age) // 1_000_000 * 1_000_000 + offset
    os.utime(folder, ns=(changed, changed))


@pytest.fixture
def registry(tmp_path: Path) -> AgentRegistry:
    registry = AgentRegistry(str(tmp_path), "/project")
    registry.save(Agent(ID, "/project"))
    return registry


@pytest.mark.skipif(os.name == "nt", reason="on Windows, the files are read for every call")
def test_an_old_change_has_a_stamp_until_something_changes_and_a_recent_one_has_none(
    registry: AgentRegistry, tmp_path: Path
) -> None:
    """Another one could follow within the resolution of the file system's times; a missing folder has none either."""
    aged(registry.folder, 0)
    recent = registry_stamp(registry.folder)
    aged(registry.folder, 2 * FINE_NS)
    first, second = registry_stamp(registry.folder), registry_stamp(registry.folder)
    registry.set_note(ID, "model", "opus")
    noted = registry_stamp(registry.folder)
    aged(registry.folder, 2 * FINE_NS, offset=2)

    assert first is not None
    assert (recent, second, noted, registry_stamp(str(tmp_path / "none"))) == (None, first, None, None)
    assert registry_stamp(registry.folder) not in (None, first)


@pytest.mark.skipif(os.name == "nt", reason="on Windows, the files are read for every call")
def test_times_in_whole_units_must_be_older(registry: AgentRegistry) -> None:
    """A file system that counts in seconds gives two changes within one the same time."""
    aged(registry.folder, 2 * FINE_NS, offset=0)
    recent = registry_stamp(registry.folder)
    aged(registry.folder, 2 * COARSE_NS, offset=0)

    assert recent is None
    assert registry_stamp(registry.folder) is not None


ONE = {"mode": "append", "todos": [{"text": "One"}]}


class RecordingStore(MemoryStore):
    """A store that records from which head its watchers wait for a change."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        self.waits.put(head)
        return super().wait(session, head, timeout)

    def until_waited(self, head: str | None) -> None:
        """Block until a watcher waits for a change of this head."""
        while self.waits.get(timeout=TIMEOUT_SECONDS) != head:
            pass


class Watched:
    """A session whose changes are watched, and a queue for what the watchers say."""

    def __init__(self) -> None:
        self.store = RecordingStore()
        self.session = session_on(self.store)
        self.watcher = PlanWatcher(lambda: self.store)
        self.said: queue.SimpleQueue[str] = queue.SimpleQueue()

    def watch(self, word: str, since: SessionSnapshot | None = None) -> Callable[[], None]:
        return self.watcher.watch(since or snapshot(self.session), lambda: self.said.put(word))

    def change(self) -> str:
        """Change the plan, and return the first word that is said then."""
        self.session.call("write_todos", ONE)
        return self.said.get(timeout=TIMEOUT_SECONDS)


@pytest.fixture
def watched() -> Iterator[Watched]:
    each = Watched()
    yield each
    each.watcher.close()


def snapshot(session: Session) -> SessionSnapshot:
    return SessionSnapshot(session.name, latest_state(session.store.history(session.name)))


def test_a_nudge_is_not_a_plan_change(watched: Watched) -> None:
    """It moves the head of the session and leaves the plan as it was."""
    watched.session.call("write_todos", ONE)
    watched.watch("changed")

    assert watched.session.turn_ended().prompt
    watched.store.until_waited(watched.session.state.head)
    assert watched.said.empty()
    watched.change()
    watched.store.until_waited(watched.session.state.head)

    watched.watcher.close()
    assert watched.said.empty()


def test_a_change_between_snapshot_and_watch_is_reported(watched: Watched) -> None:
    """The second watcher took its snapshot before the change that the first was notified of."""
    early = snapshot(watched.session)
    watched.watch("first", early)
    first = watched.change()

    watched.watch("second", early)

    assert (first, watched.said.get(timeout=TIMEOUT_SECONDS)) == ("first", "second")


def test_one_thread_serves_all_watchers_of_a_session(watched: Watched) -> None:
    before = threading.active_count()
    ends = [watched.watch("") for _ in range(5)]
    during = threading.active_count()

    for end in (*ends, *ends):
        end()
    watched.watch("")
    watched.watcher.close()

    assert (during, [thread for thread in threading.enumerate() if thread.name == "mcp watch"]) == (before + 1, [])


def test_an_ended_watch_is_not_called_also_if_an_earlier_one_ended_it(watched: Watched) -> None:
    gone = watched.watch("gone")
    ends: list[Callable[[], None]] = []

    def first() -> None:
        ends[1]()
        watched.said.put("first")

    ends += [watched.watcher.watch(snapshot(watched.session), first), watched.watch("second")]
    gone()

    assert watched.change() == "first"
    watched.store.until_waited(watched.session.state.head)
    watched.watcher.close()
    assert watched.said.empty()
