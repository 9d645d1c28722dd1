"""The context that hooks add.

The plan when a conversation starts, then what changed, and what others change in it, once.
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.hooks.agent import (
    CLAUDE,
    CODEX,
    COPILOT,
    OPEN,
    PI,
    HookedAgent,
    Workspace,
    tasks_of,
)
from tests.hooks.stories import told_at
from tests.hooks.test_fast_path import LOADED_BY_A_SILENT_HOOK, loaded
from tests.suite.forking import PROGRAM, starting
from tildone.agents.integrations import HookPoint, Integration
from tildone.plan.events import Directive
from tildone.plan.model import Task
from tildone.plan.ops import Append


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_the_plan_is_added_however_a_conversation_starts(agent: HookedAgent, source: str) -> None:
    agent.workspace.plan(*OPEN)

    added = agent.is_told(HookPoint.SESSION_START, source=source)

    assert ("Write the parser" in added, "Wire it up" in added) == (True, True)


def test_a_long_plan_is_shortened(agent: HookedAgent) -> None:
    """It keeps the numbers by which a model of the dialect names tasks."""
    agent.workspace.session.change((Append(tuple(Task(f"task {number} {'x' * 500}") for number in range(100))),))

    added = agent.is_told(HookPoint.SESSION_START).splitlines()

    assert len("\n".join(added)) < 4000
    assert [line.partition(" x")[0] for line in added[1:3]] == ["1 task 0", "2 task 1"]
    assert added[-2].startswith("… and ")
    assert added[-1] == "(all from the user)"


def test_a_long_plan_is_shortened_for_a_model_that_names_no_numbers(agent: HookedAgent) -> None:
    (agent.workspace.project / "tildone.toml").write_text('dialect = "indexed"\n', encoding="utf-8")
    agent.workspace.session.change((Append(tuple(Task(f"{number} {'x' * 500}") for number in range(100))),))

    assert agent.is_told(HookPoint.SESSION_START).endswith("- and 90 more\n(all from the user)")


ADDED = "Your plan was changed since you last saw it (by the user): added #3 “Measure”."
CHANGED = "Your plan was changed since you last saw it"


def after_tool(agent: HookedAgent, tool: str = "Bash", **fields: Any) -> str:
    return told_at(agent, HookPoint.AFTER_TOOL, tool=tool, **fields)


def started(workspace: Workspace, integration: Integration = CLAUDE, **more: str) -> HookedAgent:
    agent = HookedAgent(workspace, integration, **more)
    workspace.plan(*OPEN)
    assert told_at(agent, HookPoint.PROMPT, prompt="Begin") != ""
    return agent


def add(agent: HookedAgent, *texts: str) -> None:
    agent.workspace.session.change((Append(tuple(Task(text) for text in texts)),))


def test_a_change_is_told_after_a_tool_call_that_failed(agent: HookedAgent) -> None:
    """Claude Code reports it as another event. What the call would have changed in the native list, it has not."""
    started(agent.workspace)
    add(agent, "Measure")
    todos = {"todos": [{"content": "Forged", "status": "pending"}]}

    told = [
        told_at(agent, HookPoint.TOOL_FAILED, tool="TodoWrite", tool_input=todos, error="InputValidationError")
        for _ in range(2)
    ]

    assert told == [ADDED, ""]
    assert tasks_of(agent.workspace.session.plan) == [*OPEN, ("Measure", "pending")]
    agent.workspace.session.set_directive(Directive.STOP)
    assert agent.report(HookPoint.TOOL_FAILED, tool_name="Bash", error="exit code 1").json["continue"] is False


def test_changes_by_another_agent_are_told_with_its_name(workspace: Workspace) -> None:
    shared = Workspace(workspace.project, workspace.home, {"TILDONE_SESSION": str(workspace.settings.session)})
    one, other = started(shared), HookedAgent(shared, CODEX, "s2")
    told_at(other, HookPoint.PROMPT, prompt="Begin")

    other.writes(("Write the parser", "completed"))

    assert after_tool(one) == f"{CHANGED} (by codex s2): completed #1 “Write the parser”."
    assert (after_tool(one), after_tool(other)) == ("", "")


@pytest.mark.parametrize(
    ("point", "fields", "replies"),
    [
        (HookPoint.BEFORE_TOOL, {"tool_name": "Bash"}, False),
        (HookPoint.AFTER_TOOL, {"tool_name": "Bash"}, True),
        (HookPoint.STOP, {"last_assistant_message": "I stop."}, True),
        (HookPoint.AFTER_TOOL, {"tool_name": "TodoWrite", "tool_input": {"todos": [{"content": "Measure"}]}}, True),
    ],
    ids=["nothing", "news", "nudge", "native list"],
)
def test_a_hook_without_news_loads_no_store(
    agent: HookedAgent, point: HookPoint, fields: dict[str, Any], *, replies: bool
) -> None:
    """Neither events of the agent itself nor news that was told make later calls slow."""
    agent.workspace.plan(*OPEN)
    # All of them started by this process: by its parent, a hook knows the agent.
    with starting():
        agent.call(HookPoint.SESSION_START)
        assert len(list(agent.workspace.session.store.records.presences())) == 1
        if replies:
            add(agent, "Measure")
        assert bool(agent.call(point, **fields).out) is replies

    modules = loaded(agent, HookPoint.AFTER_TOOL, tool_name="Bash", tool_response={})
    # A person's prompt resets the count of a nudge in the store.
    if point is not HookPoint.STOP:
        modules |= loaded(agent, HookPoint.PROMPT, prompt="Go on")
        modules |= loaded(agent, HookPoint.BEFORE_TOOL, tool_name="Bash")

    assert {name for name in modules if name.split(".")[0] == "tildone"} <= LOADED_BY_A_SILENT_HOOK


def test_the_answer_of_our_own_tool_is_not_repeated_and_a_subagent_is_told_nothing(workspace: Workspace) -> None:
    agent = started(workspace)
    add(agent, "Measure")

    assert after_tool(agent, "mcp__tildone__todo") == ""
    assert after_tool(agent, agent_id="a1") == ""
    assert after_tool(agent) == ADDED


@pytest.mark.parametrize(
    ("integration", "variable"),
    [(CLAUDE, "CLAUDE_CODE_SESSION_ID"), (CODEX, "CODEX_SESSION_ID"), (PI, "PI_SESSION_ID")],
    ids=lambda given: getattr(given, "name", ""),
)
def test_what_a_model_changes_with_a_command_is_not_told_to_it(
    workspace: Workspace, integration: Integration, variable: str
) -> None:
    """The coding agent names the conversation in the environment of the command; a person's terminal names none."""
    agent = started(workspace, integration)

    def command(*words: str, **environ: str) -> None:
        variables = {**os.environ, **workspace.environ, **environ}
        subprocess.run([PROGRAM, "todo", *words], cwd=workspace.project, env=variables, check=True, capture_output=True)

    command("done", "1", **{variable: agent.id})
    told = [after_tool(agent)]
    command("done", "2")
    told.append(after_tool(agent))
    command("add", "More", **{variable: "another"})
    told.append(after_tool(agent))

    assert told == [
        "",
        f"{CHANGED} (by the user): completed #2 “Wire it up”.",
        f"{CHANGED} (by {integration.name} another): added #3 “More”.",
    ]


