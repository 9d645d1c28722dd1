"""Coding agents that run our shims: tool calls through hooks, and which conversation calls next."""

import json
import os

import pytest

from tests.hooks.agent import OPEN, HookedAgent, Workspace
from tildone.agents.integrations import HookPoint
from tildone.agents.integrations.gemini import INTEGRATION as GEMINI
from tildone.agents.integrations.opencode import INTEGRATION as OPENCODE
from tildone.agents.integrations.pi import INTEGRATION as PI
from tildone.stores.agents import CALLER_NOTE, AgentId, agent_process


def called(agent: HookedAgent, tool: str = "todo", **args: object) -> dict[str, object]:
    answer = agent.report(HookPoint.CALL_TOOL, tool=tool, args=args)
    assert (answer.code, answer.err) == (0, ""), answer
    result: dict[str, object] = json.loads(answer.out)
    return result


def test_a_call_changes_the_plan_and_marks_it_as_seen(workspace: Workspace) -> None:
    """The result says what others changed meanwhile, and nothing twice."""
    agent = HookedAgent(workspace, PI)

    first = called(agent, add=["Write the parser", "Wire it up"])
    second = called(agent, done=1)
    workspace.plan(("Write the parser", "completed"), ("Wire it up", "pending"), ("Measure it", "pending"))
    third = called(agent, done=2)

    assert [result["text"] for result in (first, second)] == ["1-2", "ok"]
    assert "Changed by others meanwhile" in str(third["text"])
    assert third["line"] == "✓ 2/3 · #3 Measure it"
    assert agent.stops()


def test_a_refused_call_does_not_mark_the_plan_as_seen(workspace: Workspace) -> None:
    """The next call that succeeds shows the whole plan."""
    workspace.plan(*OPEN)
    agent = HookedAgent(workspace, PI)

    refused = called(agent, dun=1)
    done = called(agent, done=1)

    assert refused["failed"] is True
    assert done["text"] == "ok\nPlan:\n2> Wire it up\n(all from the user)\ndone 1"


def test_the_tools_of_the_configured_dialect_are_offered(workspace: Workspace) -> None:
    (workspace.project / "tildone.toml").write_text('dialect = "phased"\n', encoding="utf-8")
    agent = HookedAgent(workspace, PI)

    offered = json.loads(agent.report(HookPoint.OFFER_TOOLS).out)["tools"]
    result = called(agent, "todo_write", ops=[{"op": "init", "list": [{"phase": "A", "items": ["One"]}]}])

    assert [tool["name"] for tool in offered] == ["todo_write"]
    assert result["failed"] is False
    assert workspace.tasks == [("One", "in_progress")]


def test_a_refusal_that_is_a_normal_result_is_no_failed_call(workspace: Workspace) -> None:
    """As over MCP: pi would turn a failed call into an exception."""
    (workspace.project / "tildone.toml").write_text('dialect = "indexed"\n', encoding="utf-8")

    refused = called(HookedAgent(workspace, PI), "edit_todos", action="start", indices=[7])

    assert (refused["text"], refused["failed"]) == ("Error: no todos exist", False)


@pytest.mark.parametrize("tool", ["", "bash", 7])
def test_an_unknown_tool_is_reported_on_standard_error(workspace: Workspace, tool: object) -> None:
    """Standard output stays empty, which tells the shim that the call failed."""
    answer = HookedAgent(workspace, PI).report(HookPoint.CALL_TOOL, tool=tool, args={})

    assert (answer.code, answer.out) == (0, "")
    assert "there is no tool" in answer.err


def test_an_agent_with_several_conversations_notes_which_one_calls_our_tool_next(workspace: Workspace) -> None:
    """A call of another tool changes nothing."""
    ours, other = HookedAgent(workspace, OPENCODE, "A"), HookedAgent(workspace, OPENCODE, "B")

    ours.report(HookPoint.BEFORE_TOOL, tool="tildone_todo", args={})
    other.report(HookPoint.BEFORE_TOOL, tool="bash", args={})

    assert workspace.agents.note(AgentId("opencode", pid=agent_process()), CALLER_NOTE) == "opencode:A"
    assert os.getpid() != agent_process()


def test_cumulative_messages_are_compared_turn_by_turn(workspace: Workspace) -> None:
    """Gemini CLI repeats all earlier messages; the bound on repetitions still applies."""
    workspace.plan(*OPEN)
    agent = HookedAgent(workspace, GEMINI)

    continued = [bool(agent.stops("\n".join(["Same."] * count), stop_hook_active=count > 1)) for count in range(1, 6)]
    after_question = agent.stops("\n".join(["Same."] * 5 + ["Which one?"]), stop_hook_active=True)

    assert continued == [True, True, True, False, False]
    assert after_question == ""


def test_cumulative_messages_start_again_after_a_prompt(workspace: Workspace) -> None:
    workspace.plan(*OPEN)
    agent = HookedAgent(workspace, GEMINI)

    continued = [bool(agent.stops("Same.", stop_hook_active=False)) for _ in range(5)]

    assert continued == [True, True, True, False, False]


def test_an_agent_that_accepts_no_context_at_the_start_gets_the_plan_with_its_prompts(workspace: Workspace) -> None:
    """With each, because Gemini CLI may have compacted the conversation before it."""
    workspace.plan(*OPEN)
    agent = HookedAgent(workspace, GEMINI)
    agent.report(HookPoint.PROMPT, prompt="Begin")

    started = agent.report(HookPoint.SESSION_START, source="resume")
    prompts = [agent.report(HookPoint.PROMPT, prompt="Go on").out for _ in range(2)]

    assert started.out == ""
    assert ["Write the parser" in text for text in prompts] == [True, True]
