"""Agents that share a plan: claims, subagents of a host, and processes of a fleet's run."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.host.subagent_bench import Scripts, task
from tests.host.test_host import tool
from tests.plans import plan_of
from tildone.app.claims import AgentClaims, claims_of
from tildone.app.opening import check_approvals, open_agents, open_session, open_store, run_leases, session_in, store_at
from tildone.app.plan_agents import plan_agents
from tildone.app.settings import Settings
from tildone.base import RunFenced, UsageError, replace
from tildone.base.ids import now
from tildone.log.session import Session
from tildone.plan.claims import Claimant
from tildone.plan.dialects import BY_HAND, Reply, dialect_named
from tildone.plan.events import Actor, Author, PlanChanged
from tildone.plan.model import Check, Status, Task
from tildone.plan.ops import Append, Mark, Numbered, Op, Order, Remove, Rename, SetCheck, Touch
from tildone.plan.runs import LEASE_VARIABLE, Claimer, Lease, NewRun
from tildone.plan.text.faults import describe_fault
from tildone.run.host import Host
from tildone.run.hosting import open_conversations, open_host
from tildone.run.kit.definition import ToolResult, text_result
from tildone.run.messages import text_of
from tildone.run.tools.permissions import PermissionPolicy
from tildone.stores import parse_address
from tildone.stores.agents import CLAIM_NOTE, Agent, AgentId, machine_name, start_time
from tildone.stores.memory import MemoryStore

ADA, BOB = "claude:ada", "codex:bob"
DEAD = 2**22 + 1
"""No process has this id: it is beyond the limit of the kernel."""

SessionOf = Callable[..., Session]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(parse_address(str(tmp_path / "plans.db")), "s", str(tmp_path), agents_dir=str(tmp_path / "agents"))


@pytest.fixture
def session_of(settings: Settings) -> SessionOf:
    def opened(agent: str, dialect: str = "brief") -> Session:
        return open_session(settings, dialect_named(dialect), open_store(settings), lambda: Author(agent=agent))

    return opened


@pytest.fixture
def ada(session_of: SessionOf) -> Session:
    """A session with four tasks, of which the agent has started the first."""
    session = session_of(ADA)
    session.call("todo", {"add": ["one", "two", "three", "four"]})
    session.call("todo", {"start": 1})
    return session


def holders(session: Session) -> dict[int, str]:
    return {claim.task: claim.agent for claim in session.store.records.claims("s") if claim.is_held}


def statuses(session: Session) -> list[str]:
    return [task.status.value for task in session.plan.tasks]


def test_starting_a_task_claims_it_and_finishing_it_gives_it_back(ada: Session) -> None:
    assert holders(ada) == {1: ADA}

    ada.call("todo", {"done": 1})

    assert holders(ada) == {2: ADA}
    assert ada.news_of_claims == ""


def refused(reply: Reply) -> list[str]:
    """The lines of a refusal."""
    assert reply.failed
    return reply.text.splitlines()


IS_ADAS = "#1 “one” is with claude ada (for 10 min unless it goes on): leave it to that agent"


@pytest.mark.parametrize("change", [{"start": 1}, {"done": 1}, {"drop": 1}, {"block": "1 no time"}], ids=str)
def test_what_concerns_the_task_of_another_is_refused(
    ada: Session, session_of: SessionOf, change: dict[str, Any]
) -> None:
    """Nothing is recorded, and the agent is told who has the task and which one it can start."""
    bob, before = session_of(BOB), ada.state

    assert refused(bob.call("todo", change)) == [IS_ADAS, "Free: #2 “two”"]
    assert ada.state == before
    assert holders(ada) == {1: ADA}


@pytest.mark.parametrize("change", [Rename(Numbered((1,)), "uno"), Remove(Numbered((1,)))], ids=repr)
@pytest.mark.parametrize("actor", [Actor.AGENT, Actor.USER])
def test_only_its_agent_or_a_person_renames_or_removes_a_task(
    ada: Session, session_of: SessionOf, change: Op, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of agents, also in their shells."""
    monkeypatch.setenv("CODEX_SESSION_ID", "bob")

    [fault] = session_of(BOB).change([Append((Task("five"),)), change], actor).faults

    monkeypatch.delenv("CODEX_SESSION_ID")

    assert describe_fault(fault) == IS_ADAS
    assert (statuses(ada), ada.plan.tasks[0].text) == (["in_progress", *["pending"] * 3], "one")
    session_of("").change([change])
    assert ada.plan.tasks[0].text != "one"


