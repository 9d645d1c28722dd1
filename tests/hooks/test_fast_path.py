"""The fast path loads few modules, never skips an event that needs a reply, and reads as much whatever is on record."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.sizes import EVENTS, fill
from tests.hooks.agent import HookedAgent, Workspace, to_json
from tests.test_hot_modules import HEAVY
from tildone.agents.hooks.context import FEW_EVENTS, newest_tool
from tildone.agents.integrations import INTEGRATIONS, HookPoint, names_with_hooks
from tildone.base.ids import now
from tildone.log.session import Session
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Event
from tildone.plan.model import Check, Phase, Proof, Result, Status, Task
from tildone.plan.ops import Append, Mark, Numbered, SetCheck, Write
from tildone.stores.agents import MODEL_NOTE, AgentId, agent_process
from tildone.stores.assignment import assign_session

LOADED_BY_A_SILENT_HOOK = {
    # The package, the entry point of every command, and types that the rest is written with.
    *("tildone", "tildone.cli", "tildone.base", "tildone.base.json"),
    # The fail-open frame, the event on standard input, and the decision that there is nothing to say.
    *("tildone.agents", "tildone.agents.hooks", "tildone.agents.hooks.event", "tildone.agents.hooks.fast_path"),
    # The facts about the one coding agent that calls.
    *("tildone.agents.integrations", "tildone.agents.integrations.claude"),
    # Which agent it is, and on which session it works.
    *("tildone.stores", "tildone.stores.agents", "tildone.stores.summary"),
    # The settings that name it.
    *("tildone.app", "tildone.app.settings", "tildone.app.values"),
}
SLOW = {"re", "enum", "json", "typing", "functools", "subprocess", "threading", "hashlib", "tomllib"}
SHOW = """
import atexit, sys
before = set(sys.modules)
atexit.register(lambda: print(*sorted(set(sys.modules) - before), file=sys.stderr))
from tildone.cli import main
sys.exit(main({words!r}))
"""


def loaded(agent: HookedAgent, point: HookPoint, *, replies: bool = False, **fields: Any) -> set[str]:
    """The modules that a hook imports."""
    event = agent.event(point)
    done = subprocess.run(
        [sys.executable, "-I", "-c", SHOW.format(words=["hook", agent.integration.name, event])],
        input=to_json(agent.payload(event, fields)),
        env={**os.environ, **agent.workspace.environ},
        capture_output=True,
        check=True,
    )
    assert bool(done.stdout) is replies
    return set(done.stderr.decode().split())


@pytest.mark.parametrize(
    ("point", "fields"),
    [
        (HookPoint.STOP, {"last_assistant_message": "Done."}),
        (HookPoint.SESSION_START, {"source": "startup"}),
        (HookPoint.BEFORE_TOOL, {"tool_name": "Bash"}),
        (HookPoint.AFTER_TOOL, {"tool_name": "Bash", "tool_response": {}}),
        (HookPoint.PROMPT, {"prompt": "Hello"}),
        (HookPoint.COMPACTION, {"trigger": "auto"}),
        (HookPoint.SESSION_END, {"reason": "other"}),
    ],
)
@pytest.mark.parametrize("begun", [False, True], ids=["no plan", "all done"])
def test_a_silent_hook_loads_nothing_but_what_is_listed(
    agent: HookedAgent, point: HookPoint, fields: dict[str, Any], *, begun: bool
) -> None:
    """Imports take most of a hook's time."""
    if begun:
        agent.workspace.plan(("One", "completed"))
        agent.call(HookPoint.SESSION_START)

    modules = loaded(agent, point, **fields)

    assert {name for name in modules if name.split(".")[0] == "tildone"} <= LOADED_BY_A_SILENT_HOOK
    assert modules & SLOW == set()
    assert "apsw" not in modules or begun


def test_a_stop_is_silent_at_once_only_if_no_proof_can_be_stale(agent: HookedAgent) -> None:
    """The plan whose tasks are done is read if one of them has a proof, and nothing that runs commands is loaded."""
    session, check = agent.workspace.session, Check(("make", "test"))
    session.change([Append((Task("One"),)), SetCheck(Numbered((1,)), check)])
    session.record_proofs({1: Proof(Result.PASSED, check.command, "digest")})
    session.change([Mark(Numbered((1,)), Status.COMPLETED)])
    modules = loaded(agent, HookPoint.STOP, replies=False, last_assistant_message="Done.")

    assert "tildone.agents.hooks.reply" in modules
    assert "tildone.app.check_runner" in modules
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert modules & {"subprocess", "threading", "tildone.app.check_commands"} == set()


@pytest.mark.parametrize("name", names_with_hooks())
def test_a_hook_imports_the_one_integration_that_it_serves(workspace: Workspace, name: str) -> None:
    """Not the others, and nothing that edits settings files."""
    agent = HookedAgent(workspace, INTEGRATIONS[name])

    modules = loaded(agent, HookPoint.STOP)

    shared = {"tildone.agents.integrations"}
    imported = {module for module in modules if module.startswith("tildone.agents.integrations")}
    assert imported == shared | {f"tildone.agents.integrations.{name}"}


def test_the_first_hook_of_an_agent_finds_the_plan_that_its_mcp_server_began(workspace: Workspace) -> None:
    """The server knows the agent by its process only."""
    pid = agent_process()
    assign_session(workspace.agents, AgentId("claude", "other"), os.getpid(), now())
    server = assign_session(workspace.agents, AgentId("claude", pid=pid), pid, now())
    workspace.session_of(server.session).change((Write((Phase("", (Task("One"),)),)),))

    assert server.session != workspace.settings.session
    assert "One" in HookedAgent(workspace, id="new").stops()


