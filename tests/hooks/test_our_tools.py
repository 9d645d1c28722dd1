"""Hosts that ours run inside of: they call our tools through hooks, and say whose call comes next."""

import json
import os

import pytest

from tests.hooks.agent import Desk, Hooked
from tildone.agents.identity import AgentId
from tildone.agents.processes import agent_process
from tildone.agents.registry import CALLER_NOTE
from tildone.integrations.gemini import INTEGRATION as GEMINI
from tildone.integrations.opencode import INTEGRATION as OPENCODE
from tildone.integrations.pi import INTEGRATION as PI
from tildone.integrations.record import HookPoint

OPEN = (("Write the parser", "in_progress"), ("Wire it up", "pending"))


def called(agent: Hooked, tool: str = "todo", **args: object) -> dict[str, object]:
    answer = agent.tell(HookPoint.CALL_TOOL, tool=tool, args=args)
    assert (answer.code, answer.err) == (0, ""), answer
    told: dict[str, object] = json.loads(answer.out)
    return told


def test_a_call_changes_the_plan_and_the_model_knows_it_then(desk: Desk) -> None:
    """It is told nothing twice, and told what others did meanwhile."""
    agent = Hooked(desk, PI)

    first = called(agent, add=["Write the parser", "Wire it up"])
    second = called(agent, done=1)
    desk.plan(("Write the parser", "completed"), ("Wire it up", "pending"), ("Measure it", "pending"))
    third = called(agent, done=2)

    assert [told["text"] for told in (first, second)] == ["1-2", "ok"]
    assert "Changed by others meanwhile" in str(third["text"])
    assert third["line"] == "✓ 2/3 · 3 Measure it"
    assert agent.stops()


def test_a_call_that_is_refused_tells_the_model_nothing_of_the_plan(desk: Desk) -> None:
    """So it still has to be told, when it next asks for something that can be done."""
    desk.plan(*OPEN)
    agent = Hooked(desk, PI)

    refused = called(agent, dun=1)
    done = called(agent, done=1)

    assert refused["failed"] is True
    assert done["text"] == "ok\nPlan:\n2 Wire it up\ndone 1"


def test_there_are_the_tools_of_the_dialect_that_was_settled(desk: Desk) -> None:
    (desk.project / "tildone.toml").write_text('dialect = "phased"\n', encoding="utf-8")
    agent = Hooked(desk, PI)

    offered = json.loads(agent.tell(HookPoint.OFFER_TOOLS).out)["tools"]
    told = called(agent, "todo_write", ops=[{"op": "init", "list": [{"phase": "A", "items": ["One"]}]}])

    assert [tool["name"] for tool in offered] == ["todo_write"]
    assert told["failed"] is False
    assert desk.tasks == [("One", "in_progress")]


@pytest.mark.parametrize("tool", ["", "bash", 7])
def test_a_tool_that_there_is_not_is_said_on_standard_error(desk: Desk, tool: object) -> None:
    """Whoever called it gets no answer then, and can tell."""
    answer = Hooked(desk, PI).tell(HookPoint.CALL_TOOL, tool=tool, args={})

    assert (answer.code, answer.out) == (0, "")
    assert "there is no tool" in answer.err


def test_a_host_with_many_sessions_says_which_of_them_is_about_to_call_us(desk: Desk) -> None:
    """And says nothing when it is about to call somebody else."""
    ours, other = Hooked(desk, OPENCODE, "A"), Hooked(desk, OPENCODE, "B")

    ours.tell(HookPoint.BEFORE_TOOL, tool="tildone_todo", args={})
    other.tell(HookPoint.BEFORE_TOOL, tool="bash", args={})

    assert desk.agents.note(AgentId("opencode", pid=agent_process()), CALLER_NOTE) == "opencode:A"
    assert os.getpid() != agent_process()


def test_words_that_a_host_adds_up_are_taken_one_by_one(desk: Desk) -> None:
    """An agent of Gemini's that says the same each time is let go like any other."""
    desk.plan(*OPEN)
    agent = Hooked(desk, GEMINI)

    held = [bool(agent.stops("\n".join(["Same."] * count), stop_hook_active=count > 1)) for count in range(1, 6)]
    asked = agent.stops("\n".join(["Same."] * 5 + ["Which one?"]), stop_hook_active=True)

    assert held == [True, True, True, False, False]
    assert asked == ""


def test_words_are_counted_anew_after_a_prompt(desk: Desk) -> None:
    desk.plan(*OPEN)
    agent = Hooked(desk, GEMINI)

    held = [bool(agent.stops("Same.", stop_hook_active=False)) for _ in range(5)]

    assert held == [True, True, True, False, False]


def test_a_host_that_cannot_be_told_at_the_start_is_told_with_the_first_prompt(desk: Desk) -> None:
    """Also in a session that goes on, whose model knew the plan before."""
    desk.plan(*OPEN)
    agent = Hooked(desk, GEMINI)
    agent.tell(HookPoint.PROMPT, prompt="Begin")

    started = agent.tell(HookPoint.SESSION_START, source="resume")
    prompts = [agent.tell(HookPoint.PROMPT, prompt="Go on").out for _ in range(2)]

    assert started.out == ""
    assert ["Write the parser" in told for told in prompts] == [True, False]
