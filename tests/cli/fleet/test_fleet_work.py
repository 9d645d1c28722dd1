"""`tildone fleet work` as a process, with the shell agent."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.fleet.conftest import Operator, postgres, sqlite
from tests.fleet.agents import processes_of
from tests.fleet.test_engines import needs_dbos
from tests.fleet.workers import Bench, repository
from tests.stores.postgres import execute, needs_server
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.app.opening import run_leases, store_at
from tildone.base import replace
from tildone.base.errors import StoreBusy
from tildone.cli.fleet.work import wait_and_drain
from tildone.fleet.worker import Worker
from tildone.fleet.worksite import WorkerOptions
from tildone.plan.runs import Claimer, Lease, LeaseState, WorkOutcome

FAILING = """
import os, sys
from importlib import import_module
from tildone.cli import main

module, owner, method = sys.argv[1].split(":")
owner = getattr(import_module(module), owner)
original = getattr(owner, method)

def fails_later(*args):
    if os.path.exists("fail"):
        raise KeyError("a defect")
    return original(*args)

setattr(owner, method, fails_later)
sys.exit(main(sys.argv[2:]))
"""
"""`tildone` in which a method fails as soon as there is a file named `fail`."""


class Machine:
    """A folder with a store, and the commands that a person types there."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder, self.store = folder, store_at(store)
        self.leases = run_leases(self.store)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "COVERAGE_PROCESS_START") if name in os.environ}
        self.environ = {**kept, "HOME": str(folder), "TILDONE_STORE": store, "TILDONE_USER": "Ada"}

    def fleet(self, *words: str) -> str:
        """Return what a command prints that succeeds."""
        done = subprocess.run(
            [PROGRAM, "fleet", *words], cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done
        return done.stdout

    def add(self, name: str, *commands: str) -> str:
        """Queue a plan with a task for each command, and return the name of the run."""
        tasks = "".join(f"- [ ] Run `{command}`\n" for command in commands)
        (self.folder / name).write_text(tasks, encoding="utf-8")
        return str(json.loads(self.fleet("add", name, "--json"))["runs"][0]["run"])

    def lease(self, run: str) -> Lease:
        return self.leases.look(run)[0].lease

    def becomes(self, run: str, state: LeaseState) -> None:
        until(lambda: self.lease(run).state is state)

    @contextmanager
    def working(self, *options: str, program: Sequence[str | Path] = (PROGRAM,)) -> Iterator["subprocess.Popen[bytes]"]:
        """A worker, which ends at the latest when the test does."""
        work = [*program, "fleet", "work", "--allow", "*", *options]
        with subprocess.Popen(work, cwd=self.folder, env=self.environ, stderr=subprocess.PIPE) as worker:
            try:
                yield worker
            finally:
                stop(worker)


def stop(worker: "subprocess.Popen[bytes]") -> None:
    """Send the two signals that stop a worker."""
    # Two of the same number would count as one if the first had not been handled yet.
    for number in (signal.SIGTERM, signal.SIGINT):
        worker.send_signal(number)


@pytest.fixture(params=[sqlite])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    settings = tmp_path / ".config" / "tildone" / "config.toml"
    settings.parent.mkdir(parents=True)
    # The other engine of a server takes long to import.
    settings.write_text('[fleet]\nengine = "table"\n', encoding="utf-8")
    machine = Machine(tmp_path, request.param(request))
    machine.fleet("up", "--lease", "30")
    machine.leases.configure(replace(machine.leases.settings(), heartbeat=500))
    yield machine
    machine.store.close()


def test_a_worker_runs_what_is_queued_and_ends_when_it_is_drained(machine: Machine) -> None:
    first, second = machine.add("a.md", "touch a", "test -e a"), machine.add("b.md", "touch b")

    with machine.working("--slots", "2") as worker:
        for run in (first, second):
            machine.becomes(run, LeaseState.DONE)
        machine.fleet("drain", "--all")
        _, errors = worker.communicate(timeout=LIMIT_SECONDS)

    assert worker.returncode == 0
    assert f"run {first} is done" in errors.decode()
    assert machine.leases.workers() == []


def test_a_second_signal_ends_the_agents_and_queues_their_runs(machine: Machine) -> None:
    """The first one lets the agent go on."""
    run = machine.add("a.md", "sleep 3600")

    with machine.working("--grace", "1") as worker:
        until(lambda: processes_of(f"{run}/0/1"))
        stop(worker)
        worker.communicate(timeout=LIMIT_SECONDS)

    assert worker.returncode == 0
    assert processes_of(f"{run}/0/1") == []
    assert machine.lease(run).is_queued


@pytest.mark.parametrize(
    "machine", [sqlite, pytest.param(postgres, marks=needs_server)], ids=["sqlite", "postgres"], indirect=True
)
def test_a_run_is_cancelled_at_once_by_another_process_and_retried(machine: Machine, tmp_path: Path) -> None:
    """The worker ends the agent in the middle of a task. The heartbeat is far too long for it to be noticed so."""
    machine.leases.configure(replace(machine.leases.settings(), lease=1_000_000, heartbeat=300_000))
    run = machine.add("a.md", f"test -e {tmp_path}/go || sleep 3600")

    with machine.working("--grace", "1"):
        until(lambda: processes_of(f"{run}/0/1"))
        machine.fleet("cancel", run, "--now")
        machine.becomes(run, LeaseState.CANCELLED)
        left = processes_of(f"{run}/0/1")
        (tmp_path / "go").touch()
        machine.fleet("retry", run)
        machine.becomes(run, LeaseState.DONE)

    assert left == []


@pytest.mark.parametrize(
    ("thread", "method"),
    [
        ("heartbeat", "tildone.fleet.upkeep:Heartbeat:beat"),
        ("reaper", "tildone.fleet.upkeep:Reaper:look"),
        ("claims", "tildone.fleet.upkeep:Slots:free"),
        ("idle", "tildone.fleet.worker:Worker:could_take"),
    ],
)
def test_a_worker_of_which_an_essential_thread_fails_gives_its_runs_back_and_ends(
    machine: Machine, thread: str, method: str
) -> None:
    run = machine.add("a.md", "sleep 3600")
    program = [sys.executable, "-c", FAILING, method]

    with machine.working("--grace", "1", "--slots", "2", "--until-idle", program=program) as worker:
        until(lambda: processes_of(f"{run}/0/1"))
        (machine.folder / "fail").touch()
        _, errors = worker.communicate(timeout=LIMIT_SECONDS)

    assert worker.returncode == 1
    assert "KeyError: 'a defect'" in errors.decode()
    assert f"tildone: the thread '{thread}' has failed, and the worker stops; please report the error above\n" in (
        errors.decode()
    )
    assert processes_of(f"{run}/0/1") == []
    assert machine.lease(run).is_queued


def test_a_worker_goes_on_when_the_thread_of_a_run_fails(machine: Machine) -> None:
    """Its lease lapses, and the other runs go on."""
    machine.add("a.md", "true")
    program = [sys.executable, "-c", FAILING, "tildone.fleet.running:Execution:run"]
    (machine.folder / "fail").touch()

    with machine.working(program=program) as worker:
        errors = worker.stderr
        assert errors is not None
        until(lambda: b"KeyError: 'a defect'" in errors.readline())
        (machine.folder / "fail").unlink()
        second = machine.add("b.md", "true")
        machine.becomes(second, LeaseState.DONE)
        machine.fleet("drain", "--all")
        worker.communicate(timeout=LIMIT_SECONDS)

    assert worker.returncode == 0


class Drained(Worker):
    """A worker that does not begin, and counts how often it is drained."""

    drains = 0

    def drain(self) -> None:
        self.drains += 1


class Looks:
    """The steps that happen between two looks; after the last one, the worker has to be drained."""

    def __init__(self, *steps: object) -> None:
        self._steps = list(steps)

    def __call__(self, _seconds: float) -> None:
        step = self._steps.pop(0)
        if callable(step):
            step()

    @property
    def left(self) -> int:
        return len(self._steps)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("MARKS", "")
    return Bench(tmp_path)


def worker_of(bench: Bench) -> Drained:
    options = WorkerOptions(1, frozenset(), ("*",), frozenset(), str(bench.folder), 1.0)
    return Drained(bench.leases, options, bench.address)


def test_a_worker_ends_at_once_when_nothing_is_queued(bench: Bench) -> None:
    worker = worker_of(bench)

    wait_and_drain(worker, bench.leases, Looks(None))

    assert worker.drains == 1


def test_a_worker_waits_for_what_is_queued_or_held_and_ends_when_it_is_done(bench: Bench) -> None:
    worker = worker_of(bench)
    bench.add("true")
    held: list[Lease] = []
    looks = Looks(
        None,
        lambda: held.extend(bench.leases.claim(Claimer("there/1/a"), ["there/1/a/0"])),
        lambda: bench.leases.close(held[0].fence, WorkOutcome.DONE),
    )

    wait_and_drain(worker, bench.leases, looks)

    assert (worker.drains, looks.left) == (1, 0)


def test_a_worker_does_not_wait_for_a_run_that_it_has_refused(bench: Bench) -> None:
    worker = worker_of(bench)
    bench.add("true")
    [lease] = bench.leases.claim(Claimer(worker.id), [f"{worker.id}/0"])
    bench.leases.close(lease.fence, WorkOutcome.REFUSED, "not permitted here")

    wait_and_drain(worker, bench.leases, Looks(None))

    assert (worker.drains, bench.lease().is_queued) == (1, True)


def test_a_worker_does_not_wait_for_a_run_whose_labels_it_lacks(bench: Bench) -> None:
    worker = worker_of(bench)
    bench.add("true", labels=("gpu",))

    wait_and_drain(worker, bench.leases, Looks(None))

    assert worker.drains == 1


def test_a_worker_that_cannot_read_the_store_looks_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = worker_of(bench)
    active = bench.leases.active

    def fails() -> list[Lease]:
        monkeypatch.setattr(bench.leases, "active", active)
        raise StoreBusy("locked")

    monkeypatch.setattr(bench.leases, "active", fails)

    wait_and_drain(worker, bench.leases, looks := Looks(None, None))

    assert (worker.drains, looks.left) == (1, 0)


def test_a_worker_that_writes_the_report_of_its_last_run_ends_after_that(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is done by then, so nothing in the store tells of it."""
    worker, is_at_work = worker_of(bench), [True, False]
    monkeypatch.setattr(Worker, "is_at_work", property(lambda _: is_at_work.pop(0)))

    wait_and_drain(worker, bench.leases, looks := Looks(None, None))

    assert (worker.drains, looks.left) == (1, 0)


on_postgres = pytest.mark.parametrize(
    "operator", [pytest.param(postgres, marks=[needs_server, needs_dbos])], indirect=True
)
on_sqlite = pytest.mark.parametrize("operator", [sqlite], indirect=True)
ATTEMPTS = "SELECT workflow_uuid, status, executor_id FROM tildone_dbos.workflow_status ORDER BY 1"
IMPORTED = """
import json, sys
from tildone.cli import main

for verb in json.loads(sys.argv[1]):
    assert main(["fleet", *verb]) == 0, verb
    assert "dbos" not in sys.modules, verb
"""


@on_postgres
def test_a_fleet_on_postgresql_is_prepared_used_and_emptied(operator: Operator) -> None:
    """From nothing to a run that is done. The worker prints what it always does, and nothing of the engine's."""
    execute(operator.store_address, "DROP SCHEMA IF EXISTS tildone_dbos CASCADE")
    code, out, _ = operator.run("fleet", "up", "--check")
    assert (code, "no engine is chosen for the workers" in out) == (5, True)
    code, _, err = operator.run("fleet", "work")
    assert (code, "is not prepared for workers: tildone fleet up" in err) == (5, True)

    assert "the engine of the workers is dbos" in operator.run("fleet", "up")[1]
    assert "the engine of the workers is dbos" in operator.run("fleet", "up", "--check")[1]
    (operator.folder / "a.md").write_text("- [ ] one\n  $ test -e file\n", encoding="utf-8")
    run = operator.add("a.md", "--agent", "shell", "--repo", str(repository(operator.folder)))
    command = [sys.executable, "-m", "tildone", "fleet", "work", "--allow", "*"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as worker:
        try:
            until(lambda: [row["state"] for row in operator.json("ls", "--all")["runs"]] == ["done"])
        finally:
            worker.terminate()
            out, err = worker.communicate()

    assert (worker.returncode, out) == (0, "")
    assert [line for line in err.splitlines() if not line.startswith(("worker ", "taking ", f"run {run}"))] == []
    [(name, status, executor)] = execute(operator.store_address, ATTEMPTS)
    assert (name, status) == (f"{run}.0.1", "SUCCESS")
    assert executor != "local"
    verbs = (["ls"], ["show", run], ["answer"], ["add", operator.plan("b.md", "one")])
    assert subprocess.run([sys.executable, "-c", IMPORTED, json.dumps(verbs)], check=False).returncode == 0
    execute(operator.store_address, "UPDATE tildone.leases SET since = 0 WHERE state <> 'open'")
    assert "Removed 1 run" in operator.fleet("gc")
    assert execute(operator.store_address, ATTEMPTS) == []


@on_postgres
def test_tables_of_the_engine_that_are_missing_are_found(operator: Operator) -> None:
    execute(operator.store_address, "UPDATE tildone.fleet SET engine = 'dbos'")
    execute(operator.store_address, "DROP SCHEMA IF EXISTS tildone_dbos CASCADE")

    code, out, _ = operator.run("fleet", "up", "--check")

    assert (code, "the tables of the engine dbos are missing, or too old" in out) == (5, True)
    code, _, err = operator.run("fleet", "work")
    assert (code, "is not prepared for workers: tildone fleet up" in err) == (5, True)


@on_postgres
def test_without_the_package_the_table_is_the_engine(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    code, _, err = operator.run("fleet", "up")
    assert (code, "pip install 'tildone[fleet]'" in err) == (2, True)

    operator.configure('engine = "table"')

    assert "the engine of the workers is table" in operator.run("fleet", "up")[1]
    assert execute(operator.store_address, "SELECT engine FROM tildone.fleet") == [("table",)]


@on_sqlite
def test_a_file_needs_no_engine_but_its_own_table(operator: Operator) -> None:
    assert "the engine of the workers is table" in operator.run("fleet", "up")[1]
    operator.configure('engine = "dbos"')
    code, _, err = operator.run("fleet", "up")
    assert (code, "needs a PostgreSQL database" in err) == (2, True)
    operator.configure('engine = "other"')
    assert "engine must be table or dbos" in operator.run("fleet", "up")[2]
    assert not Path("dbos").exists()