def test_the_model_that_an_agent_starts_with_is_noted_until_its_conversation_ends(agent: HookedAgent) -> None:
    """The author of its later events; a later report replaces it. Without a store, there is no folder for notes."""
    agents, agent_id = agent.workspace.agents, AgentId.parse(agent.key)
    agent.report(HookPoint.SESSION_START, model="opus-0", source="startup")
    assert not os.path.exists(agents.folder)
    noted = []
    for status in ("completed", "pending"):
        agent.workspace.plan(("a", status))
        agent.report(HookPoint.SESSION_START, model="opus-1", source="startup")
        noted.append(agents.note(agent_id, MODEL_NOTE))
        agent.report(HookPoint.STATUS_LINE, model={"id": "opus-2", "display_name": "Opus 2"})
        noted.append(agents.note(agent_id, MODEL_NOTE))
        agent.report(HookPoint.SESSION_END, reason="exit")
        noted.append(agents.note(agent_id, MODEL_NOTE))

    assert noted == ["opus-1", "opus-2", ""] * 2


@pytest.mark.parametrize("model", ["", 7, None, [], {}, "x" * 10_000])
def test_a_model_of_another_form_is_unknown_and_a_long_name_is_clipped(agent: HookedAgent, model: object) -> None:
    agent.workspace.plan(("a", "pending"))
    agent.report(HookPoint.SESSION_START, model=model, source="startup")

    assert len(agent.workspace.agents.note(AgentId.parse(agent.key), MODEL_NOTE)) in (0, 100)


COUNTING = """
import json, sys
counts = {}
def audit(name, args):
    if name in ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir"):
        counts[name] = counts.get(name, 0) + 1
sys.addaudithook(audit)
from tildone.agents.hooks import main
main(["claude"])
sys.stderr.write(json.dumps(counts))
"""


def operations(workspace: Workspace, event: str, conversation: str) -> Counter[str]:
    """How often a hook opened and listed files and folders, in a process of its own."""
    payload = {"session_id": conversation, "cwd": str(workspace.project), "hook_event_name": event, "tool_name": "Bash"}
    environ = {**os.environ, **workspace.environ, "TILDONE_MAX_NUDGES": "1000"}
    answer = subprocess.run(
        [sys.executable, "-c", COUNTING],
        env=environ,
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=True,
    )
    return Counter(json.loads(answer.stderr))


def workspace_of(folder: Path, tasks: int, sessions: int, agents: int) -> Workspace:
    for name in ("project", "home"):
        (folder / name).mkdir(parents=True)
    workspace = Workspace(folder / "project", folder / "home")
    fill(workspace.environ, workspace.project, tasks, sessions, agents)
    return workspace


def test_a_hook_reads_no_more_files_with_more_agents_and_sessions_on_record(tmp_path: Path) -> None:
    """Neither for an agent that is known, nor for one that is new. The first calls also compile modules."""
    few, many = workspace_of(tmp_path / "few", 20, 2, 2), workspace_of(tmp_path / "many", 20, 60, 60)
    for workspace in (few, many):
        for event in EVENTS:
            for conversation in ("known", f"first at {event}"):
                operations(workspace, event, conversation)
    counts = {
        (event, conversation): [operations(workspace, event, conversation) for workspace in (few, many)]
        for event in EVENTS
        for conversation in ("known", f"new at {event}")
    }

    assert {key: few_many for key, few_many in counts.items() if few_many[0] != few_many[1]} == {}
    assert counts["Stop", "known"][0]["open"] > 5


def session_with_changes(workspace: Workspace, count: int) -> Session:
    session = workspace.session
    session.change((Append(tuple(Task(f"task {number}") for number in range(count))),))
    for number in range(1, count):
        session.change((Mark(Numbered((number,)), Status.COMPLETED),))
    return session


def test_changes_by_a_person_are_read_once_to_find_the_newest_tool(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_with_changes(workspace, 4 * FEW_EVENTS)
    read: list[str] = []
    history = type(session.store).history

    def counting(_store: object, *args: str) -> Iterator[Event]:
        for event in history(session.store, *args):
            read.append(event.id)
            yield event

    monkeypatch.setattr(type(session.store), "history", counting)

    assert newest_tool(session, workspace.agents) == ""
    assert len(read) == 4 * FEW_EVENTS
    read.clear()
    assert newest_tool(session, workspace.agents) == ""
    assert len(read) == 1


def test_a_call_after_the_note_is_found_and_one_before_it_is_remembered(workspace: Workspace) -> None:
    agent = workspace.session
    agent.dialect = dialect_named("indexed")
    agent.call("write_todos", {"mode": "replace", "todos": [{"text": "a"}]})
    session = session_with_changes(workspace, 4 * FEW_EVENTS)

    found = [newest_tool(session, workspace.agents) for _ in range(2)]
    agent.call("edit_todos", {"action": "start", "indices": [0]})

    assert (found, newest_tool(session, workspace.agents)) == (["write_todos"] * 2, "edit_todos")
    session.undo(1)
    assert newest_tool(session, workspace.agents) == "write_todos"


def test_a_note_that_cannot_be_written_is_done_without(workspace: Workspace) -> None:
    session = session_with_changes(workspace, 4 * FEW_EVENTS)
    agents = workspace.agents
    agents.set_note(AgentId("claude", "x"), "y", "z")
    Path(agents.folder).chmod(0o500)
    try:
        assert newest_tool(session, agents) == ""
    finally:
        Path(agents.folder).chmod(0o700)
