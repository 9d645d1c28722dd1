"""The fleet for screens: it reads what has changed, no plans, and no runs that ended long ago."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.overview.stores import CountingStore
from tests.web.fleets import FleetStore
from tildone.app.index import SessionIndex
from tildone.app.opening import run_leases, store_at
from tildone.app.runs import FleetIndex, WorkerState
from tildone.base.ids import now
from tildone.log.store import Store
from tildone.plan.events import Actor, AgentUsage, Author, Event, PlanChanged
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
def test_a_worker_that_is_silent_is_late_and_then_lost(
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
    session = fleet.add("r1")
    store = counting.store
    plan = Plan((Phase("", (Task("one"),)),))
    head = store.session_head(session).head
    usage = AgentUsage(10, 20, 1.25)
    store.append(session, Event("e1", head, now(), Actor.AGENT, PlanChanged(plan), Author("", "claude:1"), usage=usage))
    fleet.take("r1")

    def index() -> SessionIndex:
        found = SessionIndex(cast("Store", counting), str(tmp_path), now=now, nudge_limit=20)
        found.refresh()
        return found

    def spent(found: SessionIndex) -> float:
        row = found.row(session)
        assert row is not None
        return row.spent

    first = index()
    assert spent(first) == 1.25
    first.keep()
    assert spent(index()) == 1.25
    # A later event of a person says nothing about the cost.
    store.append(session, Event("e2", store.session_head(session).head, now(), Actor.USER, PlanChanged(plan)))
    first.refresh()
    assert spent(first) == 1.25
    # Another agent, which later counts from 0 again.
    for number, cost in enumerate((0.5, 2.0, 0.25)):
        author, head = Author("", "claude:2"), store.session_head(session).head
        event = Event(f"f{number}", head, now(), Actor.AGENT, PlanChanged(plan), author, usage=AgentUsage(1, 1, cost))
        store.append(session, event)
        first.refresh()
    assert spent(first) == 3.5
    assert spent(index()) == 3.5
