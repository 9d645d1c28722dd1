"""Workers in threads, on a SQLite file, whose agents are shell commands, for tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TypeVar
from uuid import uuid4

from tests.fleet.drills.worker_program import driver
from tests.plans import plan_of
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.app.opening import run_leases, store_at
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch
from tildone.fleet.running import WorkerOptions
from tildone.fleet.worker import Worker
from tildone.log.settings import FleetSettings
from tildone.plan.events import PlanChanged, latest_state
from tildone.plan.model import Plan
from tildone.plan.runs import Lease, LeaseState, NewRun, Work

F = TypeVar("F")
SETTINGS = FleetSettings(lease=30_000, heartbeat=500, margin=1000, reaper=200, renewal=5000)


def shell(context: AgentContext) -> AgentLaunch:
    """An agent that runs the name of its model as a shell command, and does not look at its plan."""
    return AgentLaunch(("sh", "-c", context.model), context.environ)


def worker_of_tasks(context: AgentContext) -> AgentLaunch:
    """An agent that runs the name of its model as a shell command for each task."""
    return driver(context.model)(context)


AGENTS = {"sh": shell, "tasks": worker_of_tasks}


class Bench:
    """A store with leases in a folder, and workers on it."""

    def __init__(self, folder: Path, address: str = "") -> None:
        self.folder, self.address = folder, address or str(folder / "plans.db")
        # Processes are found by the name of their run, also those of tests that run at the same time.
        self.run = f"r{uuid4().hex}"
        os.environ["MARKS"] = str(folder / "marks")
        self.store = store_at(self.address)
        self.leases = run_leases(self.store)
        self.leases.configure(SETTINGS)

    def add(self, command: str, agent: str = "sh", tasks: int = 2, **work: object) -> None:
        """Queue the run, whose agent runs a shell command."""
        plan = plan_of(*(f"task {number}" for number in range(1, tasks + 1)))
        asked = Work(agent=agent, model=command, **work)  # type: ignore[arg-type]  # as given
        self.leases.add(NewRun(self.run, "s", asked), [PlanChanged(plan)])

    def lease(self) -> Lease:
        return self.leases.look(self.run)[0].lease

    def plan(self) -> Plan:
        return latest_state(self.store.history("s")).plan

    def facts(self, kind: type[F]) -> list[F]:
        return [event.fact for event in self.store.events("s") if isinstance(event.fact, kind)]

    def becomes(self, *states: LeaseState) -> Lease:
        """Wait until the run has one of these states, and return its lease."""
        until(lambda: self.lease().state in states)
        return self.lease()

    def is_renewed(self) -> None:
        """Wait until the worker has renewed its lease."""
        before = self.lease().until
        until(lambda: self.lease().until > before)

    @contextmanager
    def worker(self, home: str = "home", agents: tuple[str, ...] = tuple(AGENTS), **other: object) -> Iterator[Worker]:
        """A worker that is stopped at the end."""
        settings = {"slots": 1, "labels": frozenset(), "allow": ("*",), "grace": 0.2, **other}
        options = WorkerOptions(agents=frozenset(agents), home=str(self.folder / home), **settings)  # type: ignore[arg-type]  # as given
        worker = Worker(self.leases, options, self.address, agents=AGENTS)
        thread = Thread(target=worker.work)
        thread.start()
        try:
            yield worker
        finally:
            worker.stop()
            thread.join(LIMIT_SECONDS)
            assert not thread.is_alive()
