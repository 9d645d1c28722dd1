"""Several processes on one store of each kind: what was acknowledged is kept, and locks are waited for."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import apsw
import psycopg
import pytest

from tests.plans import session_on
from tests.stores.contract import chain, ids, planned
from tests.stores.postgres import execute, needs_server
from tests.stores.processes import run, run_at_once, started, wait_for
from tests.suite.waiting import until
from tildone.base import StoreBusy, value
from tildone.log.kept import Severity
from tildone.log.needs import Need
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import Event, PlanChanged, SessionChange, SessionHead
from tildone.plan.model import Plan
from tildone.stores.pi.store import JsonlStore
from tildone.stores.postgres.store import PostgresStore
from tildone.stores.sqlite.store import SqliteStore

HELD_UP = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@value
class Place:
    """Where a store is: its address, how it is opened with a timeout, and the driver's error when it is locked."""

    address: str
    open: Callable[[float], Store]
    locked: type[Exception] | None
    is_waited_for: Callable[[], bool] = lambda: True

    @contextmanager
    def held(self) -> Iterator[str]:
        """Hold the write lock during the block; provide how the holder is named, if that is known."""
        if self.address.startswith("postgresql:"):
            with psycopg.connect(self.address) as holder:
                holder.execute("SELECT FROM tildone.sessions FOR UPDATE")
                yield ""
            return
        with started("hold", self.address) as process:
            wait_for("held", process)
            is_known = self.locked is apsw.BusyError and Path("/proc/locks").exists()
            yield f" ({process.pid})" if is_known else ""
            process.communicate()


def sqlite(request: pytest.FixtureRequest) -> Place:
    path: Path = request.getfixturevalue("tmp_path") / "plans.db"
    return Place(str(path), lambda timeout: SqliteStore(path, timeout=timeout), apsw.BusyError)


def jsonl(request: pytest.FixtureRequest) -> Place:
    folder: Path = request.getfixturevalue("tmp_path") / "sessions"
    return Place(f"jsonl:{folder}", lambda timeout: JsonlStore(folder, plan_in_entry, timeout=timeout), None)


def postgres(request: pytest.FixtureRequest) -> Place:
    url: str = request.getfixturevalue("url")
    locked = psycopg.errors.LockNotAvailable
    return Place(
        url, lambda timeout: PostgresStore(url, timeout=timeout), locked, lambda: execute(url, HELD_UP) == [(1,)]
    )


@pytest.fixture(params=[sqlite, jsonl, pytest.param(postgres, marks=needs_server)], ids=lambda kind: str(kind.__name__))
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.param(request)
    return found


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    store = place.open(30.0)
    yield store
    store.close()


def flaws(store: Store, *but: Severity) -> list[str]:
    return [finding.what for finding in store.check() if finding.severity not in (Severity.OK, *but)]


def plan_of(event: Event) -> Plan:
    assert isinstance(event.fact, PlanChanged)
    return event.fact.plan


def changed_positions(before: Plan, after: Plan) -> list[int]:
    pairs = zip(before.tasks, after.tasks, strict=True)
    return [position for position, (old, new) in enumerate(pairs) if old != new]


@pytest.mark.parametrize(("writers", "changes"), [(3, 20), pytest.param(8, 500, marks=pytest.mark.slow)])
def test_concurrent_processes_lose_no_change(place: Place, store: Store, writers: int, changes: int) -> None:
    """Each makes many changes to one plan, as an agent or as a user. None fails, and none undoes another's."""
    todos = [{"text": f"of worker {worker}"} for worker in range(writers)]
    session_on(store).call("write_todos", {"mode": "replace", "todos": todos})

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(lambda worker: run("toggle", place.address, worker, changes), range(writers)))

    written = list(store.history("s"))[::-1]
    wanted = [f"{worker}-{number}" for worker in range(writers) for number in range(changes)]
    assert sorted(ids(written)) == sorted(["e0", *wanted])
    for before, after in pairwise(written):
        assert changed_positions(plan_of(before), plan_of(after)) == [int(after.id.partition("-")[0])]
    assert ids(store.events("s")) == ids(written)
    assert flaws(store) == []


@pytest.mark.skipif("os.name == 'nt'", reason="forks are Unix's")
@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_a_killed_writer_loses_no_acknowledged_change(place: Place, store: Store, kills: int) -> None:
    told = run("killed", place.address, kills, 20261115).stdout.split()

    written = ids(store.history("s"))
    print(f"{kills} writers killed: {len(told):,} changes acknowledged, {len(written):,} written")
    assert len(told) >= kills / 2
    assert set(told) <= set(written)
    assert written == ids(store.events("s"))[::-1]
    assert plan_of(next(store.history("s"))).tasks[0].text == written[0]
    assert store.records.changed(0) == [SessionChange("s", written[0], store.records.revision())]
    assert flaws(store, Severity.WARNING) == []


def test_a_lock_held_too_long_is_reported(place: Place) -> None:
    """Reading continues meanwhile, and writing after the lock is released."""
    store = place.open(0.05)
    chain(store, "s", "a")

    with place.held() as holder:
        with pytest.raises(StoreBusy) as caught:
            store.append("s", planned("b", "a", "x"))
        with pytest.raises(StoreBusy):
            store.move_head("s", SessionHead(None), expected="a")
        read = ids(store.history("s"))
    chain(store, "s", "b")

    assert f"is in use by another process{holder}, for longer than we wait" in str(caught.value)
    assert place.locked is None or isinstance(caught.value.__cause__, place.locked)
    assert read == ["a"]
    assert ids(store.history("s")) == ["b", "a"]
    store.close()


def test_a_writer_waits_for_a_lock(place: Place, store: Store) -> None:
    """Without an error, and other threads continue meanwhile: one of them releases the lock."""
    chain(store, "s", "a")

    with ThreadPoolExecutor(1) as pool:
        with place.held():
            writing = pool.submit(chain, store, "s", "b")
            until(place.is_waited_for)
        writing.result()

    assert ids(store.history("s")) == ["b", "a"]


def test_of_several_processes_that_answer_at_once_one_counts(place: Place, store: Store) -> None:
    chain(store, "s", "a")
    store.records.ask(Need("n", "s", "confirm", "?"))

    told = sorted(line.strip() for line in run_at_once("answer", [(place.address, word) for word in "abc"]))

    decided = store.records.need("n")
    assert decided is not None
    assert told == sorted([decided.answer, *[f"after {decided.answer}"] * 2])
