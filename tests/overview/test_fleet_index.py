"""The fleet for screens reads what has changed only; the thread that keeps an index current; and costs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Event as Event_following
from typing import Any, cast

import pytest

from tests.overview.stores import CountingStore, World
from tests.web.fleets import FleetStore
from tildone.app import sessions as costs
from tildone.app.index import IndexChange, IndexFollower, SessionIndex
from tildone.app.opening import run_leases, store_at
from tildone.app.runs import FleetIndex, WorkerState
from tildone.app.sessions import AgentCost, CostsRead, spent
from tildone.base import StoreError
from tildone.base.ids import now
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.plan.events import Actor, AgentUsage, Author, Directive, DirectiveSet, Event, PlanChanged
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Phase, Plan, Task
from tildone.plan.runs import Ask
from tildone.stores.leasing import lists_of

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
    fleet.wish("r1", Ask.PAUSE)
    wished = index.refresh([], detailed=True)
    assert [view.lease.ask for view in wished.runs] == [Ask.PAUSE]
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
