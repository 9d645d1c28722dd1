"""The index of a store, and the fleet for screens, read only what has changed; pages of rows, questions, and costs."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event as Event_following
from typing import Any, cast

import apsw
import pytest

from tests.overview.stores import CountingStore, World
from tests.web.fleets import FleetStore
from tildone.app import sessions as costs
from tildone.app.index import AGENTS_EVERY_MS, IndexChange, IndexFollower, SessionIndex
from tildone.app.opening import run_leases, store_at
from tildone.app.runs import FleetIndex, WorkerState
from tildone.app.sessions import SORTS, AgentCost, CostsRead, Cursor, SessionRow, spent
from tildone.base import StoreError, UsageError
from tildone.base.ids import now
from tildone.log.kept import KeptSummary
from tildone.log.needs import Need
from tildone.log.presence import AT_WORK_MS, Presence
from tildone.log.store import Store
from tildone.plan.events import Actor, AgentUsage, Author, Directive, DirectiveSet, Event, PlanChanged
from tildone.plan.gate import RestReason
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Phase, Plan, Status, Task
from tildone.plan.ops import Mark, Numbered
from tildone.plan.runs import LeaseRequest
from tildone.plan.text.state import SessionWord
from tildone.stores.agents import Agent, AgentId, AgentRegistry, start_time
from tildone.stores.leasing import lists_of
from tildone.stores.memory import MemoryStore


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A SQLite store of its own."""
    store = store_at(str(tmp_path / "plans.db"))
    yield World(store, tmp_path / "agents")
    store.close()


READS = ("history", "session_info", "session_head", "sessions", "events")


def row_of(world: World, name: str = "s") -> SessionRow:
    """Refresh the index, and return the row of a session."""
    world.index.refresh()
    row = world.index.row(name)
    assert row is not None
    return row


def reads(world: World) -> dict[str, int]:
    """How often sessions were read since the last call."""
    found = {name: world.counting.calls[name] for name in READS if world.counting.calls[name]}
    world.counting.calls.clear()
    return found


def test_a_row_has_what_a_list_shows_without_the_plan(world: World) -> None:
    session = world.write("grammar", "Read it", "Write the parser")
    session.change([Mark(Numbered((1,)), Status.COMPLETED)])

    row = row_of(world, "grammar")

    assert (row.name, row.title) == ("grammar", "grammar")
    assert (row.word, row.why) == (SessionWord.IDLE, "next: Write the parser")
    assert (row.closed, row.total, row.strip, row.doing) == (1, 2, "d.", "Write the parser")
    assert (row.events, row.head, row.nudge_limit) == (2, world.store.session_head("grammar").head, 20)
    assert row.created <= row.updated


@pytest.mark.parametrize("others", [1, 40])
def test_a_refresh_reads_only_what_changed_however_many_sessions_there_are(world: World, others: int) -> None:
    for number in range(others):
        world.write(f"s{number}", "a")
    session = world.write("busy", "a", "b")
    world.index.refresh()
    reads(world)
    world.index.refresh()
    assert reads(world) == {}

    session.change([Mark(Numbered((1,)), Status.COMPLETED)])
    change = world.index.refresh()

    assert [row.name for row in change.changed] == ["busy"]
    assert reads(world) == {"history": 1, "session_info": 1}


def test_undo_is_a_change_without_which_no_row_is_computed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    session = world.write("s", "a")
    session.change([Mark(Numbered((1,)), Status.COMPLETED)])
    assert world.index.refresh()
    session.undo()

    assert [row.closed for row in world.index.refresh().changed] == [0]
    monkeypatch.delattr("tildone.app.sessions.session_row")
    assert not world.index.refresh()


def test_a_deleted_session_is_removed(world: World) -> None:
    session = world.write("s", "a")
    world.write("t", "a")
    world.index.refresh()
    world.store.delete("s", expected=session.state.head)

    assert world.index.refresh().removed == ("s",)
    assert (world.names(), world.index.row("s")) == (["t"], None)
    assert world.index.counts() == {SessionWord.IDLE: 1}


def test_a_store_that_was_restored_is_read_anew(world: World, tmp_path: Path) -> None:
    """Its revisions are smaller than the one that the index knows."""
    world.write("gone", "a")
    world.write("gone too", "a")
    world.index.refresh()
    other = MemoryStore()
    World(other, tmp_path).write("restored", "a")
    world.counting.store, world.counting.records.store = other, other.records

    change = world.index.refresh()

    assert [row.name for row in change.changed] == ["restored"]
    assert sorted(change.removed) == ["gone", "gone too"]


