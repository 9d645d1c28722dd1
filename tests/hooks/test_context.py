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
    CURSOR,
    GEMINI,
    OPEN,
    OPENCODE,
    PI,
    QWEN,
    HookedAgent,
    Workspace,
    hooks_of,
    tasks_of,
)
from tests.hooks.test_fast_path import LOADED_BY_A_SILENT_HOOK, READS_A_STORE, loaded
from tests.suite.forking import PROGRAM, starting
from tildone.agents.integrations import HookPoint, Integration
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.events import Directive
from tildone.plan.model import Phase, Status, Task
from tildone.plan.ops import Append, Mark, Named, Remove, Rename, Write


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact", "fork"])
def test_the_plan_is_added_however_a_conversation_starts(agent: HookedAgent, source: str) -> None:
    agent.workspace.plan(*OPEN)

    added = agent.is_told(HookPoint.SESSION_START, source=source)

    assert ("Write the parser" in added, "Wire it up" in added) == (True, True)


def test_a_finished_plan_is_not_added_and_a_blocked_one_is(agent: HookedAgent) -> None:
    agent.workspace.plan(("Write the parser", "completed"), ("Wire it up", "abandoned"))
    assert agent.is_told(HookPoint.SESSION_START) == ""
    assert HookedAgent(agent.workspace, GEMINI).is_told(HookPoint.PROMPT, prompt="Go on") == ""

    agent.workspace.plan(("Ask Ada", "blocked"))

    assert "Ask Ada" in agent.is_told(HookPoint.SESSION_START)


def test_a_long_plan_is_shortened(agent: HookedAgent) -> None:
    agent.workspace.session.change((Append(tuple(Task(f"{number} {'x' * 500}") for number in range(100))),))

    added = agent.is_told(HookPoint.SESSION_START)

    assert len(added) < 4000
    assert added.endswith("- and 90 more\n(all from the user)")


def test_a_change_that_was_undone_is_not_reported(agent: HookedAgent) -> None:
    """Nor is an event that leaves the plan as it is."""
    agent.workspace.plan(*OPEN)
    agent.is_told(HookPoint.SESSION_START)
    agent.workspace.session.change((Append((Task("Measure"),)),))
    agent.workspace.session.undo()
    agent.stops()

    assert agent.is_told(HookPoint.PROMPT, prompt="Go on") == ""
    assert agent.seen_head == agent.workspace.session.state.head


def test_a_model_gets_the_plan_with_its_first_prompt_and_again_after_compaction(agent: HookedAgent) -> None:
    """The first may come after an installation in the middle of a conversation."""
    agent.workspace.plan(*OPEN)
    first = [agent.is_told(HookPoint.PROMPT, prompt="Begin") for _ in range(2)]

    agent.report(HookPoint.COMPACTION, trigger="manual")

    assert agent.seen_head is None
    again = agent.is_told(HookPoint.PROMPT, prompt="Go on")
    assert ["Write the parser" in text for text in (*first, again)] == [True, False, True]
    assert first[1] == ""


def test_where_a_compaction_may_go_unnoticed_every_prompt_of_a_person_comes_with_the_plan(workspace: Workspace) -> None:
    """Gemini CLI announces many more compactions than it carries out."""
    agent = HookedAgent(workspace, GEMINI)
    workspace.plan(*OPEN)
    first = agent.is_told(HookPoint.PROMPT, prompt="Begin")

    agent.report(HookPoint.COMPACTION, trigger="auto")
    again = agent.is_told(HookPoint.PROMPT, prompt="Go on")
    workspace.session.change((Append((Task("Measure it"),)),))
    changed = agent.is_told(HookPoint.PROMPT, prompt="Go on")

    assert first.count("Write the parser") == 1
    assert again == first
    assert changed.startswith("Your plan was changed since you last saw it (by the user): added #3 “Measure it”.\n")
    assert changed.endswith(first.replace("Wire it up", "Wire it up\n3 Measure it"))
    assert agent.seen_head == workspace.session.state.head


