"""Workers in threads or as processes, whose agents are shell commands, for tests."""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TypeVar
from uuid import uuid4

from tests.fleet.drills.outcome import completions
from tests.fleet.drills.worker_program import driver
from tests.fleet.repositories import project
from tests.plans import plan_of
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS, until
from tildone.app.opening import run_leases, store_at
from tildone.base import replace
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch
from tildone.fleet.results import WorkerOptions
from tildone.fleet.worker import Worker
from tildone.fleet.workspaces import lost_tasks
from tildone.log.settings import FleetSettings
from tildone.plan.events import PlanChanged, latest_state
from tildone.plan.model import Check, Plan, Task
from tildone.plan.runs import Lease, LeaseState, NewRun, Work

F = TypeVar("F")
SETTINGS = FleetSettings(lease=30_000, heartbeat=500, margin=1000, reaper=200, renewal=5000)


def command(context: AgentContext) -> AgentLaunch:
    """An agent that runs the name of its model as a shell command, and does not look at its plan."""
    return AgentLaunch(("sh", "-c", context.model), context.environ)


def worker_of_tasks(context: AgentContext) -> AgentLaunch:
    """An agent that runs the name of its model as a shell command for each task."""
    return driver(context.model)(context)


AGENTS = {"sh": command, "tasks": worker_of_tasks}


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


class Crew(Bench):
    """Workers as processes, each with one slot and a home of its own."""

    def __init__(self, folder: Path, address: str) -> None:
        super().__init__(folder, address)
        self.leases.configure(replace(SETTINGS, engine="table"))
        self.repo: Path | str = project(folder)
        self.processes: list[subprocess.Popen[bytes]] = []

    def add_plan(self, plan: Plan, hands: int) -> None:
        work = Work(agent="shell", repo=str(self.repo))
        self.leases.add(NewRun(self.run, "s", work, hands), [PlanChanged(plan)])

    def start(self) -> None:
        home = self.folder / f"home{len(self.processes)}"
        own = {"HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        words = [str(PROGRAM), "fleet", "work", "--allow", "*", "--grace", "1"]
        with open(self.folder / "workers.log", "ab") as log:
            environ = os.environ | own | {"TILDONE_STORE": self.address}
            self.processes.append(subprocess.Popen(words, env=environ, stderr=log, cwd=self.folder))

    def worker_of(self, task: int) -> "subprocess.Popen[bytes] | None":
        """The worker whose agent has claimed a task."""
        held = {f"{lease.run}/{lease.hand}": lease.owner.split("/")[1] for lease in self.hands() if lease.owner}
        claims = [claim for claim in self.store.records.claims("s") if claim.task == task and claim.is_held]
        pids = [held.get(claim.holder.lease) for claim in claims]
        return next((each for each in self.processes if str(each.pid) in pids), None)

    def holds(self, worker: "subprocess.Popen[bytes]") -> bool:
        """Whether a worker holds a lease."""
        return any(lease.owner.split("/")[1] == str(worker.pid) for lease in self.hands() if lease.owner)

    def hands(self) -> list[Lease]:
        return [view.lease for view in self.leases.look(self.run)]

    def is_all_kept(self) -> bool:
        """Whether the files of all tasks that are done were kept."""
        events, plan = list(self.store.events("s")), self.plan()
        return not any(lost_tasks(events, lease, plan, len(self.hands())) for lease in self.hands())

    def completions(self) -> Counter[int]:
        """How often each task was completed in the plan."""
        return completions([fact.plan for fact in self.facts(PlanChanged)])

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.store.close()


def said(text: str) -> list[str]:
    """Return the lines of a worker without the times in front."""
    lines = text.splitlines()
    assert all(re.match("[0-9]{2}:[0-9]{2}:[0-9]{2} ", line) for line in lines), lines
    return [line.partition(" ")[2] for line in lines]


def shell(text: str, script: str, after: tuple[int, ...] = ()) -> Task:
    return replace(Task(text, check=Check(("sh", "-c", script))), after=after)