def test_a_call_of_which_a_part_is_refused_is_refused_as_a_whole(ada: Session, session_of: SessionOf) -> None:
    bob, before = session_of(BOB), ada.state
    calls: list[dict[str, Any]] = [{"add": ["five"], "done": 1}, {"done": [2, 1]}, {"note": "2 seen", "drop": 1}]

    replies = [refused(bob.call("todo", call)) for call in calls]

    assert replies == [[f"{IS_ADAS}; nothing was changed", "Free: #2 “two”"]] * 3
    assert ada.state == before
    # As with any other fault.
    assert refused(bob.call("todo", {"done": [2, 7]})) == ["no 7; there are 1-4; nothing was changed"]
    assert refused(bob.call("todo", {"done": 7})) == ["no 7; there are 1-4"]


def test_in_a_dialect_that_does_what_it_can_only_the_task_of_another_is_left(
    ada: Session, session_of: SessionOf
) -> None:
    reply = session_of(BOB, "phased").call(
        "todo_write", {"ops": [{"op": "done", "task": each} for each in ("one", "two")]}
    )

    assert reply.failed
    assert reply.text.startswith(
        "Errors: “one” is with claude ada (for 10 min unless it goes on): leave it to that agent\n"
    )
    assert statuses(ada)[:2] == ["in_progress", "completed"]


def test_in_a_dialect_of_whole_lists_the_task_of_another_stays_and_the_model_is_told(
    ada: Session, session_of: SessionOf
) -> None:
    todos = [{"id": f"t{i}", "content": text, "status": "completed"} for i, text in enumerate(("one", "two"), 1)]
    todos += [{"id": f"t{i}", "content": text, "status": "pending"} for i, text in enumerate(("three", "four"), 3)]
    reply = session_of(BOB, "declared").call("TodoWrite", {"summary": "s", "todos": todos})

    assert not reply.failed
    assert reply.text.splitlines()[-2:] == [f"{IS_ADAS[3:]}.", "Free: “three”"]
    assert statuses(ada)[:2] == ["in_progress", "completed"]


def test_the_check_of_the_task_of_another_is_not_run(
    ada: Session, session_of: SessionOf, settings: Settings, tmp_path: Path
) -> None:
    ada.change([SetCheck(Numbered((1,)), Check(("touch", "ran")))])
    check_approvals(settings).approve(Check(("touch", "ran")))
    bob = session_of(BOB)

    assert refused(bob.call("todo", {"done": 1}))[0] == IS_ADAS
    assert not (tmp_path / "ran").exists()
    ada.call("todo", {"done": 1})
    assert (tmp_path / "ran").exists()


class LateClaims:
    """Claims that let another agent act after the change was computed, before it is appended."""

    def __init__(self, claims: Callable[[], Any] | None, act: Callable[[], object]) -> None:
        assert claims
        self._own, self._acts = claims(), [act]

    @property
    def lease(self) -> int:
        for act in self._acts:
            self._acts = []
            act()
        return int(self._own.lease)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def test_a_claim_that_comes_between_is_respected(ada: Session, session_of: SessionOf) -> None:
    """Of an agent that was faster, so that only the store notices."""
    bob = session_of(BOB)
    late = LateClaims(bob.parts.claims, lambda: ada.call("todo", {"start": 2}))

    reply = bob.using(parts=replace(bob.parts, claims=lambda: late)).call("todo", {"done": 2, "add": ["five"]})

    assert refused(reply)[0].startswith("#2 “two” is with claude ada")
    assert (holders(ada), len(ada.plan.tasks)) == ({1: ADA, 2: ADA}, 4)


@pytest.mark.parametrize("dialect", ["indexed", "declared", "phased"])
def test_a_rule_for_one_task_in_progress_leaves_those_of_others(
    ada: Session, session_of: SessionOf, dialect: str
) -> None:
    bob = session_of(BOB, dialect)

    bob.change([Mark(Numbered((2,)), Status.IN_PROGRESS)], Actor.AGENT)
    bob.change([Append((Task("five"),))], Actor.AGENT)

    assert statuses(ada)[:2] == ["in_progress", "in_progress"]
    assert holders(ada) == {1: ADA, 2: BOB}