@pytest.mark.parametrize("integration", [CURSOR, COPILOT], ids=lambda integration: integration.name)
def test_context_that_the_agent_does_not_accept_is_not_told_and_does_not_count_as_seen(
    workspace: Workspace, integration: Integration
) -> None:
    agent = HookedAgent(workspace, integration)
    agent.report(HookPoint.SESSION_START)
    workspace.plan(*OPEN)

    answer = agent.report(HookPoint.PROMPT, prompt="Go on")

    assert (answer.out, answer.err) == ("", "")
    assert after_tool(agent) == ""
    assert agent.seen_head is None


def test_tasks_are_named_as_the_dialect_of_the_plan_names_them(agent: HookedAgent) -> None:
    session = agent.workspace.session
    session.dialect = BRIEF
    session.call("todo", {"add": ["One", "Two"], "done": 1})

    assert agent.is_told(HookPoint.SESSION_START) == "Your plan:\n2> Two\ndone 1"
    session.change((Remove(Named("Two")),))
    assert after_tool(agent) == f"{CHANGED} (by the user): removed #2 “Two”."


ADDED = "Your plan was changed since you last saw it (by the user): added #3 “Measure”."
CHANGED = "Your plan was changed since you last saw it"


def said(agent: HookedAgent, point: HookPoint, **fields: Any) -> str:
    names = {str(field): name for field, name in hooks_of(agent.integration).fields.items()}
    return agent.is_told(point, **{names.get(name, name): given for name, given in fields.items()})


def after_tool(agent: HookedAgent, tool: str = "Bash", **fields: Any) -> str:
    return said(agent, HookPoint.AFTER_TOOL, tool=tool, **fields)


def started(workspace: Workspace, integration: Integration = CLAUDE, **more: str) -> HookedAgent:
    agent = HookedAgent(workspace, integration, **more)
    workspace.plan(*OPEN)
    assert said(agent, HookPoint.PROMPT, prompt="Begin") != ""
    return agent


def add(agent: HookedAgent, *texts: str) -> None:
    agent.workspace.session.change((Append(tuple(Task(text) for text in texts)),))


@pytest.mark.parametrize("integration", [CLAUDE, CODEX, GEMINI, OPENCODE, PI], ids=lambda integration: integration.name)
def test_a_change_is_told_after_the_next_tool_call_and_only_once(
    workspace: Workspace, integration: Integration
) -> None:
    agent = started(workspace, integration)
    before = after_tool(agent)
    add(agent, "Measure")

    told = [after_tool(agent) for _ in range(2)]

    assert (before, told) == ("", [ADDED, ""])
    assert ADDED not in said(agent, HookPoint.PROMPT, prompt="Go on")


def test_a_change_is_told_after_a_tool_call_that_failed(agent: HookedAgent) -> None:
    """Claude Code reports it as another event. What the call would have changed in the native list, it has not."""
    started(agent.workspace)
    add(agent, "Measure")
    todos = {"todos": [{"content": "Forged", "status": "pending"}]}

    told = [
        said(agent, HookPoint.TOOL_FAILED, tool="TodoWrite", tool_input=todos, error="InputValidationError")
        for _ in range(2)
    ]

    assert told == [ADDED, ""]
    assert tasks_of(agent.workspace.session.plan) == [*OPEN, ("Measure", "pending")]
    agent.workspace.session.set_directive(Directive.STOP)
    assert agent.report(HookPoint.TOOL_FAILED, tool_name="Bash", error="exit code 1").json["continue"] is False


def test_the_first_task_of_a_plan_is_told_too(agent: HookedAgent) -> None:
    """The model has seen no plan because there was none."""
    assert said(agent, HookPoint.SESSION_START, source="startup") == ""
    assert after_tool(agent) == ""
    add(agent, "Measure")

    told = [after_tool(agent) for _ in range(2)]

    assert told[0].splitlines()[-2:] == ["1 Measure", "(all from the user)"]
    assert told[1] == ""


def test_a_removed_task_is_said_to_be_removed_and_does_not_return(agent: HookedAgent) -> None:
    agent.writes(("Parse", "pending"), ("Wire", "pending"))
    agent.workspace.session.change((Remove(Named("Wire")),))

    told = [agent.writes(("Parse", status), ("Wire", "pending")) for status in ("in_progress", "completed")]

    assert told == [f"{CHANGED} (by the user): removed “Wire”.", ""]
    assert agent.workspace.tasks == [("Parse", "completed")]


