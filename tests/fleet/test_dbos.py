"""What workers do with the tables of DBOS: what others have left there, and what is removed."""

from collections.abc import Iterator

import pytest

from tests.fleet.engines import LONG, SHORT, EngineFleet, configure, engine_fleet
from tests.fleet.test_engines import needs_dbos
from tests.stores.postgres import Server, execute, needs_server
from tests.suite.waiting import until
from tildone.app.opening import store_at
from tildone.fleet.engine import DBOS
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import Claimer, Lease, LeaseState, RunLost

pytestmark = [needs_server, needs_dbos]


@pytest.fixture(scope="module")
def fleet(server: Server) -> Iterator[EngineFleet]:
    with server.database() as url, engine_fleet(DBOS, url) as made:
        yield made


def losses(fleet: EngineFleet, run: str) -> int:
    """Return how often a run was lost, by its log."""
    store = store_at(fleet.address)
    found = sum(isinstance(event.fact, RunLost) for event in store.events(run))
    store.close()
    return found


def test_what_a_dead_worker_has_left_is_begun_once_although_several_look_for_it(fleet: EngineFleet) -> None:
    """It held one run, and had sent another. The rows of its version of tildone are begun by nobody."""
    configure(fleet, SHORT)
    dead, (held, sent) = Claimer("gone/1/a"), (fleet.add(), fleet.add())
    left = fleet.leases.dispatch(dead, 2)
    assert fleet.leases.take(dead, "gone/1/a/1", held, 0, 1)

    with fleet.worker(2) as one, fleet.worker(2):
        for lease in left:
            fleet.leave(lease, one.name, version="0")
        until(lambda: fleet.begun(held) and fleet.begun(sent))
        configure(fleet, LONG)
        fleet.end(held, sent)
        withdrawn = fleet.attempts()

    assert [withdrawn[f"{run}.0.1"] for run in (held, sent)] == ["CANCELLED"] * 2
    assert [len(fleet.begun(run)) for run in (held, sent)] == [1, 1]
    assert all(int(attempt) > 1 for run in (held, sent) for _, attempt, _ in fleet.begun(run))
    assert (losses(fleet, held), losses(fleet, sent)) == (1, 0)


def test_attempts_that_do_not_count_and_queues_of_workers_that_have_left_are_removed(fleet: EngineFleet) -> None:
    with fleet.worker(2) as worker:
        ended, living = fleet.add(), fleet.add()
        until(lambda: {ended, living} <= set(worker.begun))
        fleet.end(ended)
        until(lambda: fleet.attempts()[f"{ended}.0.1"] == "SUCCESS")
        for queue in ("gone/2/b", "other/3/c"):
            fleet.register(queue)
        fleet.leave(Lease("deleted", 0, "plan"), "gone/2/b", version="0")
        fleet.leases.beat(WorkerInfo("other/3/c", "other", 3))
        worker.tell("tidy")
        until(lambda: "tidied" in worker.lines)
        attempts, queues = fleet.attempts(), fleet.queues
        fleet.end(living)

    assert attempts == {f"{living}.0.1": "PENDING"}
    assert queues == {worker.name, "other/3/c"}
    assert fleet.lease(living).state is LeaseState.DONE


def test_old_attempts_are_removed_in_parts(fleet: EngineFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that count stay, wherever they are in the list."""
    monkeypatch.setattr("tildone.fleet.dbos_engine.MAX_DELETED", 2)
    with fleet.tables() as tables:
        tables.tidy((), ())
        for attempt in range(1, 8):
            fleet.leave(Lease("r", 0, "plan", attempt=attempt), "nobody", version="0")
        execute(fleet.address, "UPDATE tildone_dbos.workflow_status SET created_at = right(workflow_uuid, 1)::integer")

        tables.tidy(["r.0.1", "r.0.4", "r.0.7"], ())

        assert set(fleet.attempts()) == {"r.0.1", "r.0.4", "r.0.7"}


def test_all_attempts_of_all_hands_of_a_run_are_forgotten(fleet: EngineFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tildone.fleet.dbos_engine.MAX_DELETED", 2)
    hands = [Lease("r", 0, "plan", attempt=2), Lease("r", 1, "plan", attempt=1)]
    with fleet.tables() as tables:
        tables.tidy((), ())
        for lease in (*hands, Lease("r", 0, "plan", attempt=1), Lease("rr", 0, "plan")):
            fleet.leave(lease, "nobody", version="0")

        tables.forget(hands)

        assert set(fleet.attempts()) == {"rr.0.1"}
