"""What every engine must do: begin each run once, whatever happens to its records; and the tables of DBOS."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread, current_thread
from time import time
from typing import Any

import pytest

from tests.fleet.drills.faults import INTERNAL_QUEUE
from tests.fleet.drills.places import kill_server
from tests.plans import plan_of
from tests.stores.leases import fleet_on_sqlite
from tests.stores.postgres import Server, execute, needs_server, truncate
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.app.opening import run_leases, store_at
from tildone.base import replace
from tildone.fleet.engine import DBOS, TABLE, TableEngine
from tildone.fleet.engines import prepare_engine
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.events import PlanChanged
from tildone.plan.runs import Claimer, Lease, LeaseRequest, LeaseState, NewRun, RunLost, Work
from tildone.stores import parse_address
from tildone.stores.leasing import RunLeases

ROOT = Path(__file__).resolve().parents[2]
LONG = FleetSettings(lease=600_000, heartbeat=1_000, margin=1_000, reaper=200, renewal=5_000)
SHORT = FleetSettings(lease=8_000, heartbeat=500, margin=500, reaper=1_000, renewal=5_000)
"""Leases that last longer than any test, and some that a test can wait for. Workers renew them twice a second."""


@dataclass
class EngineWorker:
    """A worker as a program, and the lines it has printed."""

    name: str
    process: "subprocess.Popen[str]"
    lines: list[str] = field(default_factory=list)

    def tell(self, *words: str) -> None:
        """Send it a command."""
        assert self.process.stdin is not None
        print(*words, file=self.process.stdin, flush=True)

    def read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(line.strip() for line in self.process.stdout)

    @property
    def begun(self) -> list[str]:
        """The runs it has begun, in their order."""
        return [line.split()[0] for line in self.lines if " " in line]


@dataclass
class EngineFleet:
    """A store with an engine."""

    engine: str
    address: str
    leases: RunLeases
    workers: list[EngineWorker] = field(default_factory=list)

    def add(self, delay: int = 0, **work: object) -> str:
        """Queue a run of a new plan, and return its name."""
        run = f"r{secrets.token_hex(4)}"
        not_before = int(time() * 1000) + delay if delay else 0
        new = NewRun(run, run, Work(**work), not_before=not_before)  # type: ignore[arg-type]  # as given
        self.leases.add(new, [PlanChanged(plan_of("one"))])
        return run

    def lease(self, run: str) -> Lease:
        return self.leases.look(run)[0].lease

    def begun(self, run: str) -> list[tuple[str, ...]]:
        """Return the hand, attempt and epoch of each beginning of a run, on all workers."""
        lines = [line.split() for worker in self.workers for line in worker.lines]
        return [tuple(words[1:]) for words in lines if words[0] == run]

    def end(self, *runs: str) -> None:
        """End runs that have begun, and wait for their end."""
        for run in runs:
            for worker in self.workers:
                if run in worker.begun and worker.process.poll() is None:
                    worker.tell("end", run)
        until(lambda: all(not self.lease(run).state.is_active for run in runs))

    @contextmanager
    def worker(self, slots: int, *labels: str) -> Iterator[EngineWorker]:
        """Start a worker, which ends with the block."""
        name = f"here/{len(self.workers) + 1}/{secrets.token_hex(2)}"
        command = [sys.executable, "-m", "tests.fleet.engine_program", self.address, name, str(slots), *labels]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        worker = EngineWorker(name, process)
        self.workers.append(worker)
        reader = Thread(target=worker.read, daemon=True)
        reader.start()
        try:
            until(lambda: "ready" in worker.lines or process.poll() is not None)
            yield worker
        finally:
            with suppress(BrokenPipeError):
                process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
            try:
                process.wait(LIMIT_SECONDS)
            finally:
                process.kill()
            reader.join(LIMIT_SECONDS)
            process.stdout.close()  # type: ignore[union-attr]  # as above
        assert process.returncode == 0

    def double(self, run: str) -> None:
        """Let the engine begin the attempt that counts once more, under its own name and under another."""
        lease = self.lease(run)
        self._enqueue(lease, lease.attempt, f"{run}.0.{lease.attempt}")
        self._enqueue(lease, lease.attempt, f"{run}.copy")

    def repeat(self, run: str, attempt: int) -> None:
        """Let the engine begin an attempt that does not count any more."""
        self._enqueue(self.lease(run), attempt, f"{run}.late.{attempt}")

    def revive(self, run: str, attempt: int) -> None:
        """Cancel and resume an attempt, as an operator of the engine may do."""
        if self.engine == DBOS:
            self.client.cancel_workflow(f"{run}.0.{attempt}")
            self.client.resume_workflow(f"{run}.0.{attempt}")

    def wipe(self) -> None:
        """Empty the tables of the engine."""
        if self.engine == DBOS:
            tables = "workflow_status, workflow_input, workflow_output, operation_outputs, queues, application_versions"
            truncate(self.address, ", ".join(f"tildone_dbos.{name}" for name in tables.split(", ")))

    def leave(self, lease: Lease) -> None:
        """Leave the attempt of a lease, as a worker of another version of tildone has."""
        self._enqueue(lease, lease.attempt, f"{lease.run}.{lease.hand}.{lease.attempt}", version="0")

    def attempts(self) -> dict[str, str]:
        """Return the states of the attempts that DBOS has stored, by name."""
        return {row.workflow_id: row.status for row in self.client.list_workflows()}

    def settled(self) -> bool:
        """Return whether the engine has begun, or refused, all that it was given."""
        return self.engine != DBOS or not self.client.list_workflows(status="ENQUEUED", limit=1)

    def _enqueue(self, lease: Lease, attempt: int, name: str, version: str | None = None) -> None:
        """Put an attempt into the one queue that DBOS reads in every worker: its own, for what is resumed."""
        if self.engine == DBOS:
            options = {"workflow_name": "attempt", "queue_name": INTERNAL_QUEUE, "workflow_id": name}
            options |= {"app_version": version} if version else {}
            self.client.enqueue(options, lease.run, lease.hand, attempt)

    @cached_property
    def tables(self) -> Any:
        """The tables of DBOS."""
        # Late: where the package is missing, the tests that need it are skipped.
        from tildone.fleet.dbos_engine import EngineTables  # noqa: PLC0415  see above

        return EngineTables(self.address)

    @property
    def client(self) -> Any:
        return self.tables.client

    def disconnect(self) -> None:
        """Close the connections of the test itself to the tables of DBOS."""
        if "tables" in vars(self):
            self.tables.close()
            del self.tables


@contextmanager
def engine_fleet(engine: str, address: str) -> Iterator[EngineFleet]:
    """Prepare a store for an engine."""
    store = store_at(address)
    prepare_engine(engine, parse_address(address))
    fleet = EngineFleet(engine, address, run_leases(store))
    configure(fleet, LONG)
    yield fleet
    fleet.disconnect()
    store.close()


def configure(fleet: EngineFleet, settings: FleetSettings) -> None:
    """Set the times of a fleet."""
    fleet.leases.configure(replace(settings, engine=fleet.engine))


needs_dbos = pytest.mark.skipif(find_spec("dbos") is None, reason="dbos is not installed: pip install 'tildone[fleet]'")
SQLITE, POSTGRES = "sqlite", "postgres"
ON_DBOS = pytest.param((DBOS, POSTGRES), marks=[needs_server, needs_dbos])


@pytest.fixture(
    scope="module",
    params=[(TABLE, SQLITE), pytest.param((TABLE, POSTGRES), marks=[needs_server, pytest.mark.slow]), ON_DBOS],
    ids="-".join,
)
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineFleet]:
    engine, store = request.param
    if store == SQLITE:
        with engine_fleet(engine, str(tmp_path_factory.mktemp("fleet") / "plans.db")) as made:
            yield made
        return
    with request.getfixturevalue("server").database() as url, engine_fleet(engine, url) as made:
        yield made


@pytest.fixture(scope="module")
def worker(fleet: EngineFleet) -> Iterator[EngineWorker]:
    """A worker with two slots, which the tests share: each ends what it has begun."""
    with fleet.worker(2) as running:
        yield running


def test_a_run_begins_once(fleet: EngineFleet, worker: EngineWorker) -> None:
    runs = [fleet.add() for _ in range(4)]

    until(lambda: len(set(worker.begun) & set(runs)) == 2)
    fleet.end(*(run for run in runs if run in worker.begun))
    until(lambda: set(runs) <= set(worker.begun))
    fleet.end(*runs)

    assert [fleet.begun(run) for run in runs] == [[("0", "1", "1")]] * 4


def test_a_doubled_attempt_begins_once(fleet: EngineFleet, worker: EngineWorker) -> None:
    run = fleet.add()
    until(lambda: run in worker.begun)

    fleet.double(run)
    until(fleet.settled)
    fleet.end(run)
    fleet.double(run)
    until(fleet.settled)

    assert fleet.begun(run) == [("0", "1", "1")]


def test_an_attempt_that_does_not_count_does_not_begin(fleet: EngineFleet, worker: EngineWorker) -> None:
    """Late and revived: both the run that has another attempt, and the one whose attempt is in work."""
    run = fleet.add()
    until(lambda: run in worker.begun)
    worker.tell("busy")
    fleet.leases.release(fleet.lease(run).fence, "given back")

    fleet.repeat(run, 1)
    fleet.revive(run, 1)
    until(fleet.settled)
    worker.tell("free")
    until(lambda: len(fleet.begun(run)) == 2)
    fleet.repeat(run, 1)
    fleet.revive(run, int(fleet.begun(run)[1][1]))
    until(fleet.settled)
    epoch = fleet.lease(run).epoch
    fleet.end(run)

    assert [entry[2] for entry in fleet.begun(run)] == ["1", str(epoch)]


def test_the_tables_of_the_engine_may_be_emptied(fleet: EngineFleet, worker: EngineWorker) -> None:
    first = fleet.add()
    until(lambda: first in worker.begun)
    configure(fleet, SHORT)

    fleet.wipe()
    second = fleet.add()
    until(lambda: second in worker.begun)
    fleet.end(first, second)
    third = fleet.add()
    until(lambda: third in worker.begun)
    fleet.end(third)
    configure(fleet, LONG)

    assert len(fleet.begun(first)) == 1
    assert [fleet.lease(run).state for run in (first, second, third)] == [LeaseState.DONE] * 3


def test_a_run_waits_for_its_delay(fleet: EngineFleet, worker: EngineWorker) -> None:
    late, soon = fleet.add(delay=1_500), fleet.add()
    until(lambda: late in worker.begun)

    taken = fleet.lease(late)
    fleet.end(late, soon)

    assert taken.since >= taken.not_before > 0


def test_limits_hold(fleet: EngineFleet, worker: EngineWorker) -> None:
    """Two slots are free, but a repository has one run at a time, and so has a provider with that limit."""
    fleet.leases.set_limit(ProviderLimit("p", runs=1))
    runs = [fleet.add(repo="/app"), fleet.add(repo="/app", provider="p"), fleet.add(provider="p")]

    order: list[str] = []
    while len(order) < 3:
        until(lambda: len(set(runs) & set(worker.begun)) > len(order))
        held = [fleet.lease(run) for run in runs if fleet.lease(run).is_held]
        assert len([lease for lease in held if lease.work.repo]) <= 1
        assert len([lease for lease in held if lease.work.provider]) <= 1
        order.append(next(run for run in worker.begun if run in runs and run not in order))
        fleet.end(order[-1])

    assert sorted(order) == sorted(runs)
    assert all(len(fleet.begun(run)) == 1 for run in runs)


def test_each_worker_has_its_own_slots_and_labels(fleet: EngineFleet, worker: EngineWorker) -> None:
    """Also a label that no worker had when the run was queued."""
    labelled = [fleet.add(labels=("gpu",)) for _ in range(4)]
    others = [fleet.add() for _ in range(8)]
    with fleet.worker(8, "gpu") as bigger:
        runs = set(labelled + others)
        until(lambda: len(runs & {*worker.begun, *bigger.begun}) == 10 and set(labelled) <= set(bigger.begun))
        slots = [len(runs & set(each.begun)) for each in (worker, bigger)]
        for run in labelled + others:
            until(partial(fleet.begun, run))
            fleet.end(run)

    assert slots == [2, 8]
    assert not set(labelled) & set(worker.begun)


def test_a_refused_run_goes_to_another_worker_at_once(fleet: EngineFleet, worker: EngineWorker) -> None:
    """The time of a lease, after which a run is taken from a worker, is longer than a test."""
    with fleet.worker(1) as other:
        runs = [fleet.add() for _ in range(3)]
        until(lambda: all(fleet.begun(run) for run in runs))
        refused = next(run for run in runs if run in worker.begun)
        worker.tell("refuse", refused)
        fleet.end(next(run for run in runs if run in other.begun))
        until(lambda: refused in other.begun)
        fleet.end(*runs)

    assert worker.begun.count(refused) == 1
    assert fleet.begun(refused) == [("0", "1", "1"), ("0", "2", "3")]


def test_a_closed_engine_begins_nothing_more(fleet: EngineFleet, worker: EngineWorker) -> None:
    with fleet.worker(1, "own") as closing:
        run = fleet.add(labels=("own",))
        until(lambda: run in closing.begun)
        closing.tell("close")
        until(lambda: "closed" in closing.lines)
        closing.tell("end", run)
        until(lambda: fleet.lease(run).state is LeaseState.DONE)
        later, other = fleet.add(labels=("own",)), fleet.add()
        until(lambda: other in worker.begun)
        fleet.end(other)
    fleet.leases.request_stop(later, LeaseRequest.CANCEL)

    assert closing.begun == [run]


def test_an_engine_that_is_closed_while_no_slot_is_free_takes_nothing(tmp_path: Path) -> None:
    threads: list[Thread] = []

    def free(_seconds: float) -> list[str]:
        threads.append(current_thread())
        engine.close()
        return ["here/1/a/1"]

    with fleet_on_sqlite(tmp_path) as fleet:
        engine = TableEngine(fleet.leases, Claimer("here/1/a"))
        fleet.add()
        engine.on_begin(free, lambda _lease: Thread())
        until(lambda: threads)
        threads[0].join(LIMIT_SECONDS)

        assert fleet.lease().is_queued


@pytest.mark.parametrize("fleet", [ON_DBOS], ids="-".join, indirect=True)
def test_dbos_survives_the_end_of_its_server(server: Server, fleet: EngineFleet, worker: EngineWorker) -> None:
    before = fleet.add()
    until(lambda: before in worker.begun)
    kill_server(server)
    server.order("start")
    after = fleet.add()
    until(lambda: after in worker.begun)
    fleet.end(before, after)
    # Those of the earlier server would fail another test.
    fleet.disconnect()

    assert [len(fleet.begun(run)) for run in (before, after)] == [1, 1]


@pytest.fixture(scope="module", params=[ON_DBOS], ids="-".join)
def dbos_fleet(server: Server) -> Iterator[EngineFleet]:
    with server.database() as url, engine_fleet(DBOS, url) as made:
        yield made


def test_what_a_dead_worker_has_left_is_begun_once_although_several_look_for_it(dbos_fleet: EngineFleet) -> None:
    """The row of its version of tildone is begun by nobody, and is cancelled."""
    dead, run = Claimer("gone/1/a"), dbos_fleet.add()
    [left] = dbos_fleet.leases.claim(dead, ["gone/1/a/1"])

    with dbos_fleet.worker(2), dbos_fleet.worker(2):
        dbos_fleet.leave(left)
        # Only now, because a row that comes after the lease has lapsed is not cancelled.
        configure(dbos_fleet, SHORT)
        execute(dbos_fleet.address, "UPDATE tildone.leases SET until = 1 WHERE owner IS NOT NULL")
        until(lambda: dbos_fleet.begun(run))
        configure(dbos_fleet, LONG)
        dbos_fleet.end(run)
        attempts = dbos_fleet.attempts()

    assert attempts[f"{run}.0.1"] == "CANCELLED"
    assert [attempt for _, attempt, _ in dbos_fleet.begun(run)] == ["2"]
    with closing(store_at(dbos_fleet.address)) as store:
        assert sum(isinstance(event.fact, RunLost) for event in store.events(run)) == 1


def test_attempts_that_do_not_count_are_removed(dbos_fleet: EngineFleet) -> None:
    with dbos_fleet.worker(2) as worker:
        ended, living = dbos_fleet.add(), dbos_fleet.add()
        until(lambda: {ended, living} <= set(worker.begun))
        dbos_fleet.end(ended)
        until(lambda: dbos_fleet.attempts()[f"{ended}.0.1"] == "SUCCESS")
        dbos_fleet.leave(Lease("deleted", 0, "plan"))
        worker.tell("tidy")
        until(lambda: "tidied" in worker.lines)
        attempts = dbos_fleet.attempts()
        dbos_fleet.end(living)

    assert attempts == {f"{living}.0.1": "PENDING"}
    assert dbos_fleet.lease(living).state is LeaseState.DONE


def test_a_run_goes_on_although_its_attempt_cannot_be_stored(dbos_fleet: EngineFleet) -> None:
    with dbos_fleet.worker(1) as worker:
        execute(dbos_fleet.address, "ALTER TABLE tildone_dbos.workflow_status RENAME TO gone")
        run = dbos_fleet.add()
        until(lambda: run in worker.begun)
        dbos_fleet.end(run)
        execute(dbos_fleet.address, "ALTER TABLE tildone_dbos.gone RENAME TO workflow_status")
        later = dbos_fleet.add()
        until(lambda: later in worker.begun)
        dbos_fleet.end(later)
        until(lambda: dbos_fleet.attempts().get(f"{later}.0.1") == "SUCCESS")

    assert f"{run}.0.1" not in dbos_fleet.attempts()


LOOKS, MOST = 3, 10


def test_an_idle_worker_has_few_transactions_of_dbos(dbos_fleet: EngineFleet) -> None:
    """They are counted from one of its looks for queues, which it takes once a second, to a later one."""
    with dbos_fleet.worker(1) as worker:
        worker.tell("count", str(LOOKS))
        until(lambda: any(line.startswith("counted") for line in worker.lines))

    [count] = [int(line.split()[1]) for line in worker.lines if line.startswith("counted")]
    assert LOOKS <= count <= LOOKS * MOST


def test_old_attempts_are_removed_in_parts_and_all_attempts_of_all_hands_of_a_run_are_forgotten(
    dbos_fleet: EngineFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that count stay, wherever they are in the list."""
    monkeypatch.setattr("tildone.fleet.dbos_engine.MAX_DELETED", 2)
    dated = "UPDATE tildone_dbos.workflow_status SET created_at = right(workflow_uuid, 1)::integer"
    tables = dbos_fleet.tables
    tables.tidy(())
    for attempt in range(1, 8):
        dbos_fleet.leave(Lease("r", 0, "plan", attempt=attempt))
    execute(dbos_fleet.address, dated)
    tables.tidy(["r.0.1", "r.0.4", "r.0.7"])
    assert set(dbos_fleet.attempts()) == {"r.0.1", "r.0.4", "r.0.7"}

    for lease in (Lease("r", 1, "plan", attempt=1), Lease("rr", 0, "plan")):
        dbos_fleet.leave(lease)
    tables.forget([Lease("r", 0, "plan", attempt=7), Lease("r", 1, "plan", attempt=1)])
    assert set(dbos_fleet.attempts()) == {"rr.0.1"}
