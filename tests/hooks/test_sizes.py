"""What a hook reads does not depend on how many sessions and agents are on record, or how long a history is."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.sizes import EVENTS, fill
from tests.hooks.agent import Workspace
from tildone.agents.hooks.context import FEW_EVENTS, newest_tool
from tildone.log.session import Session
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Event
from tildone.plan.model import Status, Task
from tildone.plan.ops import Append, Mark, Numbered
from tildone.stores.agents import AgentId

COUNTING = """
import json, sys
counts = {}
def audit(name, args):
    if name in ("open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir"):
        counts[name] = counts.get(name, 0) + 1
sys.addaudithook(audit)
from tildone.hooks import main
main(["claude"])
sys.stderr.write(json.dumps(counts))
"""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="processes are looked up on Unix")


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