@pytest.mark.parametrize("tool", ["Bash", "TodoWrite"])
def test_of_tools_that_run_in_parallel_one_tells_the_news(workspace: Workspace, tool: str) -> None:
    agent = started(workspace)
    add(agent, "Measure")
    todos = {"todos": [{"content": "Write the parser", "status": "completed"}]}

    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(agent.call, HookPoint.AFTER_TOOL, tool_name=tool, tool_input=todos, tool_response={})
            for _ in range(4)
        ]
        answers = [call.result() for call in calls]

    assert [answer.err for answer in answers] == [""] * 4
    assert sorted(bool(answer.out) for answer in answers) == [False, False, False, True]


def test_of_a_start_and_a_first_prompt_at_once_one_tells_the_plan(workspace: Workspace) -> None:
    """In either order, and together. What is resumed is told the plan again."""
    workspace.plan(*OPEN)
    starts, prompts = (HookPoint.SESSION_START, {"source": "new"}), (HookPoint.PROMPT, {"prompt": "Begin"})
    told: list[int] = []
    for workers, order in ((1, (starts, prompts)), (1, (prompts, starts)), (2, (starts, prompts))):
        agent = HookedAgent(workspace, COPILOT, f"conversation-{len(told)}")
        with ThreadPoolExecutor(workers) as pool:
            calls = [pool.submit(agent.call, point, **fields) for point, fields in order]
            told.append(sum(bool(call.result().out) for call in calls))
        assert agent.call(HookPoint.SESSION_START, source="resume").out != ""
        agent.call(HookPoint.SESSION_END)

    assert told == [1, 1, 1]


def test_single_tasks_that_are_created_in_parallel_are_all_known(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)
    names = [str(number) for number in range(1, 5)]

    def call(name: str, tool: str, given: dict[str, str]) -> str:
        response = {"task": {"id": name}} if tool == "TaskCreate" else {"success": True}
        answer = agent.call(HookPoint.AFTER_TOOL, tool_name=tool, tool_input=given, tool_response=response)
        return answer.out + answer.err

    with ThreadPoolExecutor(4) as pool:
        out = list(pool.map(lambda name: call(name, "TaskCreate", {"subject": f"Task {name}"}), names))
        out += pool.map(lambda name: call(name, "TaskUpdate", {"taskId": name, "status": "completed"}), names)

    assert out == [""] * 8
    assert sorted(workspace.tasks) == [(f"Task {name}", "completed") for name in names]
