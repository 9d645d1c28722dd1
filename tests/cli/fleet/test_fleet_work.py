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

from tests.cli.fleet.conftest import postgres, sqlite
from tests.fleet.agents import processes_of
from tests.stores.postgres import needs_server
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.app.opening import run_leases, store_at
from tildone.log.fleet.lease import Lease, LeaseState
from tildone.value import replace

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
