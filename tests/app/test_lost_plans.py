"""A store that is deleted while an agent is held to a plan in it: told in the agent, and on the next command."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.hooks.agent import WITH_HOOKS, HookedAgent, Workspace, new_workspace
from tildone.agents.integrations import HookPoint

AGENT = {"CLAUDE_CODE_SESSION_ID": "s1"}
GONE = "no longer has the plan that an agent was held to here; was it deleted?"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = new_workspace(tmp_path)
    made.more["XDG_STATE_HOME"] = str(tmp_path / "state")
    made.plan(("Write the parser", "pending"))
    return made


def delete_data(workspace: Workspace) -> None:
    shutil.rmtree(Path(workspace.settings.store.location).parent)


def person_in(workspace: Workspace) -> Person:
    return Person(workspace.project, workspace.home, workspace.environ)


def test_the_person_and_the_model_are_told_once_also_behind_a_new_store(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)
    assert agent.stops()
    delete_data(workspace)
    shell = person_in(workspace)
    made, done = shell.run("todo", "add", "Nothing", **AGENT), shell.run("todo", "done", "1", **AGENT)

    told = agent.report(HookPoint.STOP)
    again = [agent.report(point).out for point in (HookPoint.STOP, HookPoint.PROMPT, HookPoint.SESSION_START)]

    assert (made.code, done.code, GONE in made.err, GONE in done.err) == (0, 0, True, True)
    assert told.json["decision"] == "block"
    assert GONE in told.json["systemMessage"]
    assert GONE in told.json["reason"]
    assert again == ["", "", ""]


def test_a_conversation_that_begins_later_is_told_too(workspace: Workspace) -> None:
    """The hooks remember nothing of it, as after a restart of the machine."""
    HookedAgent(workspace).stops()
    delete_data(workspace)
    later = HookedAgent(workspace, id="s2")

    told = later.report(HookPoint.SESSION_START)

    assert GONE in told.json["systemMessage"]
    assert GONE in told.json["hookSpecificOutput"]["additionalContext"]
    assert later.report(HookPoint.PROMPT).out == ""


def test_the_next_commands_say_so_until_a_person_has_read_it_at_a_terminal(workspace: Workspace) -> None:
    """Neither the agent nor a status bar takes the notice away."""
    HookedAgent(workspace).stops()
    delete_data(workspace)
    person = person_in(workspace)

    by_agent = person.at_terminal("todo", **AGENT).end()
    in_a_script = person.run("status", "--line")
    at_terminal = [person.at_terminal("status").end() for _ in range(2)]

    assert GONE in " ".join(by_agent.out.split())
    assert GONE in in_a_script.err
    assert [GONE in " ".join(each.out.split()) for each in at_terminal] == [True, False]
    assert GONE not in person.run("status").err


def test_a_store_that_no_agent_was_held_to_is_not_missed(workspace: Workspace) -> None:
    delete_data(workspace)

    assert person_in(workspace).run("status").err == ""
    assert HookedAgent(workspace).report(HookPoint.STOP).out == ""
    assert not list((workspace.home.parent / "state").rglob("*"))


def test_marks_are_private_and_one_for_each_store(workspace: Workspace) -> None:
    HookedAgent(workspace).stops()
    others = Workspace(workspace.project, workspace.home, {**workspace.more, "TILDONE_STORE": "other.db"})

    [mark] = (workspace.home.parent / "state" / "tildone-state" / "held").iterdir()

    assert (str(mark), mark.stat().st_mode & 0o777, mark.parent.stat().st_mode & 0o777) == (
        workspace.settings.held_mark,
        0o600,
        0o700,
    )
    assert others.settings.held_mark != str(mark)
    memory = Workspace(workspace.project, workspace.home, {"TILDONE_STORE": "postgresql://host/db"}).settings
    assert (memory.held_mark, memory.lost_mark) == ("", "")


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_every_coding_agent_is_told_when_it_stops(workspace: Workspace, name: str) -> None:
    agent = HookedAgent(workspace, WITH_HOOKS[name])
    agent.report(HookPoint.STOP)
    agent.report(HookPoint.PROMPT)
    delete_data(workspace)

    told = agent.report(HookPoint.STOP)

    assert GONE in told.out
    assert json.loads(told.out)
