"""A subagent has a list of its own below its parent's plan, and its events change nothing in the plan."""

import json
from typing import Any

import pytest

from tests.hooks.agent import HookedAgent, Workspace, tasks_of
from tildone.agents.integrations import HookPoint
from tildone.agents.integrations.codex import INTEGRATION as CODEX
from tildone.agents.integrations.opencode import INTEGRATION as OPENCODE
from tildone.base.ids import now
from tildone.plan.events import Directive
from tildone.stores.assignment import subagents_on

EXPLORE = {"agent_id": "a1", "agent_type": "Explore"}
OPEN = [("One", "pending"), ("Two", "pending")]


def writes(agent: HookedAgent, *tasks: tuple[str, str], **fields: Any) -> None:
    """The agent writes its native list."""
    todos = [{"content": text, "status": status} for text, status in tasks]
    agent.report(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input={"todos": todos}, **fields)


def list_of(workspace: Workspace, subagent: str) -> list[tuple[str, str]]:
    return tasks_of(workspace.session_of(f"{workspace.settings.session}#sub:{subagent}").plan)


def stops(agent: HookedAgent, **fields: Any) -> dict[str, Any]:
    answer = agent.report_event("SubagentStop", last_assistant_message="I stop.", **fields)
    reply: dict[str, Any] = json.loads(answer.out or "{}")
    return reply


def test_a_native_list_of_a_subagent_becomes_a_list_of_its_own(agent: HookedAgent) -> None:
    writes(agent, ("Main", "pending"))

    writes(agent, ("Main", "completed"), ("Look", "pending"), **EXPLORE)

    assert agent.workspace.tasks == [("Main", "pending")]
    assert list_of(agent.workspace, "a1") == [("Main", "completed"), ("Look", "pending")]
    [known] = subagents_on(agent.workspace.agents, agent.workspace.settings.session, now())
    assert (known.name, known.ended) == ("Explore", None)


def test_two_subagents_have_two_lists(agent: HookedAgent) -> None:
    writes(agent, ("Look", "pending"), agent_id="a1")
    writes(agent, ("Listen", "pending"), agent_id="a2")

    assert list_of(agent.workspace, "a1") == [("Look", "pending")]
    assert list_of(agent.workspace, "a2") == [("Listen", "pending")]


def test_a_subagent_that_writes_no_list_leaves_no_trace(agent: HookedAgent) -> None:
    agent.workspace.plan(*OPEN)

    agent.report(HookPoint.BEFORE_TOOL, tool_name="Bash", tool_input={}, **EXPLORE)
    agent.report(HookPoint.AFTER_TOOL, tool_name="Bash", tool_input={}, tool_response={}, **EXPLORE)
    reply = stops(agent, **EXPLORE)

    assert (reply, list_of(agent.workspace, "a1")) == ({}, [])
    assert subagents_on(agent.workspace.agents, agent.workspace.settings.session, now()) == []


def test_a_subagent_is_held_to_its_own_list_only_and_its_parent_not_to_it(agent: HookedAgent) -> None:
    agent.workspace.plan(("Main", "completed"))
    writes(agent, ("Look", "pending"), **EXPLORE)

    reply = stops(agent, **EXPLORE)

    assert reply["decision"] == "block"
    assert "Look" in reply["reason"]
    assert agent.stops() == ""


def test_a_subagent_in_the_background_is_held_and_its_parent_waits_for_it(agent: HookedAgent) -> None:
    """Claude Code lists the subagent that stops and its siblings as running; a command of the subagent wakes it."""
    agent.workspace.plan(*OPEN)
    writes(agent, ("Look", "pending"), **EXPLORE)
    subagents = [
        {"id": name, "type": "subagent", "status": "running", "agent_type": "Explore"} for name in ("a1", "a2")
    ]
    command = {"id": "b1", "type": "shell", "status": "running"}

    held = stops(agent, background_tasks=subagents, **EXPLORE)

    assert "Look" in held["reason"]
    assert stops(agent, background_tasks=[*subagents, command], **EXPLORE) == {}
    assert agent.stops(background_tasks=subagents) == ""