def test_own_changes_of_a_native_list_are_never_told(agent: HookedAgent) -> None:
    """Neither after the next tool call nor with the next prompt, in a plan of its own and in a person's plan."""
    started(agent.workspace)
    told = [
        agent.writes(("Write the parser", "completed")),
        after_tool(agent, "TaskCreate", tool_input={"subject": "Wire it up"}, tool_response={"task": {"id": "1"}}),
        after_tool(agent, "TaskUpdate", tool_input={"taskId": "1", "status": "completed"}),
        after_tool(agent),
        after_tool(agent, "TaskCreate", tool_input={"subject": "More"}, tool_response={"task": {"id": "2"}}),
        after_tool(agent, "TaskUpdate", tool_input={"taskId": "2", "status": "in_progress", "subject": "Much more"}),
        after_tool(agent),
        said(agent, HookPoint.PROMPT, prompt="Go on"),
    ]

    assert told == [""] * len(told)
    assert ("Much more", "in_progress") in agent.workspace.tasks


def test_own_changes_are_not_told_where_only_a_prompt_can_tell_anything(workspace: Workspace) -> None:
    agent = HookedAgent(workspace, QWEN)
    agent.writes(("Parse", "pending"), ("Wire", "pending"))
    agent.workspace.session.change((Append((Task("Measure"),)), Rename(Named("Wire"), "Connect")))
    assert agent.writes(("Parse", "completed"), ("Wire", "pending"), ("Ship", "pending")) == ""

    assert said(agent, HookPoint.PROMPT, prompt="Go on") == (
        f"{CHANGED} (by the user): added “Measure”; renamed “Wire” to “Connect”."
    )


def test_changes_by_another_agent_are_told_with_its_name(workspace: Workspace) -> None:
    shared = Workspace(workspace.project, workspace.home, {"TILDONE_SESSION": str(workspace.settings.session)})
    one, other = started(shared), HookedAgent(shared, CODEX, "s2")
    said(other, HookPoint.PROMPT, prompt="Begin")

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

    assert {name for name in modules if name.split(".")[0] == "tildone"} <= LOADED_BY_A_SILENT_HOOK | READS_A_STORE


def test_the_answer_of_our_own_tool_is_not_repeated_and_a_subagent_is_told_nothing(workspace: Workspace) -> None:
    agent = started(workspace)
    add(agent, "Measure")

    assert after_tool(agent, "mcp__tildone__todo") == ""
    assert after_tool(agent, agent_id="a1") == ""
    assert after_tool(agent) == ADDED


def test_what_a_stopped_model_was_not_told_is_told_after_it_is_resumed(workspace: Workspace) -> None:
    agent = started(workspace)
    add(agent, "Measure")
    workspace.session.set_directive(Directive.STOP)
    assert "continue" in agent.report(HookPoint.AFTER_TOOL, tool_name="Bash").out
    assert "continue" in agent.report(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input={"todos": []}).out
    workspace.session.set_directive(Directive.GO)

    assert after_tool(agent) == ADDED


def test_an_agent_that_is_told_to_continue_is_told_what_was_removed(workspace: Workspace) -> None:
    """That a task was added follows from the list, and is not repeated after the next tool call either."""
    agent = started(workspace)
    workspace.session.change((Append((Task("Measure"),)), Remove(Named("Wire it up"))))

    nudge = agent.stops()

    assert nudge.startswith(f"{CHANGED} (by the user): removed #2 “Wire it up”.\nYour plan is not done:")
    assert "Measure" in nudge
    assert after_tool(agent) == ""


def test_a_model_that_was_let_go_is_told_later_what_it_has_not_seen(workspace: Workspace) -> None:
    agent = started(workspace)
    workspace.session.change(
        (Mark(Named("Wire it up"), Status.BLOCKED), Mark(Named("Write the parser"), Status.BLOCKED))
    )
    assert agent.stops() == ""

    assert "blocked #2 “Wire it up”" in after_tool(agent)


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
