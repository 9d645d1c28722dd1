"""Hooks never tell a model without our tools to use them."""

import os
import shlex
import subprocess

import pytest

from tests.hooks.agent import CURSOR, OPEN, PI, HookedAgent, Workspace, hooks_of
from tildone.agents.hooks import reply as tool_access
from tildone.agents.integrations import HookPoint
from tildone.plan.dialects import dialect_named
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.stores.assignment import ProvidedTools


@pytest.fixture(autouse=True)
def _is_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that runs the tests counts as the coding agent."""
    monkeypatch.setattr(tool_access, "runs_program", lambda *_: True)


@pytest.fixture
def agent(workspace: Workspace) -> HookedAgent:
    """Claude Code without our tools, in a workspace with a plan."""
    workspace.plan(*OPEN)
    return HookedAgent(workspace)


def commands_in(nudge: str) -> list[list[str]]:
    """The commands that a nudge names, each at the end of a line."""
    return [shlex.split(line.partition(": ")[2]) for line in nudge.splitlines() if " todo " in line]


def test_a_model_without_tools_is_told_a_command_that_works(agent: HookedAgent) -> None:
    nudge = agent.stops()

    assert agent.workspace.session.state.nudges == 1
    for number, command in enumerate(commands_in(nudge), start=1):
        words = [str(number) if word == "N" else word for word in command]
        subprocess.run(words, env={**os.environ, **agent.workspace.environ}, cwd=agent.workspace.project, check=True)
    assert nudge.startswith("Your plan is not done:\n1 Write the parser\n2 Wire it up\n")
    assert agent.workspace.tasks == [("Write the parser", "completed"), ("Wire it up", "abandoned")]


def test_a_model_without_tools_that_may_have_asked_is_told_a_command_that_says_so(agent: HookedAgent) -> None:
    *_, block = commands_in(agent.stops("I can't continue."))
    words = ["1" if word == "N" else word for word in block]

    subprocess.run(words, env={**os.environ, **agent.workspace.environ}, cwd=agent.workspace.project, check=True)

    [task, _] = agent.workspace.session.plan.tasks
    assert (task.status.value, task.notes) == ("blocked", ("why it waits",))


def test_a_model_without_tools_that_repeats_what_may_ask_rests_and_no_fault_is_told(agent: HookedAgent) -> None:
    answers = [agent.report(HookPoint.STOP, last_assistant_message="I can't continue.").out for _ in range(3)]

    assert [bool(answer) for answer in answers] == [True, False, False]


def test_an_agent_with_a_session_of_its_own_is_told_its_name(agent: HookedAgent) -> None:
    """Without it, the command would edit the plan of the other agent."""
    agent.stops()
    second = HookedAgent(agent.workspace, id="s2")
    second.report(HookPoint.PROMPT, prompt="Hello")
    record = second.record
    assert record is not None
    agent.workspace.session_of(record.session).change([Append((Task("Another"),))])

    done, _ = commands_in(second.stops())

    assert done[-2:] == ["--session", record.session]


def test_an_agent_that_does_not_use_the_command_is_let_go_and_the_person_is_told_once(agent: HookedAgent) -> None:
    nudges = [bool(agent.stops("First.")), bool(agent.stops("Second."))]
    agent.workspace.session.change([Append((Task("More"),))])
    asked_again = agent.stops("Third.")
    answer = agent.report(HookPoint.STOP, last_assistant_message="Fourth.")
    after = agent.report(HookPoint.STOP, last_assistant_message="Fifth.")

    assert nudges == [True, False]
    assert asked_again
    assert answer.json["systemMessage"].startswith(
        "tildone lets the agent go: its model has no todo tool, because Claude Code runs no MCP server of tildone. "
    )
    assert " doctor claude. 3 of 3 tasks are open." in answer.json["systemMessage"]
    assert after.out == ""


def test_a_model_whose_list_is_mirrored_is_told_no_command(workspace: Workspace) -> None:
    """It closes tasks with the tool of its coding agent."""
    agent = HookedAgent(workspace)
    todos = [{"content": "Write the parser", "status": "pending"}]
    agent.report(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input={"todos": todos})

    nudges = [agent.stops(f"Stop {number}.") for number in range(3)]

    assert all(nudge.startswith("Your todo list is not done:\n- Write the parser\n") for nudge in nudges)


@pytest.mark.parametrize("dialect", ["indexed", "phased", "declared"])
def test_context_names_no_tool_that_the_model_lacks(agent: HookedAgent, dialect: str) -> None:
    (agent.workspace.project / "tildone.toml").write_text(f'dialect = "{dialect}"\n', encoding="utf-8")

    answer = agent.report(HookPoint.SESSION_START)

    text = answer.json["hookSpecificOutput"]["additionalContext"]
    assert text.startswith("Your plan (0 of 2 done); open:\n- Write the parser (in progress)\n")
    assert [tool.name for tool in dialect_named(dialect).tools if tool.name in text] == []


def test_an_agent_whose_servers_start_elsewhere_counts_as_having_tools(agent: HookedAgent) -> None:
    """Cursor starts its hooks and its MCP servers in different processes."""
    assert not hooks_of(CURSOR).starts_servers

    nudge = HookedAgent(agent.workspace, CURSOR).stops()

    assert nudge.startswith("Your plan is not done:\nstarted 1 Write the parser\n")
    assert "todo done" not in nudge


def test_a_person_who_tries_a_hook_is_shown_what_a_model_with_tools_is_told(
    agent: HookedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No coding agent has started the hook, so nothing is known of its tools."""
    monkeypatch.setattr(tool_access, "runs_program", lambda *_: False)

    assert "todo done" not in agent.stops()


def test_pi_has_the_tools_that_it_was_offered(agent: HookedAgent) -> None:
    """Through its extension, because it has no MCP client."""
    pi = HookedAgent(agent.workspace, PI, id="p1")
    pi.report(HookPoint.OFFER_TOOLS)

    assert "todo done" not in pi.stops()


def test_the_tools_are_there_again_when_their_server_is(agent: HookedAgent) -> None:
    first = agent.stops("First.")
    record = agent.record
    assert record is not None

    ProvidedTools(agent.workspace.settings.agents_dir, record.pid).announce()

    assert "todo done" in first
    assert "todo done" not in agent.stops("Second.")
