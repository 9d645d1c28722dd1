"""Agents as hooks know them.

On one plan, with presences, subagents, calls of our tools, and what they say they have used.

The other agent is a real process, so that its death ends its claims.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hooks.agent import (
    CLAUDE,
    CODEX,
    GEMINI,
    OPENCODE,
    PI,
    WITH_HOOKS,
    HookedAgent,
    Workspace,
    in_subprocess,
    new_workspace,
    nudge_in,
    plan_of,
    tasks_of,
    to_json,
)
from tests.hooks.agent import OPEN as TWO_OPEN
from tests.hooks.test_fast_path import loaded
from tests.suite.forking import PROGRAM
from tildone.agents.integrations import HookPoint
from tildone.app.opening import open_session
from tildone.base import replace
from tildone.base.ids import now
from tildone.log.presence import Presence
from tildone.plan.dialects import dialect_named
from tildone.plan.events import AgentUsage, Author, Directive, Labelled, Nudged, PlanChanged
from tildone.plan.gate import RestReason
from tildone.plan.ops import Write
from tildone.stores.agents import CALLER_NOTE, Agent, AgentId, agent_process, start_time
from tildone.stores.assignment import set_shared, subagents_on

OTHER = AgentId("codex", "other")


@pytest.fixture
def other(workspace: Workspace) -> Iterator["subprocess.Popen[bytes]"]:
    """The process of another agent on the project's plan."""
    if sys.platform == "win32":
        pytest.skip("the death of a process is not noticed on Windows")
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
    told = agent.report(HookPoint.SESSION_START).out
    assert [text in told for text in tasks] == [False] + [True] * (len(tasks) - 1)
    return agent


def test_an_agent_is_held_to_its_own_tasks_and_to_those_nobody_has_taken(
    workspace: Workspace, other: "subprocess.Popen[bytes]"
) -> None:
    """The tasks of an agent that has died are nobody's again."""
    agent = shared_by_both(workspace, ["Theirs", "Mine", "Free"])
    calls(workspace, agent.key, start=2)
    nudge = agent.stops()
    calls(workspace, agent.key, done=[2, 3])
    left = agent.stops()

    other.kill()
    other.wait()

    assert agent.record is not None
    assert agent.record.session == workspace.settings.session
    assert [text in nudge for text in ("Mine", "Free", "Theirs")] == [True, True, False]
    assert (left, "Theirs" in agent.stops()) == ("", True)


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


LISTED = {"tool_name": "TodoWrite", "tool_input": {"todos": [{"content": "One", "status": "pending"}]}}


def presences(workspace: Workspace) -> list[Presence]:
    return list(workspace.session.store.records.presences())


@pytest.fixture
def planner(workspace: Workspace) -> HookedAgent:
    """An agent at work on a plan."""
    workspace.plan(("One", "pending"))
    return HookedAgent(workspace)


def test_the_presence_of_an_agent_says_what_it_does(planner: HookedAgent) -> None:
    """Until its session ends. A prompt that has nothing to say is told all the same."""
    workspace, other = planner.workspace, HookedAgent(planner.workspace, CODEX, "c1")
    planner.report(HookPoint.STATUS_LINE, model={"id": "opus"}, cost={"total_cost_usd": 1.25})
    assert presences(workspace) == []

    assert planner.stops()
    [held] = presences(workspace)
    planner.report(HookPoint.AFTER_TOOL, tool_response={}, **LISTED)
    [calling] = presences(workspace)
    assert planner.stops("Shall I delete the folder?") == ""
    [resting] = presences(workspace)
    planner.report(HookPoint.PROMPT, prompt="Yes")
    [working] = presences(workspace)
    other.report(HookPoint.SESSION_START, source="startup")
    both = {present.agent for present in presences(workspace)}
    planner.report(HookPoint.SESSION_END, reason="exit")

    assert (held.agent, held.session, held.host) == (planner.key, workspace.settings.session, "claude")
    assert (held.model, held.doing, held.why, held.cost) == ("opus", "", "", 1.25)
    assert (held.beat, held.machine) == (held.since, os.uname().nodename)
    assert 0 < held.beat <= resting.beat <= working.beat
    assert [(one.doing, one.why) for one in (calling, resting)] == [("TodoWrite", ""), ("", RestReason.ASKED.value)]
    assert working.why == ""
    assert both - {present.agent for present in presences(workspace)} == {planner.key}


