"""A task at a glance: its words, who has it, its check with the output, its history, its cost, its agent's lines."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.test_agents import TRANSCRIPTS
from tests.hooks.agent import HookedAgent, Workspace, new_workspace
from tests.plans import COMPLETED, IN_PROGRESS
from tildone.agents.integrations import HookPoint
from tildone.app.check_states import CheckFacts
from tildone.app.checks import SessionChecks
from tildone.app.glance import (
    MAX_AGENT_LINES,
    MAX_HISTORY,
    HistoryLine,
    TaskGlance,
    agent_lines,
    glance_data,
    task_glance,
)
from tildone.app.opening import check_approvals, open_session, open_store
from tildone.app.settings import Settings, load
from tildone.base import replace
from tildone.log.store import Store
from tildone.plan.claims import Claimant, ClaimFence
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, AgentUsage, Author, Event, Labelled, Nudged, PlanChanged
from tildone.plan.history import stats
from tildone.plan.model import Check, Phase, Plan, Proof, Result, Status, Task, flat, numbered
from tildone.plan.ops import Append, Mark, Note, Numbered, SetCheck
from tildone.stores.agents import TRANSCRIPT_NOTE, AgentId, AgentRegistry
from tildone.stores.memory import MemoryStore

MINUTE = 60_000
NOW = 100 * MINUTE
FAILS = ("sh", "-c", "echo '\x1b[31mred'; echo 'sk-0123456789abcdef0123'; test -e gone")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "project").mkdir()
    found = load({"store": str(tmp_path / "plans.db")}, os.environ, str(tmp_path / "project"))
    return replace(found, agents_dir=str(tmp_path / "agents"), session="s", user="Ada")


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    store = open_store(settings)
    yield store
    store.close()


def glance(settings: Settings, store: Store, number: int = 1, facts: CheckFacts | None = None) -> TaskGlance:
    found = task_glance(settings, store, "s", number, now=NOW, facts=facts or CheckFacts())
    assert found
    return found


def told(store: Store, *plans: Plan, agent: str = "claude:5f0c", cost: float | None = None) -> None:
    """Append events with these plans, a minute apart."""
    for plan in plans:
        head = store.session_head("s").head
        minute = int(head[1:]) + 1 if head else 0
        usage = None if cost is None else AgentUsage(1000 * (minute + 1), cost=cost * minute)
        fact = PlanChanged(numbered(plan))
        store.append("s", Event(f"e{minute}", head, minute * MINUTE, Actor.AGENT, fact, Author("Ada", agent), usage))


def test_what_is_known_of_a_task(settings: Settings) -> None:
    store = MemoryStore()
    other = Task("Other", number=2)
    told(store, flat(Task("Read", number=1), other))
    told(store, flat(Task("Read", IN_PROGRESS, number=1), other), cost=0.5)
    told(store, flat(Task("Read", IN_PROGRESS, ("half of it",), 1), replace(other, text="Another")), cost=0.5)
    done = Task("Read", COMPLETED, ("half of it",), 1, owner="claude:5f0c")
    told(store, Plan((Phase("", (other,)), Phase("P", (done,)))), cost=0.5)

    found = glance(settings, store)

    assert (found.number, found.text, found.phase, found.notes) == (1, "Read", "P", ("half of it",))
    assert (found.status, found.word) == ("completed", "done")
    assert (found.holder, found.agent, found.is_held) == ("claude 5f0c", "claude:5f0c", False)
    assert [(line.at // MINUTE, line.who, line.what) for line in found.history] == [
        (0, "claude 5f0c", "added"),
        (1, "claude 5f0c", "started"),
        (2, "claude 5f0c", "noted: half of it"),
        (3, "claude 5f0c", "moved to P; completed (2m)"),
    ]
    assert (found.earlier, found.begins) == (0, None)
    assert found.cost is not None
    assert (found.cost.tokens, found.cost.amount, found.cost.worked) == (2000, 1.0, 2 * MINUTE)
    assert found.cost.words == "2 min · 2.0k · $1.00"
    assert (found.check, found.last_lines) == (None, ())
    json.dumps(glance_data(found))


def test_there_is_no_glance_of_a_task_that_is_not_there(settings: Settings, store: Store) -> None:
    assert task_glance(settings, store, "s", 1, now=NOW) is None
    told(store, flat(Task("Read", number=1)))
    assert task_glance(settings, store, "s", 2, now=NOW) is None
    found = glance(settings, store)
    assert (found.cost, found.holder, found.agent, found.word) == (None, None, None, "open")


def test_an_agent_that_holds_the_task_is_named_before_the_one_that_changed_it(settings: Settings, store: Store) -> None:
    told(store, flat(Task("Read", number=1, owner="codex:1")))
    head = store.session_head("s").head
    event = Event("e9", head, 9, Actor.AGENT, PlanChanged(numbered(flat(Task("Read", IN_PROGRESS, number=1)))))
    one = frozenset({1})
    store.records.append_fenced("s", event, "", ClaimFence(Claimant("claude:5f0c"), MINUTE, one, one, one, frozenset()))

    found = glance(settings, store)

    assert (found.holder, found.is_held) == ("claude 5f0c", True)


def test_a_long_history_ends_with_what_is_new(settings: Settings) -> None:
    store = MemoryStore()
    told(store, *(flat(Task("Read", IN_PROGRESS if n % 2 else Status.PENDING, number=1)) for n in range(60)))

    found = glance(settings, store)

    assert (len(found.history), found.earlier, found.history[-1].what) == (MAX_HISTORY, 10, "started")


def test_what_came_before_the_events_that_are_read_is_not_called_new(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "MAX_TASKS_READ", 5)
    store = MemoryStore()
    told(store, *(flat(Task("Read", IN_PROGRESS if n % 2 else Status.PENDING, number=1)) for n in range(9)))

    found = glance(settings, store)

    assert found.begins == 6 * MINUTE
    assert found.history == (
        HistoryLine(7 * MINUTE, "claude 5f0c", "started"),
        HistoryLine(8 * MINUTE, "claude 5f0c", "put back (1m)"),
    )


def test_a_history_that_is_read_from_the_middle_may_have_no_plan_before_the_last(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "MAX_TASKS_READ", 1)
    store = MemoryStore()
    told(store, flat(Task("Read")), flat(Task("Read", IN_PROGRESS)))
    store.append("s", Event("e2", "e1", NOW, Actor.TIMER, Labelled("e1", "half")))

    found = glance(settings, store)

    assert (found.history, found.begins) == ((), MINUTE)


def test_tasks_of_plans_without_numbers_have_a_history(settings: Settings) -> None:
    store = MemoryStore()
    store.append("s", Event("e0", None, 0, Actor.USER, PlanChanged(flat(Task("One"), Task("Two")))))
    store.append("s", Event("e1", "e0", 1, Actor.TIMER, Nudged(1, 1)))
    told(store, flat(Task("One"), Task("Two", IN_PROGRESS)))

    found = glance(settings, store, 2)

    assert [line.what for line in found.history] == ["added", "started"]
    assert found.cost is not None
    assert found.cost.nudges == 0


def test_a_check_is_told_with_its_state_and_the_end_of_its_output(settings: Settings, store: Store) -> None:
    checks = SessionChecks(settings, unattended=True)
    session = open_session(settings, BY_HAND, store)
    session.change([Append((Task("One"), Task("Two")), "")])
    check = Check(FAILS)
    session.change([SetCheck(Numbered((1,)), check)])

    found = glance(settings, store, facts=checks.facts("s", session.plan)).check
    assert found is not None
    assert (found.state, found.words, found.exit_code, found.output) == ("proposed", "proposed", None, ())

    check_approvals(settings).approve(check)
    found = glance(settings, store, facts=checks.facts("s", session.plan)).check
    assert found is not None
    assert (found.state, found.words, found.finished) == ("not run", "not run", None)

    checks.verify(session, [1])
    found = glance(settings, store, facts=checks.facts("s", session.plan)).check
    assert found is not None
    assert (found.state, found.words, found.exit_code) == ("failed", "failed (exit 1)", 1)
    assert found.output == ("␛[31mred", "[redacted]")
    assert found.finished is not None
    assert "␛" in found.command


@pytest.mark.parametrize("output", ["", "elsewhere"])
def test_a_log_cannot_name_a_file_to_be_shown(settings: Settings, store: Store, tmp_path: Path, output: str) -> None:
    (tmp_path / "elsewhere").write_text("a secret")
    path = str(tmp_path / output) if output else ""
    check = Check(("make",))
    proof = Proof(Result.FAILED, ("make",), exit_code=2, output=path)
    told(store, flat(Task("Read", number=1, check=check, proof=proof)))

    found = glance(settings, store).check

    assert found is not None
    assert (found.words, found.output) == ("failed (exit 2)", ())


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return new_workspace(tmp_path)


def worked(workspace: Workspace, transcript: Path) -> TaskGlance:
    """Let an agent whose transcript this is complete a task, and look at that."""
    agent = HookedAgent(workspace)
    agent.report(HookPoint.SESSION_START, transcript_path=str(transcript))
    agent.report(HookPoint.PROMPT, transcript_path=str(transcript), prompt="Go")
    agent.writes(("Read", "in_progress"), ("Write", "pending"))
    agent.report(HookPoint.STOP, transcript_path=str(transcript), last_assistant_message="I stop.")
    settings = workspace.settings
    found = task_glance(settings, open_store(settings), settings.session, 1, now=NOW)
    assert found is not None
    return found


def test_the_last_lines_of_an_agent_are_those_of_its_transcript(workspace: Workspace) -> None:
    transcript = TRANSCRIPTS / "claude.jsonl"

    assert worked(workspace, transcript).last_lines == ("I look.", "Bash: ls")

    agent = HookedAgent(workspace)
    agent.report(HookPoint.SESSION_END)
    found = task_glance(workspace.settings, workspace.session.store, workspace.settings.session, 1, now=NOW)
    assert found is not None
    assert found.last_lines == ("I look.", "Bash: ls")


@pytest.mark.parametrize("agent", ["codex", "gemini"])
def test_transcripts_of_several_agents_are_read(agent: str, settings: Settings) -> None:
    registry = AgentRegistry(settings.agents_dir, "/elsewhere")
    registry.set_note(AgentId(agent, "1"), TRANSCRIPT_NOTE, str(TRANSCRIPTS / f"{agent}.jsonl"))
    AgentRegistry(settings.agents_dir, "/another").set_note(AgentId(agent, "2"), TRANSCRIPT_NOTE, "x")

    assert agent_lines(settings, f"{agent}:1") == ("I look.", "Bash: ls")


def test_last_lines_are_harmless_few_and_without_secrets(settings: Settings, tmp_path: Path) -> None:
    def entry(text: str, *more: object) -> str:
        return json.dumps({"message": {"role": "assistant", "content": [{"type": "text", "text": text}, *more]}})

    calls: list[object] = [
        "no block",
        {"type": "function_call", "name": "Bash", "arguments": "{not JSON"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "curl -H sk-0123456789abcdef0123"}},
    ]
    lines = [entry(f"line {n}") for n in range(20)] + [entry("a\x1b[2J\n\nb " + "x" * 1000, *calls), "no JSON"]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    registry = AgentRegistry(settings.agents_dir, "/p")
    registry.set_note(AgentId("claude", "1"), TRANSCRIPT_NOTE, str(tmp_path / "t.jsonl"))

    found = agent_lines(settings, "claude:1")

    assert len(found) == MAX_AGENT_LINES
    assert found[-4:] == ("a␛[2J", f"b {'x' * 397}…", "Bash", "Bash: curl -H [redacted]")


@pytest.mark.parametrize("name", ["passwd", "gone.jsonl"])
def test_nothing_but_a_transcript_is_read(settings: Settings, tmp_path: Path, name: str) -> None:
    (tmp_path / "passwd").write_text(json.dumps({"role": "assistant", "content": "a secret"}))
    AgentRegistry(settings.agents_dir, "/p").set_note(AgentId("claude", "1"), TRANSCRIPT_NOTE, str(tmp_path / name))

    assert agent_lines(settings, "claude:1") == ()


@pytest.mark.parametrize("agent", ["", "claude:unknown", "pid:x:"])
def test_an_agent_without_a_transcript_has_no_lines(settings: Settings, agent: str) -> None:
    assert agent_lines(settings, agent) == ()


def test_a_transcript_that_cannot_be_noted_disturbs_no_agent(workspace: Workspace) -> None:
    agent = HookedAgent(workspace)
    agent.writes(("Read", "in_progress"))

    answer = agent.report(HookPoint.SESSION_START, transcript_path="\ud800")

    assert (answer.code, answer.err) == (0, "")


def test_changes_of_others_are_no_lines_of_a_task(settings: Settings, store: Store) -> None:
    session = open_session(settings, BY_HAND, store)
    session.change([Append((Task("One"), Task("Two")), "")])
    session.change([Mark(Numbered((2,)), COMPLETED)])
    session.change([Note(Numbered((1,)), "mind the tabs")])

    assert [line.what for line in glance(settings, store).history] == ["added", "noted: mind the tabs"]