def test_the_parent_is_held_to_its_plan_and_the_subagent_is_not(agent: HookedAgent) -> None:
    agent.workspace.plan(*OPEN)
    writes(agent, ("Look", "completed"), **EXPLORE)

    assert stops(agent, **EXPLORE) == {}
    assert "One" in agent.stops()


def test_a_subagent_that_is_let_go_has_ended_and_may_be_resumed(agent: HookedAgent) -> None:
    workspace, session = agent.workspace, agent.workspace.settings.session
    writes(agent, ("Look", "completed"), **EXPLORE)
    stops(agent, **EXPLORE)
    [ended] = subagents_on(workspace.agents, session, now())
    after_two_hours = subagents_on(workspace.agents, session, now() + 2 * 3_600_000)

    writes(agent, ("Look", "completed"), ("Look again", "pending"), **EXPLORE)
    [resumed] = subagents_on(workspace.agents, session, now())

    assert ended.ended is not None
    assert resumed.ended is None
    assert after_two_hours == []


def test_a_chain_of_subagents_ends_with_the_bound_of_its_parent(workspace: Workspace) -> None:
    """Each has a list of its own, and the person is told once for each why it is let go."""
    agent = HookedAgent(Workspace(workspace.project, workspace.home, {**workspace.more, "TILDONE_MAX_TOTAL": "5"}))
    workspace.plan(*OPEN)
    agent.stops("First.")
    for subagent in "ab":
        writes(agent, ("Look", "pending"), agent_id=subagent)

    answers = [stops(agent, agent_id=subagent) for subagent in "ababab"]

    assert [answer.get("decision") for answer in answers] == ["block"] * 4 + [None] * 2
    assert "told to go on 5 times since you last spoke" in answers[4]["systemMessage"]
    assert workspace.session.state.nudges == 1
    assert not agent.stops("Again.")


def test_a_paused_parent_has_resting_subagents(agent: HookedAgent) -> None:
    writes(agent, ("Look", "pending"), **EXPLORE)
    agent.workspace.session.set_directive(Directive.PAUSE)

    assert stops(agent, **EXPLORE) == {}


def test_a_subagent_ends_with_its_parent_after_tildone_stop(agent: HookedAgent) -> None:
    agent.workspace.plan(*OPEN)
    agent.workspace.session.set_directive(Directive.STOP)

    answer = agent.report(HookPoint.BEFORE_TOOL, tool_name="Bash", tool_input={}, **EXPLORE)

    assert json.loads(answer.out)["continue"] is False


@pytest.mark.parametrize("point", [HookPoint.PROMPT, HookPoint.SESSION_START, HookPoint.COMPACTION])
def test_events_of_a_subagent_say_nothing_of_the_plan_and_change_nothing(
    workspace: Workspace, point: HookPoint
) -> None:
    """Codex reports the prompt that the parent gave to the subagent as a prompt."""
    agent = HookedAgent(workspace, CODEX)
    workspace.plan(*OPEN)
    agent.report(HookPoint.SESSION_START)
    workspace.plan(*OPEN, ("Three", "pending"))
    before = agent.record

    answer = agent.report(point, prompt="Look around", **EXPLORE)

    assert (answer.out, agent.record) == ("", before)
    assert "Three" in agent.report(HookPoint.PROMPT, prompt="Go on").out


def test_the_end_of_a_subagent_is_not_the_end_of_its_parent(agent: HookedAgent) -> None:
    agent.workspace.plan(*OPEN)
    agent.report(HookPoint.SESSION_START)

    agent.report(HookPoint.SESSION_END, reason="other", **EXPLORE)

    assert agent.record is not None


def test_a_subagent_of_opencode_is_not_held_because_it_cannot_be_continued(workspace: Workspace) -> None:
    agent = HookedAgent(workspace, OPENCODE)
    todos = [{"content": "Look", "status": "pending"}]
    child = {"agentID": "ses_1", "agentType": "explore"}
    agent.report(HookPoint.AFTER_TOOL, tool="todowrite", args={"todos": todos}, **child)

    answer = agent.report(HookPoint.STOP, text="I stop.", status="completed", **child)

    assert (answer.out, list_of(workspace, "ses_1")) == ("", [("Look", "pending")])
    [known] = subagents_on(workspace.agents, workspace.settings.session, now())
    assert known.ended is not None
