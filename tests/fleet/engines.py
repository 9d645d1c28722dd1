"""Fleets with each engine, for tests: a store, workers as programs, and what can go wrong with an engine."""

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Thread
from time import time
from typing import Any

from tests.plans import plan_of
from tests.stores.postgres import truncate
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.app.opening import run_leases, store_at
from tildone.base import replace
from tildone.fleet.engine import DBOS
from tildone.fleet.engines import prepare_engine
from tildone.log.settings import FleetSettings
from tildone.plan.events import PlanChanged
from tildone.plan.runs import Lease, NewRun, Work
from tildone.stores import parse_address
from tildone.stores.leasing import RunLeases

ROOT = Path(__file__).resolve().parents[2]
LONG = FleetSettings(lease=600_000, heartbeat=1_000, margin=1_000, reaper=200, renewal=5_000)
SHORT = FleetSettings(lease=8_000, heartbeat=500, margin=500, reaper=200, renewal=5_000)
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
            self.client.resume_workflow(f"{run}.0.{attempt}", queue_name=self.workers[0].name)

    def wipe(self) -> None:
        """Empty the tables of the engine."""
        if self.engine == DBOS:
            tables = "workflow_status, workflow_input, workflow_output, operation_outputs, queues, application_versions"
            truncate(self.address, ", ".join(f"tildone_dbos.{name}" for name in tables.split(", ")))

    def leave(self, lease: Lease, queue: str, version: str) -> None:
        """Leave the attempt of a lease in a queue, as a worker of another version of tildone has sent it."""
        self._enqueue(lease, lease.attempt, f"{lease.run}.{lease.hand}.{lease.attempt}", queue, version)

    def attempts(self) -> dict[str, str]:
        """Return the states of the attempts that DBOS has stored, by name."""
        return {row.workflow_id: row.status for row in self.client.list_workflows()}

    def settled(self) -> bool:
        """Return whether the engine has begun, or refused, all that it was given."""
        return self.engine != DBOS or not self.client.list_workflows(status="ENQUEUED", limit=1)

    def _enqueue(self, lease: Lease, attempt: int, name: str, queue: str = "", version: str | None = None) -> None:
        if self.engine == DBOS:
            options = {"workflow_name": "attempt", "queue_name": queue or self.workers[0].name, "workflow_id": name}
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


@contextmanager
def engine_fleet(engine: str, address: str) -> Iterator[EngineFleet]:
    """Prepare a store for an engine."""
    store = store_at(address)
    prepare_engine(engine, parse_address(address))
    fleet = EngineFleet(engine, address, run_leases(store))
    configure(fleet, LONG)
    yield fleet
    if "tables" in vars(fleet):
        fleet.tables.close()
    store.close()


def configure(fleet: EngineFleet, settings: FleetSettings) -> None:
    """Set the times of a fleet."""
    fleet.leases.configure(replace(settings, engine=fleet.engine))