def test_a_session_that_was_never_told_of_ends_without_a_store(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)

    modules = loaded(agent, HookPoint.SESSION_END, reason="exit")

    assert "apsw" not in modules
    assert not os.path.exists(workspace.settings.store.location)


def test_a_store_that_is_gone_at_the_end_is_not_created_again(planner: HookedAgent) -> None:
    planner.stops()
    path = planner.workspace.settings.store.location
    os.remove(path)

    answer = planner.report(HookPoint.SESSION_END, reason="exit")

    assert (answer.code, answer.err) == (0, "")
    assert not os.path.exists(path)


def test_a_store_that_refuses_presences_changes_nothing_for_the_agent(planner: HookedAgent) -> None:
    store = planner.workspace.session.store
    store.close()
    import apsw  # noqa: PLC0415  only this test writes to the file

    path = planner.workspace.settings.store.location
    apsw.Connection(path).execute(
        "CREATE TRIGGER full BEFORE INSERT ON presence BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    )

    assert "One" in planner.stops()
    assert presences(planner.workspace) == []


EXPLORE = {"agent_id": "a1", "agent_type": "Explore"}
OPEN = [("One", "pending"), ("Two", "pending")]


def writes(agent: HookedAgent, *tasks: tuple[str, str], **fields: Any) -> None:
    todos = [{"content": text, "status": status} for text, status in tasks]
    agent.report(HookPoint.AFTER_TOOL, tool_name="TodoWrite", tool_input={"todos": todos}, **fields)


def list_of(workspace: Workspace, subagent: str) -> list[tuple[str, str]]:
    return tasks_of(workspace.session_of(f"{workspace.settings.session}#sub:{subagent}").plan)


def stops(agent: HookedAgent, **fields: Any) -> dict[str, Any]:
    answer = agent.report_event("SubagentStop", last_assistant_message="I stop.", **fields)
    reply: dict[str, Any] = json.loads(answer.out or "{}")
    return reply


def test_a_subagent_that_writes_no_list_leaves_no_trace(agent: HookedAgent) -> None:
    agent.workspace.plan(*OPEN)

    agent.report(HookPoint.BEFORE_TOOL, tool_name="Bash", tool_input={}, **EXPLORE)
    agent.report(HookPoint.AFTER_TOOL, tool_name="Bash", tool_input={}, tool_response={}, **EXPLORE)
    reply = stops(agent, **EXPLORE)

    assert (reply, list_of(agent.workspace, "a1")) == ({}, [])
    assert subagents_on(agent.workspace.agents, agent.workspace.settings.session, now()) == []


def test_a_subagent_in_the_background_is_held_and_its_parent_waits_for_it(agent: HookedAgent) -> None:
    """Claude Code lists the subagent that stops and its siblings as running; a command of the subagent wakes it."""
    agent.workspace.plan(*OPEN)
    writes(agent, ("Look", "pending"), **EXPLORE)
    subagents = [
        {"id": name, "type": "subagent", "status": "running", "agent_type": "Explore"} for name in ("a1", "a2")
    ]
    command = {"id": "b1", "type": "shell", "status": "running"}

    held = stops(agent, background_tasks=subagents, **EXPLORE)

    assert "Look" in nudge_in(held)
    assert stops(agent, background_tasks=[*subagents, command], **EXPLORE) == {}
    assert agent.stops(background_tasks=subagents) == ""


def test_a_subagent_that_is_let_go_has_ended_and_may_be_resumed(agent: HookedAgent) -> None:
    workspace, session = agent.workspace, agent.workspace.settings.session
    writes(agent, ("Look", "completed"), **EXPLORE)
    stops(agent, **EXPLORE)
    [ended] = subagents_on(workspace.agents, session, now())
    assert ended.name == "Explore"
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

    assert [bool(nudge_in(answer)) for answer in answers] == [True] * 4 + [False] * 2
    assert "told to go on 5 times since you last spoke" in answers[4]["systemMessage"]
    assert workspace.session.state.nudges == 1
    assert not agent.stops("Again.")


def test_a_subagent_ends_with_its_parent_after_tildone_stop(agent: HookedAgent) -> None:
    writes(agent, ("Look", "pending"), **EXPLORE)
    agent.workspace.session.set_directive(Directive.STOP)

    answer = agent.report(HookPoint.BEFORE_TOOL, tool_name="Bash", tool_input={}, **EXPLORE)

    assert json.loads(answer.out)["continue"] is False


@pytest.mark.parametrize(
    "point", [HookPoint.PROMPT, HookPoint.SESSION_START, HookPoint.COMPACTION, HookPoint.SESSION_END]
)
def test_events_of_a_subagent_say_nothing_of_the_plan_and_change_nothing(
    workspace: Workspace, point: HookPoint
) -> None:
    """Codex reports the prompt that the parent gave to the subagent as a prompt."""
    agent = HookedAgent(workspace, CODEX)
    workspace.plan(*OPEN)
    agent.report(HookPoint.SESSION_START)
    workspace.plan(*OPEN, ("Three", "pending"))
    before = agent.record

    answer = agent.report(point, prompt="Look around", reason="other", **EXPLORE)

    assert (answer.out, agent.record) == ("", before)
    assert "Three" in agent.report(HookPoint.PROMPT, prompt="Go on").out


def test_a_subagent_of_opencode_is_not_held_because_it_cannot_be_continued(workspace: Workspace) -> None:
    agent = HookedAgent(workspace, OPENCODE)
    todos = [{"content": "Look", "status": "pending"}]
    child = {"agentID": "ses_1", "agentType": "explore"}
    agent.report(HookPoint.AFTER_TOOL, tool="todowrite", args={"todos": todos}, **child)

    answer = agent.report(HookPoint.STOP, text="I stop.", status="completed", **child)

    assert (answer.out, list_of(workspace, "ses_1")) == ("", [("Look", "pending")])
    [known] = subagents_on(workspace.agents, workspace.settings.session, now())
    assert known.ended is not None


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
    workspace.plan(*TWO_OPEN)
    agent = HookedAgent(workspace, PI)

    refused = called(agent, dun=1)
    done = called(agent, done=1)

    assert refused["failed"] is True
    assert done["text"] == "ok\nPlan:\nstarted 2 Wire it up\n(all from the user)\ndone 1"


def test_the_tools_of_the_configured_dialect_are_offered(workspace: Workspace) -> None:
    (workspace.project / "tildone.toml").write_text('dialect = "phased"\n', encoding="utf-8")
    agent = HookedAgent(workspace, PI)

    offered = json.loads(agent.report(HookPoint.OFFER_TOOLS).out)["tools"]
    result = called(agent, "todo_write", ops=[{"op": "init", "list": [{"phase": "A", "items": ["One"]}]}])

    assert [tool["name"] for tool in offered] == ["todo_write"]
    assert (result["failed"], workspace.tasks) == (False, [("One", "in_progress")])
    # A refusal that is a normal result is no failed call, as over MCP: pi would turn one into an exception.
    (workspace.project / "tildone.toml").write_text('dialect = "indexed"\n', encoding="utf-8")
    refused = called(agent, "edit_todos", action="start", indices=[7])
    assert (str(refused["text"])[:6], refused["failed"]) == ("Error:", False)


@pytest.mark.parametrize("tool", ["", "bash", 7])
def test_an_unknown_tool_is_reported_on_standard_error(workspace: Workspace, tool: object) -> None:
    """Standard output stays empty, which tells the shim that the call failed."""
    answer = HookedAgent(workspace, PI).report(HookPoint.CALL_TOOL, tool=tool, args={})

    assert (answer.code, answer.out) == (0, "")
    assert "there is no tool" in answer.err


def test_an_agent_with_several_conversations_notes_which_one_calls_our_tool_next(workspace: Workspace) -> None:
    ours, other = HookedAgent(workspace, OPENCODE, "A"), HookedAgent(workspace, OPENCODE, "B")

    ours.report(HookPoint.BEFORE_TOOL, tool="tildone_todo", args={})
    other.report(HookPoint.BEFORE_TOOL, tool="bash", args={})

    assert str(workspace.agents.caller_in(agent_process())) == "opencode:A"
    assert os.getpid() != agent_process()


def test_hooks_that_have_noted_the_conversation_write_it_no_more(workspace: Workspace) -> None:
    """At a prompt only if there is a store: no project is written to that is not used."""
    agent, process = HookedAgent(workspace, GEMINI), AgentId(pid=agent_process())
    agent.report(HookPoint.PROMPT, prompt="Do it")
    before = list(workspace.home.rglob("*"))
    agent.report(HookPoint.BEFORE_TOOL, tool_name="mcp_tildone_todo", tool_input={})
    [note] = workspace.home.rglob(f"*.{CALLER_NOTE}")
    written = note.stat().st_mtime_ns, note.stat().st_ino
    agent.report(HookPoint.BEFORE_TOOL, tool_name="mcp_tildone_todo", tool_input={})
    HookedAgent(workspace, CLAUDE).report(HookPoint.BEFORE_TOOL, tool_name="mcp__tildone__todo", tool_input={})

    assert before == []
    assert (note.stat().st_mtime_ns, note.stat().st_ino) == written
    assert str(workspace.agents.caller_in(process.pid)) == "gemini:s1"


def test_cumulative_messages_are_compared_turn_by_turn(workspace: Workspace) -> None:
    """Gemini CLI repeats all earlier messages since the prompt; the bound on repetitions still applies."""
    workspace.plan(*TWO_OPEN)
    agent, begins = HookedAgent(workspace, GEMINI), HookedAgent(new_workspace(workspace.home / "other"), GEMINI)
    begins.workspace.plan(*TWO_OPEN)

    continued = [bool(agent.stops("\n".join(["Same."] * count), stop_hook_active=count > 1)) for count in range(1, 6)]
    after_question = agent.stops("\n".join(["Same."] * 5 + ["Which one?"]), stop_hook_active=True)
    after_prompts = [bool(begins.stops("Same.", stop_hook_active=False)) for _ in range(5)]

    assert continued == after_prompts == [True, True, True, False, False]
    assert after_question == ""


IN_PROGRESS = (("Write the parser", "in_progress"), ("Ship it", "pending"))


def todo(*tasks: tuple[str, str]) -> dict[str, object]:
    """Claude Code's own list, as its tool is reported."""
    todos = [{"content": text, "status": status, "activeForm": text} for text, status in tasks]
    return {"tool_name": "TodoWrite", "tool_input": {"todos": todos}, "tool_response": {}}


def events(workspace: Workspace) -> list[tuple[type, AgentUsage | None]]:
    session = workspace.session
    return [(type(event.fact), event.usage) for event in session.store.events(session.name)]


def costs(agent: HookedAgent, dollars: float) -> None:
    agent.report(HookPoint.STATUS_LINE, cost={"total_cost_usd": dollars})


def test_the_cost_that_claude_reports_is_recorded(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)
    agent.report(HookPoint.AFTER_TOOL, **todo(*IN_PROGRESS))
    costs(agent, 0.5)
    agent.stops()
    costs(agent, 0.75)
    agent.report(HookPoint.AFTER_TOOL, **todo(("Write the parser", "completed"), ("Ship it", "in_progress")))

    assert events(workspace) == [
        (PlanChanged, None),
        (Nudged, AgentUsage(cost=0.5)),
        (PlanChanged, AgentUsage(cost=0.75)),
    ]


def test_the_tokens_that_a_plugin_reports_are_recorded(workspace: Workspace) -> None:
    """With any event, also one that needs no reply. Amounts of another type are not, nor those of a subagent."""
    agent = HookedAgent(workspace, PI)
    agent.report(HookPoint.BEFORE_TOOL, usage={"in": 70, "out": 5})
    assert list(workspace.home.rglob("*.usage")) == []

    workspace.plan(*IN_PROGRESS)
    for usage in ({"in": 70, "out": 5, "cost": 0.25}, {"in": "many"}, [1]):
        agent.report(HookPoint.BEFORE_TOOL, usage=usage)
    agent.report(HookPoint.BEFORE_TOOL, usage={"in": 700, "out": 1}, agentID="sub")
    agent.stops()

    assert events(workspace)[-1] == (Nudged, AgentUsage(70, 5, 0.25))


PLANNED = [("Write the parser", "in_progress"), ("Wire it up", "pending")]
AHEAD = [("Write the parser", "completed"), ("Wire it up", "in_progress")]


@pytest.fixture
def parent(workspace: Workspace) -> HookedAgent:
    """An agent of opencode at work on the project's plan, with a fork that was not reported yet."""
    workspace.plan(*TWO_OPEN)
    parent = HookedAgent(workspace, OPENCODE, "main")
    parent.is_told(HookPoint.SESSION_START)
    return parent


def tasks_in(agent: HookedAgent) -> list[tuple[str, str]]:
    record = agent.record
    assert record is not None
    return tasks_of(agent.workspace.session_of(record.session).plan)


def test_a_fork_begins_with_a_copy_of_its_parents_plan_and_then_goes_its_own_way(parent: HookedAgent) -> None:
    """Also a fork of a fork, and one whose parent has ended, or whose own record is gone; a label names the parent."""
    fork, again = replace(parent, id="fork"), replace(parent, id="again")

    told = fork.is_told(HookPoint.SESSION_START, forkedFrom="main")
    calls(parent.workspace, parent.key, done=1)
    parent.report(HookPoint.SESSION_END)
    parent.workspace.agents.remove(AgentId.parse(fork.key))
    fork.is_told(HookPoint.SESSION_START, forkedFrom="main")
    told_again = again.is_told(HookPoint.SESSION_START, forkedFrom="fork")

    session = parent.workspace.session_of(f"{parent.workspace.settings.session}#{fork.key}")
    assert told.startswith("Your plan:\nstarted 1 Write the parser\n2 Wire it up")
    assert told_again == told
    assert (parent.workspace.tasks, tasks_in(fork), tasks_in(again)) == (AHEAD, PLANNED, PLANNED)
    assert [event.author.agent for event in session.store.events(session.name)] == [fork.key] * 2
    assert next(event.fact for event in session.store.history(session.name)) == Labelled(
        next(session.store.events(session.name)).id, f"fork of {parent.key}"
    )


def test_a_fork_before_a_message_has_the_plan_of_that_time(parent: HookedAgent) -> None:
    calls(parent.workspace, parent.key, done=1)
    before = next(parent.workspace.session.store.history(parent.workspace.settings.session)).at
    earliest, early, late = (replace(parent, id=name) for name in ("earliest", "early", "late"))

    assert earliest.is_told(HookPoint.SESSION_START, forkedFrom="main", forkedBefore=1) == ""
    early.is_told(HookPoint.SESSION_START, forkedFrom="main", forkedBefore=before)
    late.is_told(HookPoint.SESSION_START, forkedFrom="main")

    assert (tasks_in(earliest), tasks_in(early), tasks_in(late)) == ([], PLANNED, AHEAD)


def test_a_fork_of_an_agent_without_a_plan_has_none(parent: HookedAgent) -> None:
    """And one in a project whose plan is shared works on that."""
    second, fork, shares = (replace(parent, id=name) for name in ("second", "fork", "shares"))
    second.is_told(HookPoint.SESSION_START)

    assert fork.is_told(HookPoint.SESSION_START, forkedFrom="second") == ""
    assert tasks_in(fork) == []
    set_shared(parent.workspace.agents, shared=True)
    shares.is_told(HookPoint.SESSION_START, forkedFrom="main")
    assert shares.record is not None
    assert shares.record.session == parent.workspace.settings.session


def at_work_beside_another(workspace: Workspace, agent: str) -> HookedAgent:
    """An agent with a plan of its own, because another one works on the project's."""
    parent = HookedAgent(workspace, WITH_HOOKS[agent], "main")
    workspace.plan(("Theirs", "pending"))
    replace(parent, id="first").is_told(HookPoint.SESSION_START)
    parent.is_told(HookPoint.SESSION_START)
    assert parent.record is not None
    workspace.session_of(parent.record.session).change((Write(plan_of(TWO_OPEN).phases),))
    return parent


@pytest.mark.parametrize(
    ("agent", "entry"),
    [
        ("claude", {"type": "user", "forkedFrom": {"sessionId": "main", "messageUuid": "m"}}),
        ("codex", {"type": "session_meta", "payload": {"id": "fork", "forked_from_id": "main"}}),
    ],
)
def test_a_transcript_names_the_parent_of_a_fork(workspace: Workspace, agent: str, entry: dict[str, Any]) -> None:
    """A fork whose transcript names nobody, or is missing, has a copy of the project's plan."""
    parent = at_work_beside_another(workspace, agent)
    named, unnamed = workspace.home / "named.jsonl", workspace.home / "unnamed.jsonl"
    named.write_text(f"no JSON\n{{}}\n{json.dumps(entry)}\n", encoding="utf-8")
    unnamed.write_text("{}\n", encoding="utf-8")
    forks = {name: replace(parent, id=name) for name in ("named", "unnamed", "missing")}

    for name, fork in forks.items():
        path = str(workspace.home / f"{name}.jsonl")
        fork.is_told(HookPoint.SESSION_START, source="fork", transcript_path=path)

    assert tasks_in(forks["named"]) == PLANNED
    assert [tasks_in(forks[name]) for name in ("unnamed", "missing")] == [[("Theirs", "pending")]] * 2


AGENT = """
import subprocess, sys
hook = subprocess.run([sys.argv[1], "hook", "claude"], input=sys.stdin.buffer.read(), stdout=subprocess.PIPE)
sys.stdout.buffer.write(hook.stdout)
"""
"""A coding agent that calls a hook, with pipes of its own."""


@pytest.mark.skipif(sys.platform != "linux", reason="the command line of a process is read from /proc")
@pytest.mark.parametrize(
    ("options", "is_fork"),
    [
        (["--resume", "main", "--fork-session"], True),
        (["--fork-session", "-r", "main"], True),
        (["--resume", "main"], False),
    ],
)
def test_a_command_line_names_the_parent_of_a_fork(workspace: Workspace, options: list[str], *, is_fork: bool) -> None:
    """Older versions of Claude Code do not call it a fork: the first event of the new conversation is a prompt."""
    fork = replace(at_work_beside_another(workspace, "claude"), id="fork")
    answer = in_subprocess(
        options,
        to_json(fork.payload("UserPromptSubmit", {"prompt": "Go on"})),
        workspace.environ,
        (sys.executable, "-c", AGENT, PROGRAM),
    )

    assert (answer.code, answer.err) == (0, "")
    assert ("started 1 Write the parser" in answer.out) is is_fork
    assert tasks_in(fork) == (PLANNED if is_fork else [])


def test_a_fork_is_held_to_what_its_parent_was_held_to(parent: HookedAgent) -> None:
    """Tasks that the parent's model added are the fork's."""
    calls(parent.workspace, parent.key, add=["Measure it"])
    fork = replace(parent, id="fork")

    fork.is_told(HookPoint.SESSION_START, forkedFrom="main")

    assert "3 Measure it" in fork.stops(status="completed")