def test_everything_is_read_anew_when_deletions_may_be_missing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tildone.app.index.MAX_CONTINUOUS", 3)
    world.write("s", "a")
    world.index.refresh()
    reads(world)
    for name in "tuv":
        world.write(name, "a")
    world.index.refresh()

    assert reads(world) == {"history": 3, "sessions": 1}
    assert sorted(world.names()) == ["s", "t", "u", "v"]


def test_kept_summaries_spare_the_next_index_the_reading(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept when so much has changed."""
    monkeypatch.setattr("tildone.app.index.KEEP_EVERY", 3)
    for name in "abc":
        assert not world.store.records.kept_summaries()
        world.write(name, f"Task of {name}", "Other")
        world.index.refresh()
    assert sorted(world.store.records.kept_summaries()) == ["a", "b", "c"]
    world.session("b").change([Mark(Numbered((1,)), Status.COMPLETED)])
    reads(world)
    next_index = world.another_index()
    next_index.refresh()

    assert reads(world) == {"history": 1, "sessions": 1}
    world.index.refresh()
    assert next_index.rows() == world.index.rows()
    assert [row.name for row in next_index.rows(query="task of").rows] == world.names(query="TASK of")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "null", '[1,20,"t","NEVER","","IDLE","",0,1,".","",0,""]', "[" * 5000]
)
def test_a_kept_summary_of_another_version_or_limit_is_not_used(world: World, text: str) -> None:
    world.write("s", "a")
    world.index.refresh()
    world.store.records.keep_summaries({"s": KeptSummary(world.store.session_head("s").head, text)})
    index = world.another_index()
    index.refresh()
    assert index.rows() == world.index.rows()

    world.index.keep()
    world.counting.calls.clear()
    world.another_index(nudge_limit=7).refresh()
    assert world.counting.calls["history"] == 1


def test_a_session_that_cannot_be_read_is_named_and_the_others_are_listed(world: World, tmp_path: Path) -> None:
    world.write("bad", "a")
    world.write("good", "a")
    with apsw.Connection(str(tmp_path / "plans.db")) as connection:
        connection.execute("UPDATE events SET body = 'no' WHERE session = 'bad'")
    world.index.refresh()

    assert world.names() == ["good"]
    [sentence] = world.index.unreadable()
    assert sentence.startswith("bad: ")


def test_a_failure_of_the_store_loses_no_change(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("s", "a")

    def refuse() -> None:
        raise StoreError("the server does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(world.counting.records, "presences", refuse, raising=False)
        with pytest.raises(StoreError):
            world.index.refresh()
    assert world.names() == []

    assert [row.name for row in world.index.refresh().changed] == ["s"]


def working(session: str, **fields: object) -> Presence:
    return Presence("claude:5f0c", session, **fields)  # type: ignore[arg-type]  # the fields of a presence


def later(world: World) -> None:
    """Let so much time pass that the index looks again who is at work."""
    world.now += AGENTS_EVERY_MS


def test_an_agent_that_gives_signs_of_life_is_at_work_for_90_seconds(world: World) -> None:
    world.write("s", "a")
    world.store.records.beat(working("s", beat=world.now, tokens=184_000, cost=1.92, doing="bash: pytest"))
    row = row_of(world)
    assert (row.word, row.tokens, row.cost) == (SessionWord.WORKING, 184_000, 1.92)
    assert [agent.doing for agent in row.agents] == ["bash: pytest"]

    world.now += AT_WORK_MS
    [row] = world.index.refresh().changed
    assert (row.word, row.agents) == (SessionWord.IDLE, ())


def test_a_sign_of_life_alone_is_no_change_and_reads_no_session(world: World) -> None:
    """Presences are read every two seconds at most."""
    world.write("s", "a")
    world.store.records.beat(working("s", beat=world.now))
    for _ in range(5):
        world.index.refresh()
    assert world.counting.calls["presences"] == 1
    reads(world)
    later(world)
    world.store.records.beat(working("s", beat=world.now))
    assert not world.index.refresh()
    assert world.counting.calls["presences"] == 1
    later(world)
    world.store.records.beat(working("s", beat=world.now, doing="edit: cli.py"))

    assert [row.agents[0].doing for row in world.index.refresh().changed] == ["edit: cli.py"]
    assert reads(world) == {}


def register(world: World, name: str = "claude") -> None:
    pid = os.getpid()
    agent = Agent(AgentId(name, "5f0c"), "s", "", pid, world.now, start_time(pid))
    AgentRegistry(str(world.agents_dir), "/project").save(agent)


@pytest.mark.parametrize(
    ("why", "word"),
    [
        ("", SessionWord.WORKING),
        (RestReason.ASKED.value, SessionWord.NEEDS_YOU),
        (RestReason.BUSY.value, SessionWord.WORKING),
        (RestReason.ABORTED.value, SessionWord.IDLE),
    ],
)
def test_an_agent_whose_process_runs_here_needs_no_sign_of_life_and_why_it_rests_decides_the_state(
    world: World, why: str, word: SessionWord
) -> None:
    """A command may take long. One that asked waits for the answer however long that takes, wherever it runs."""
    world.write("s", "a")
    world.store.records.beat(working("s", beat=world.now - 10 * AT_WORK_MS, doing="bash: make", why=why))
    world.index.refresh()
    asks = why == RestReason.ASKED.value
    assert world.index.counts() == {SessionWord.NEEDS_YOU if asks else SessionWord.IDLE: 1}
    register(world)
    later(world)
    row = row_of(world)

    assert (row.word, [agent.doing for agent in row.agents]) == (word, ["bash: make"])


def test_an_open_question_needs_a_person_until_it_is_answered(world: World) -> None:
    world.write("s", "a")
    world.session("s").set_directive(Directive.PAUSE)
    world.index.refresh()
    reads(world)
    later_need = Need("2", "s", "command", "rm x", ("once", "no"), since=2)
    world.store.records.ask(later_need)
    first = Need("1", "s", "command", "cargo fuzz run parse", ("once", "no"), since=1)
    world.store.records.ask(first)
    [row] = world.index.refresh().changed

    assert (row.word, row.why, row.needs) == (SessionWord.NEEDS_YOU, "cargo fuzz run parse", (first, later_need))
    assert world.index.needs() == (first, later_need)
    assert "history" not in reads(world)

    world.store.records.answer("1", "once", "Ada", 3)
    world.store.records.withdraw("2")
    [row] = world.index.refresh().changed
    assert (row.word, row.needs, world.index.needs()) == (SessionWord.PAUSED, (), ())


def written(world: World, count: int) -> None:
    for number in range(count):
        world.write(f"s{number:02}", "a")
    world.index.refresh()


def test_what_needs_a_person_comes_first_then_the_last_changed(world: World) -> None:
    for name in ("idle", "done", "waits", "paused"):
        world.write(name, "a")
    world.session("done").change([Mark(Numbered((1,)), Status.COMPLETED)])
    world.session("waits").change([Mark(Numbered((1,)), Status.BLOCKED)])
    world.session("paused").set_directive(Directive.PAUSE)
    world.index.refresh()

    assert world.names() == ["waits", "paused", "idle", "done"]
    assert list(world.index.counts()) == [row.word for row in world.index.rows().rows]


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("limit", [1, 3, 10, 60])
def test_pages_together_are_the_whole_list(world: World, sort: str, limit: int) -> None:
    written(world, 10)
    pages = [world.index.rows(sort=sort, limit=limit)]
    while after := pages[-1].after:
        pages.append(world.index.rows(sort=sort, after=after, limit=limit))

    found = [row.name for page in pages for row in page.rows]
    assert (found, len(found)) == (world.names(sort=sort), 10)


def test_a_row_that_is_deleted_or_added_between_two_pages_moves_no_other(world: World) -> None:
    written(world, 6)
    first = world.index.rows(sort="title", limit=3)
    world.store.delete("s02", expected=world.store.session_head("s02").head)
    world.write("s00b", "a")
    world.index.refresh()

    assert world.names(sort="title", after=first.after) == ["s03", "s04", "s05"]


def test_the_query_finds_titles_names_task_texts_states_and_agents_in_any_case(world: World) -> None:
    world.write("/home/ada/Parser#claude:5f0c1234", "Read the Grammar")
    world.write("other", "x")
    world.index.refresh()

    for query in ("parser", "HOME", "grammar read", "GRAMMAR idle", "(claude"):
        assert world.names(query=query) == ["/home/ada/Parser#claude:5f0c1234"], query
    assert world.names(query="grammar x") == []
    assert world.names(query="idle") == world.names()


def test_only_rows_of_the_states_asked_for_are_returned_and_a_filtered_page_has_a_cursor(world: World) -> None:
    written(world, 5)
    for name in ("s01", "s03"):
        world.session(name).set_directive(Directive.PAUSE)
    world.index.refresh()
    words = {SessionWord.PAUSED}
    page = world.index.rows(words=words, sort="title", limit=1)

    assert world.names(words=words, sort="title") == ["s01", "s03"]
    rest = world.index.rows(words=words, sort="title", after=page.after, limit=1)
    assert ([row.name for row in rest.rows], rest.after) == (["s03"], None)


def test_a_cursor_that_is_none_or_of_another_order_and_an_unknown_order_are_refused(world: World) -> None:
    written(world, 3)
    for cursor in ("", "!", "6e6f", "7b7d", "5b315d", "ff", "é"):
        with pytest.raises(UsageError, match="cursor"):
            world.index.rows(after=Cursor(cursor))
    for other in ("activity", "created"):
        with pytest.raises(UsageError, match="another order"):
            world.index.rows(sort="updated", after=world.index.rows(sort=other, limit=1).after)
    with pytest.raises(UsageError, match="there is no order 'size'"):
        world.index.rows(sort="size")


AGENT = "tildone:5f0c"


@pytest.fixture
def need(world: World) -> Need:
    """The question of an agent that works."""
    world.write("s", "a")
    asked = Need("1", "s", "command", "make", ("once", "no"), since=world.now, agent=AGENT)
    world.store.records.beat(Presence(AGENT, "s", beat=world.now))
    world.store.records.ask(asked)
    world.index.refresh()
    assert world.index.needs() == (asked,)
    return asked


def shown(world: World) -> tuple[SessionWord, int, tuple[Need, ...]]:
    """The state of the session, how many questions its row has, and the questions of all sessions."""
    row = row_of(world)
    return row.word, len(row.needs), world.index.needs()


def beat(world: World, ago: int, why: str = "") -> None:
    world.store.records.beat(Presence(AGENT, "s", why=why, beat=world.now - ago))


@pytest.mark.parametrize(
    ("act", "waits"),
    [
        (lambda _world: None, False),
        (lambda world: world.store.records.leave(AGENT), False),
        (lambda world: beat(world, AT_WORK_MS - 1), True),
        (lambda world: beat(world, 10 * AT_WORK_MS, RestReason.ALL_DONE.value), True),
        (lambda world: register(world, "tildone"), True),
    ],
    ids=["silent", "left", "goes on", "rests, and gives no signs of life", "runs here, and gives none"],
)
def test_a_question_is_shown_while_its_agent_may_wait_however_long(
    world: World, need: Need, act: Callable[[World], None], *, waits: bool
) -> None:
    world.now += 10 * AT_WORK_MS
    act(world)

    assert shown(world) == ((SessionWord.NEEDS_YOU, 1, (need,)) if waits else (SessionWord.IDLE, 0, ()))
    # The machine of the agent slept.
    beat(world, 0)
    later(world)
    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (need,))


def test_a_new_question_is_shown_before_its_agent_is_known(world: World) -> None:
    world.write("s", "a")
    asked = Need("1", "s", "input", "Which?", since=world.now, agent=AGENT)
    world.store.records.ask(asked)

    assert shown(world) == (SessionWord.NEEDS_YOU, 1, (asked,))


MINUTE = 60_000


@pytest.fixture
def fleet(tmp_path: Path) -> FleetStore:
    return FleetStore(str(tmp_path / "plans.db"))


@pytest.fixture
def counting(fleet: FleetStore) -> Iterator[CountingStore]:
    store = store_at(fleet.address)
    yield CountingStore(store)
    store.close()


@pytest.fixture
def index(counting: CountingStore) -> FleetIndex:
    lists = lists_of(counting.store)
    assert lists is not None
    return FleetIndex(cast("Store", counting), lists, run_leases(counting.store), now)


def test_a_refresh_finds_what_has_changed_and_nothing_else(fleet: FleetStore, index: FleetIndex) -> None:
    worker = fleet.beat("build-01")
    session = fleet.add("r1")
    first = index.refresh([session], detailed=True)
    assert [view.lease.run for view in first.runs] == ["r1"]
    assert [row.worker.id for row in first.workers] == [worker]

    nothing = index.refresh([], detailed=True)
    assert (nothing.runs, nothing.workers, nothing.is_different) == ((), (), False)
    fleet.take("r1")
    fleet.request("r1", LeaseRequest.PAUSE)
    wished = index.refresh([], detailed=True)
    assert [view.lease.request for view in wished.runs] == [LeaseRequest.PAUSE]
    assert [row.held for row in wished.workers] == [1]
    fleet.use(lambda _, leases: leases.leave(worker))
    assert index.refresh([], detailed=True).left == (worker,)


@pytest.mark.parametrize(
    ("silent", "state"), [(0, WorkerState.LIVE), (31_000, WorkerState.LATE), (61_000, WorkerState.LOST)]
)
def test_a_silent_worker_is_late_then_lost(
    fleet: FleetStore, index: FleetIndex, silent: int, state: WorkerState
) -> None:
    fleet.long_ago(silent, lambda leases: leases.beat(WorkerInfo("h/1/a", "h")))
    index.refresh([], detailed=False)
    [row] = index.workers
    assert row.state is state
    assert abs(now() - silent - row.seen) < MINUTE / 2


def test_a_lost_worker_is_shown_for_a_day_or_while_it_holds_a_lease(fleet: FleetStore, index: FleetIndex) -> None:
    for host, minutes in (("recent", 23 * 60), ("old", 25 * 60), ("holding", 25 * 60)):
        fleet.was_seen(host, minutes * MINUTE)
    fleet.add("r1")
    lease = fleet.take("r1", "holding", pid=1)

    first = index.refresh([], detailed=True)
    fleet.use(lambda _, leases: leases.release(lease.fence, "stopped"))
    second = index.refresh([], detailed=True)

    assert sorted(row.worker.host for row in first.workers) == ["holding", "recent"]
    assert second.left == ("holding/1/a",)
    assert [row.worker.host for row in index.workers] == ["recent"]


def test_questions_in_the_logs_of_plans_are_needs_and_are_read_again_only_if_the_log_changes(
    fleet: FleetStore, index: FleetIndex, counting: CountingStore
) -> None:
    fleet.add("r1")
    lease = fleet.take("r1")
    fleet.ask(lease, "command", "make deploy", waits=False)

    [need] = index.needs()
    assert (need.id, need.kind, need.text, need.options) == ("r1:q1", "command", "make deploy", ("yes", "no"))
    assert index.run_of(lease.session) == "r1"
    before = counting.calls["history"]
    index.needs()
    assert counting.calls["history"] == before
    # The same question with another text: what is shown must be what is answered.
    fleet.ask(lease, "command", "make destroy", waits=False)
    assert [need.text for need in index.needs()] == ["make destroy"]
    fleet.use(lambda _, leases: leases.answer("r1", "q1", "no", "Ada", "e9"))
    assert index.needs() == []
    assert index.run_of(lease.session) == ""


def test_the_costs_of_all_agents_are_added_up_and_kept_after_they_have_ended(
    fleet: FleetStore, counting: CountingStore, tmp_path: Path
) -> None:
    session, store = fleet.add("r1"), counting.store
    plan = PlanChanged(Plan((Phase("", (Task("one"),)),)))

    def append(name: str, actor: Actor, agent: str = "", cost: float | None = None) -> None:
        usage = None if cost is None else AgentUsage(10, 20, cost)
        head = store.session_head(session).head
        store.append(session, Event(name, head, now(), actor, plan, Author("", agent), usage=usage))

    def index() -> SessionIndex:
        return SessionIndex(cast("Store", counting), str(tmp_path), now=now, nudge_limit=20)

    def spent(found: SessionIndex) -> float:
        found.refresh()
        row = found.row(session)
        assert row is not None
        return row.spent

    append("e1", Actor.AGENT, "claude:1", 1.25)
    fleet.take("r1")
    first = index()
    assert spent(first) == 1.25
    first.keep()
    assert spent(index()) == 1.25
    # A later event of a person says nothing about the cost.
    append("e2", Actor.USER)
    assert spent(first) == 1.25
    # Another agent, which later counts from 0 again.
    for number, cost in enumerate((0.5, 2.0, 0.25)):
        append(f"f{number}", Actor.AGENT, "claude:2", cost)
        spent(first)
    assert spent(first) == spent(index()) == 3.5


def event(number: int, agent: str = "", cost: float | None = None) -> Event:
    usage = AgentUsage(1, 1, cost) if agent else None
    return Event(f"e{number}", None, number, Actor.AGENT, DirectiveSet(Directive.GO), Author("", agent), usage=usage)


def newest_first(*events: Event) -> Iterator[Event]:
    return reversed(events)


@pytest.mark.parametrize(
    ("events", "head", "expected"),
    [
        # The newest figure of each agent counts.
        ([("a", 1.0), ("b", 0.5), ("a", 1.5), (), ("a",)], None, {"a": (1.5, 1.5), "b": (0.5, 0.5)}),
        # One that became smaller was counted from 0 again.
        ([("a", 2.0), ("a", 0.5), ("a", 0.75)], None, {"a": (2.75, 0.75)}),
        # Only what is new is read, and on another branch, all of it.
        ([("a", 99.0), ("a", 0.75), ("a", 1.0)], "e2", {"a": (3.0, 1.0)}),
        ([("a", 1.0), ("b", 2.0)], "gone", {"a": (1.0, 1.0), "b": (2.0, 2.0)}),
    ],
    ids=["newest", "from 0", "new", "another branch"],
)
def test_the_costs_of_each_agent(
    events: list[tuple[Any, ...]], head: str | None, expected: dict[str, tuple[float, float]]
) -> None:
    known = (AgentCost("a", 2.75, 0.75),) if head else ()

    read = CostsRead(newest_first(*(event(number, *each) for number, each in enumerate(events, 1))), known, head)

    assert read.costs() == tuple(AgentCost(agent, *figures) for agent, figures in expected.items())


def test_a_history_is_read_once_and_not_beyond_what_is_known_nor_to_its_end_if_it_is_long() -> None:
    read = CostsRead(newest_first(event(1, "a", 1.0), event(2, "b", 2.0)))
    next(iter(read))
    assert {cost.agent for cost in read.costs()} == {"a", "b"}
    events = newest_first(*(event(number, "a", 1.0) for number in range(4)))
    CostsRead(events, (AgentCost("a", 2.75, 0.75),), "e2").costs()
    assert next(events).id == "e1"
    events = newest_first(*(event(number, f"a{number}", 1.0) for number in range(costs.MAX_EVENTS_READ + 5)))
    assert len(CostsRead(events).costs()) == costs.MAX_EVENTS_READ


def test_an_agent_at_work_may_have_cost_more_than_its_log_says() -> None:
    present = [Presence("a", "s", cost=1.0), Presence("b", "s", cost=0.25), Presence("c", "s", cost=0.5)]

    assert spent((AgentCost("a", 2.75, 0.75), AgentCost("b", 0.5, 0.5)), present) == 2.75 + 0.25 + 0.5 + 0.5


LONG_ENOUGH = 30


@contextmanager
def following(world: World, beside: Callable[[], object] = str) -> Iterator[Queue[IndexChange | str]]:
    """Follow the store; what is published or fails is in the queue."""
    told: Queue[IndexChange | str] = Queue()
    follower = IndexFollower(world.index, told.put, told.put, beside=beside)
    follower.start()
    yield told
    follower.stop()


def names(told: Queue[IndexChange | str]) -> list[str]:
    change = told.get(timeout=LONG_ENOUGH)
    assert isinstance(change, IndexChange)
    return [row.name for row in change.changed]


def test_a_follower_that_was_not_started_can_be_stopped(world: World) -> None:
    IndexFollower(world.index, print).stop()


def test_a_store_that_cannot_be_read_is_reported_and_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Event_following()

    def revision() -> int:
        if not answers.is_set():
            raise StoreError("the server does not answer")
        return world.store.records.revision()

    monkeypatch.setattr(world.counting.records, "revision", revision, raising=False)
    with following(world) as told:
        assert told.get(timeout=LONG_ENOUGH) == "the server does not answer"
        answers.set()
        while isinstance(change := told.get(timeout=LONG_ENOUGH), str):
            pass
        assert not change


def test_the_first_reading_is_published_then_each_change_and_an_idle_store_is_not_read(world: World) -> None:
    """The thread blocks in `wait_any`; only who is at work is looked at again. Summaries are kept at the end.

    What is beside the index is called after every refresh.
    """
    called: Queue[int] = Queue()
    with following(world, lambda: called.put(1)) as told:
        assert names(told) == []
        world.write("s", "a")
        assert names(told) == ["s"]
        world.counting.calls.clear()
        while world.counting.calls["wait_any"] < 3:
            Event_following().wait(0.01)

        assert set(world.counting.calls) == {"wait_any"}
        for _ in range(3):
            called.get(timeout=LONG_ENOUGH)
    assert list(world.store.records.kept_summaries()) == ["s"]
