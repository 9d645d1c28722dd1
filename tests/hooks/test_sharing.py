"""Agents on one plan: each is held to the tasks that it started and to those that nobody has taken.

The other agent is a real process, so that its death ends its claims.
"""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.hooks.agent import HookedAgent, Workspace
from tildone.agents.integrations import HookPoint
from tildone.agents.integrations.codex import INTEGRATION as CODEX
from tildone.app.opening import open_session
from tildone.base import replace
from tildone.base.ids import now
from tildone.plan.dialects import dialect_named
from tildone.plan.events import Author
from tildone.stores.agents import Agent, AgentId, start_time
from tildone.stores.assignment import set_shared

OTHER = AgentId("codex", "other")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the death of a process is not noticed on Windows")


@pytest.fixture
def other(workspace: Workspace) -> Iterator["subprocess.Popen[bytes]"]:
    """The process of another agent on the project's plan."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        session = workspace.settings.session
        agent = Agent(OTHER, session, "r", pid=process.pid, last_active=now(), started=start_time(process.pid))
        workspace.agents.save(agent)
        yield process
        process.kill()


def calls(workspace: Workspace, agent: str, **arguments: object) -> None:
    """A call of our tool by an agent, as the MCP server makes it."""
    session = open_session(workspace.settings, dialect_named("brief"), agent=lambda: Author(agent=agent))
    reply = session.call("todo", arguments)
    assert not reply.failed, reply


def shared_by_both(workspace: Workspace, tasks: list[str]) -> HookedAgent:
    """An agent that has joined the plan of the other one, in which the other has started the first task."""
    set_shared(workspace.agents, shared=True)
    calls(workspace, str(OTHER), add=tasks)
    calls(workspace, str(OTHER), start=1)
    agent = HookedAgent(workspace)
    agent.report(HookPoint.SESSION_START)
    return agent


@pytest.mark.usefixtures("other")
def test_without_sharing_a_second_agent_gets_a_plan_of_its_own(agent: HookedAgent) -> None:
    calls(agent.workspace, str(OTHER), add=["Theirs"])

    agent.report(HookPoint.SESSION_START)

    assert agent.record is not None
    assert agent.record.session == f"{agent.workspace.settings.session}#{agent.key}"


@pytest.mark.usefixtures("other")
def test_an_agent_that_joins_a_shared_plan_learns_of_the_tasks_that_nobody_has_taken(workspace: Workspace) -> None:
    set_shared(workspace.agents, shared=True)
    calls(workspace, str(OTHER), add=["Theirs", "Free"])
    calls(workspace, str(OTHER), start=1)
    agent = HookedAgent(workspace)

    context = agent.report(HookPoint.SESSION_START).out

    assert agent.record is not None
    assert agent.record.session == workspace.settings.session
    assert ("Free" in context, "Theirs" in context) == (True, False)


@pytest.mark.usefixtures("other")
def test_an_agent_is_held_to_its_own_tasks_and_to_those_nobody_has_taken(workspace: Workspace) -> None:
    agent = shared_by_both(workspace, ["Theirs", "Mine", "Free"])
    calls(workspace, agent.key, start=2)

    nudge = agent.stops()

    assert [text in nudge for text in ("Mine", "Free", "Theirs")] == [True, True, False]


@pytest.mark.usefixtures("other")
def test_an_agent_may_stop_if_others_have_taken_all_that_is_left(workspace: Workspace) -> None:
    agent = shared_by_both(workspace, ["Theirs", "Mine"])
    calls(workspace, agent.key, done=2)

    assert agent.stops() == ""


def test_the_tasks_of_an_agent_that_has_died_are_nobodys_again(
    workspace: Workspace, other: "subprocess.Popen[bytes]"
) -> None:
    agent = shared_by_both(workspace, ["Theirs", "Mine"])
    calls(workspace, agent.key, done=2)
    before = agent.stops()

    other.kill()
    other.wait()

    assert (before, "Theirs" in agent.stops()) == ("", True)


@pytest.mark.usefixtures("other")
def test_the_tasks_of_an_agent_whose_conversation_has_ended_are_nobodys_again(workspace: Workspace) -> None:
    agent = shared_by_both(workspace, ["Theirs"])
    before = agent.stops()

    HookedAgent(workspace, CODEX, "other").report(HookPoint.SESSION_END, reason="other")

    assert (before, "Theirs" in agent.stops()) == ("", True)


@pytest.mark.usefixtures("other")
def test_a_task_that_was_started_before_the_agent_revealed_its_conversation_is_its_own(
    workspace: Workspace, other: "subprocess.Popen[bytes]"
) -> None:
    """The MCP server of Gemini CLI knows only the process."""
    set_shared(workspace.agents, shared=True)
    calls(workspace, f"codex:pid:{other.pid}", add=["Theirs", "Free"])
    calls(workspace, f"codex:pid:{other.pid}", start=1)

    nudge = HookedAgent(workspace).stops()

    assert ("Free" in nudge, "Theirs" in nudge) == (True, False)


@pytest.mark.usefixtures("other")
def test_a_model_that_sends_whole_lists_is_not_told_that_a_taken_task_is_done(workspace: Workspace) -> None:
    """Its next list would complete the task."""
    declared = replace(workspace.settings, dialect="declared")
    agent = shared_by_both(workspace, ["Theirs", "Free"])
    session = open_session(declared, dialect_named("declared"))
    session = session.using(parts=replace(session.parts, taken=lambda: frozenset({1})))

    statuses = [task.status.value for task in session.held_state.plan.tasks]

    assert statuses == ["blocked", "pending"]
    assert "Free" in agent.stops()


def test_sharing_is_a_property_of_the_project(workspace: Workspace) -> None:
    agents = workspace.agents

    changes = [set_shared(agents, shared=shared) for shared in (True, True, False, False)]

    assert changes == [True, False, True, False]
    assert list(agents.all()) == []