@pytest.mark.parametrize("call", [{"done": 1}, {"block": "1 no time"}, {"drop": 2}], ids=str)
def test_an_agent_that_was_silent_is_told_once_that_its_task_has_passed_on(
    ada: Session, session_of: SessionOf, call: dict[str, Any]
) -> None:
    """With the next change, which is refused only if it concerns that task."""
    bob = session_of(BOB)
    ada.store.records.lapse("s", ADA)
    taken_over = bob.call("todo", {"start": 1})

    told = ada.call("todo", call)
    again = ada.call("todo", {"note": "3 is next"})

    assert "#1 “one” was begun by claude ada in " in taken_over.text
    passed = "#1 “one” has passed to codex bob, because yours was silent for too long"
    assert told.text.splitlines() == ([passed, "Free: #2 “two”"] if told.failed else ["ok", f"{passed}."])
    assert statuses(ada)[0] == "in_progress"
    assert holders(ada)[1] == BOB
    assert "has passed" not in again.text


def test_the_successor_is_told_of_the_notes_and_the_branch(
    ada: Session, session_of: SessionOf, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/parser\n")
    ada.store.records.claim("s", 1, AgentClaims(settings).claimant(ADA), 0)
    ada.call("todo", {"note": "1 the lexer is left"})
    ada.store.records.lapse("s", ADA)

    reply = session_of(BOB).call("todo", {"start": 1})

    assert "on branch parser" in reply.text
    assert "note: the lexer is left" in reply.text


def test_a_task_that_others_closed_is_not_started_again_by_mistake(ada: Session, session_of: SessionOf) -> None:
    bob = session_of(BOB)
    bob.call("todo", {"start": 3})
    ada.call("todo", {"done": 1})
    ada.call("todo", {"done": 2})

    reply = bob.call("todo", {"start": 2})

    assert refused(reply)[0] == "#2 “two” was closed by others meanwhile and stays so"
    assert statuses(ada)[1] == "completed"
    # Who knows that it is closed may reopen it.
    bob.call("todo", {"start": 2})
    assert statuses(ada)[1] == "in_progress"


def test_tasks_that_may_change_the_same_files_are_not_started_together(ada: Session, session_of: SessionOf) -> None:
    for number in (1, 2):
        ada.change([Touch(Numbered((number,)), ("src/*",))])
    bob = session_of(BOB)

    reply = bob.call("todo", {"start": 2})

    why = "#2 “two” may change the same files as #1 “one”, on which another agent works"
    assert refused(reply) == [why, "Free: #3 “three”"]
    assert holders(ada) == {1: ADA}


def test_an_agent_is_held_to_its_own_tasks_and_those_that_nobody_has(ada: Session, session_of: SessionOf) -> None:
    """What waits for the tasks of others, or shares files with them, waits."""
    ada.change([Touch(Numbered((1,)), ("a/*",)), Touch(Numbered((2,)), ("a/b",)), Order(Numbered((3,)), (1,))])

    held = session_of(BOB).held_state.plan

    assert [task.status.value for task in held.tasks] == ["completed", "blocked", "blocked", "pending"]
    assert [task.status.value for task in ada.held_state.plan.tasks] == statuses(ada)
    # So does what comes after that, also if no task shares files with another.
    ada.change([Touch(Numbered((2,)), ()), Order(Numbered((2,)), (1,)), Order(Numbered((3,)), (2,))])
    held = session_of(BOB).held_state.plan
    assert [task.status.value for task in held.tasks] == ["completed", "blocked", "blocked", "pending"]


def test_without_a_lease_nothing_is_claimed(settings: Settings) -> None:
    store = open_store(settings)
    without = Settings(settings.store, "s", settings.project, agents_dir=settings.agents_dir, claim_seconds=0)
    session = open_session(without, dialect_named("brief"), store, lambda: Author(agent=ADA))

    session.call("todo", {"add": ["one"]})
    session.call("todo", {"start": 1})

    assert list(store.records.claims("s")) == []


def register(settings: Settings, agent: str, pid: int, started: int = 0) -> Agent:
    record = Agent(AgentId.parse(agent), "s", pid=pid, started=started, last_active=now())
    open_agents(settings).save(record)
    return record


def test_the_task_of_an_agent_whose_process_has_ended_is_taken_over(settings: Settings, session_of: SessionOf) -> None:
    register(settings, ADA, DEAD)
    ada, bob = session_of(ADA), session_of(BOB)
    ada.call("todo", {"add": ["one", "two"]})
    ada.call("todo", {"start": 1})
    assert bob.parts.taken() == frozenset()

    bob.call("todo", {"done": 1})

    assert statuses(bob)[0] == "completed"


def test_an_agent_is_the_same_before_and_after_it_reveals_its_conversation(
    settings: Settings, session_of: SessionOf
) -> None:
    register(settings, ADA, os.getpid(), start_time(os.getpid()))
    unnamed, named = session_of(f"claude:pid:{os.getpid()}"), session_of(ADA)
    unnamed.call("todo", {"add": ["one"]})
    unnamed.call("todo", {"start": 1})

    named.call("todo", {"done": 1})

    assert statuses(named) == ["completed"]


def test_who_has_ended(settings: Settings, session_of: SessionOf) -> None:
    records, machine = session_of(ADA).store.records, machine_name()
    holders = [
        *(Claimant(BOB, machine=machine, pid=DEAD), Claimant(BOB, machine="elsewhere", pid=DEAD)),
        *(Claimant(BOB, machine=machine), Claimant("not: an\x00 id", machine=machine)),
        Claimant(BOB, machine=machine, pid=os.getpid(), started=start_time(os.getpid())),
    ]
    claims = [records.claim("s", number, holder, 60_000) for number, holder in enumerate(holders)]

    assert [AgentClaims(settings).is_gone(claim, ADA) for claim in claims] == [True, *[False] * 4]


def test_claims_are_renewed_in_the_middle_of_their_lease_and_given_back_at_the_end(
    ada: Session, settings: Settings
) -> None:
    agents = open_agents(settings)
    due = agents.note(AgentId.parse(ADA), CLAIM_NOTE)
    assert now() < int(due) <= now() + 300_000
    [before] = ada.store.records.claims("s")
    ada.renew_claims(ADA)
    assert [claim.until for claim in ada.store.records.claims("s")] == [before.until]

    agents.set_note(AgentId.parse(ADA), CLAIM_NOTE, "1")
    ada.renew_claims(ADA)
    assert [claim.until > before.until for claim in ada.store.records.claims("s")] == [True]

    ada.release_claims(ADA)
    assert list(ada.store.records.claims("s")) == []
    assert agents.note(AgentId.parse(ADA), CLAIM_NOTE) == ""


def test_the_tasks_of_each_agent(ada: Session, session_of: SessionOf, settings: Settings) -> None:
    session_of(BOB).call("todo", {"start": 2})
    agents = [register(settings, name, 0) for name in (ADA, BOB)]

    assert claims_of(agents, ada.store, "s") == {ADA: [1], BOB: [2]}
    assert claims_of([], ada.store, "s") == {}


@pytest.fixture
def lease(tmp_path: Path) -> Lease:
    """A run of the plan `s` that a worker holds."""
    with closing(store_at(str(tmp_path / "plans.db"))) as store:
        leases = run_leases(store)
        leases.add(NewRun("r1", "s"), [PlanChanged(plan_of("one"))])
        [held] = leases.claim(Claimer("here/1/a"), ["here/1/a/1"])
    return held


def release(folder: Path, lease: Lease) -> None:
    with closing(store_at(str(folder / "plans.db"))) as store:
        run_leases(store).release(lease.fence, "")


def tildone(folder: Path, lease: str, *words: str) -> "subprocess.CompletedProcess[str]":
    known = {"TILDONE_STORE": str(folder / "plans.db"), "TILDONE_SESSION": "s", "HOME": str(folder)}
    environ, command = os.environ | known | {LEASE_VARIABLE: lease}, [sys.executable, "-m", "tildone", *words]
    return subprocess.run(command, env=environ, cwd=folder, check=False, capture_output=True, text=True)


def test_a_command_writes_while_the_run_is_held_and_not_after(tmp_path: Path, lease: Lease) -> None:
    first = tildone(tmp_path, str(lease.fence), "todo", "add", "two")
    release(tmp_path, lease)
    second = tildone(tmp_path, str(lease.fence), "todo", "add", "three")
    reading = tildone(tmp_path, str(lease.fence), "todo")
    # Without a lease that can be read, a process would write without a fence.
    unreadable = tildone(tmp_path, "r1", "todo", "add", "two")

    assert [each.returncode for each in (first, second, reading, unreadable)] == [0, 6, 0, 2]
    assert first.stderr == ""
    assert second.stderr == "tildone: run r1 has passed to another worker or has ended; this process must stop\n"
    assert ("two" in reading.stdout, "three" in reading.stdout) == (True, False)
    assert "$TILDONE_LEASE is 'r1', which is not of the form run/hand/epoch" in unreadable.stderr


def test_every_session_of_the_process_is_fenced(tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEASE_VARIABLE, str(lease.fence))
    store = store_at(str(tmp_path / "plans.db"))
    session_in(store, "another", BY_HAND).change([Append((Task("One"),))])
    monkeypatch.delenv(LEASE_VARIABLE)
    release(tmp_path, lease)

    with pytest.raises(RunFenced):
        session_in(store, "another", BY_HAND).change([Append((Task("Two"),))])

    store.close()


def test_a_store_without_leases_is_refused() -> None:
    with pytest.raises(UsageError, match="a fleet needs a store in a SQLite file or in a PostgreSQL database"):
        run_leases(MemoryStore())


WRITE = [("write_todos", {"mode": "replace", "todos": [{"text": "Look"}]})]


def settings_in(folder: Path) -> Settings:
    return Settings(
        parse_address(str(folder / "plans.db")), "s", str(folder), session_dir=str(folder / "c"), agents_dir=str(folder)
    )


async def run(folder: Path, model: Any, *tools: Any, opened: Any = None) -> Host:
    """Run a host with a prompt until it has settled, and return it; it stays open."""
    settings = settings_in(folder)
    known = open_conversations(settings, str(folder))
    more: dict[str, Any] = {"policy": PermissionPolicy(), "conversations": known, "opened": opened}
    host = open_host(settings, open_store(settings), known.new(), cwd=str(folder), model=model, mode="print", **more)
    for each in tools:
        host.add_tool(each)
    await host.start()
    await host.prompt("go")
    await host.over()
    return host


async def test_a_host_begins_nothing_behind_a_blocked_task(tmp_path: Path) -> None:
    """A model is told why, and nothing has changed."""
    session = open_session(settings_in(tmp_path), BY_HAND, open_store(settings_in(tmp_path)))
    session.change([Append((Task("ask", Status.BLOCKED), Task("deploy")))])

    host = await run(tmp_path, Scripts(go=[[("edit_todos", {"action": "start", "indices": [1]})]]))

    [result] = host.transcript.tool_results()
    assert "which is blocked: it waits, too" in text_of(result)
    assert [task.status for task in session.plan.tasks] == [Status.BLOCKED, Status.PENDING]
    await host.close()


async def test_several_subagents_have_lists_of_their_own(tmp_path: Path) -> None:
    """They are shown while they work, below the plan, and as ended afterwards."""
    seen: list[Any] = []
    settings = settings_in(tmp_path)

    async def look(_params: Any, _signal: Any, _update: Any) -> ToolResult:
        seen.append(plan_agents(settings, open_store(settings)).subagents)
        return text_result("ok")

    end = [("yield", {"result": "done"})]
    model = Scripts(go=[[task("a"), task("b")]], a=[WRITE, [("look", {})], end], b=[WRITE, [("look", {})], end])

    host = await run(tmp_path, model, tool("look", look))

    assert [each.subagent.ended for each in seen[-1]] == [None, None]
    shown = plan_agents(settings, open_store(settings))
    assert sorted(each.subagent.kind for each in shown.subagents) == ["look at a", "look at b"]
    assert all(each.subagent.ended for each in shown.subagents)
    results = [text_of(result) for result in host.transcript.tool_results()]
    assert results == ["done\n\nThe subagent's list:\n- [ ] Look"] * 2
    await host.close()


async def test_a_registry_that_breaks_does_not_break_a_subagent(tmp_path: Path) -> None:
    """Its list is lost from sight, but its result is not."""

    async def destroy(_params: Any, _signal: Any, _update: Any) -> ToolResult:
        folder = open_agents(settings_in(tmp_path)).folder
        shutil.rmtree(folder)
        os.close(os.open(folder, os.O_CREAT))
        return text_result("ok")

    model = Scripts(go=[[task("a")]], a=[WRITE, [("destroy", {})], [("yield", {"result": "done"})]])

    host = await run(tmp_path, model, tool("destroy", destroy))

    [result] = host.transcript.tool_results()
    assert (text_of(result).partition("\n")[0], result.is_error) == ("done", False)
    await host.close()
