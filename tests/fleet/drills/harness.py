"""A fleet on one SQLite file for drills: runs, workers as processes, and what became of every task."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.fleet.agents import eventually
from tests.plans import plan_of
from tildone.core.plan import Plan, Status
from tildone.log.events import PlanChanged
from tildone.log.fleet.facts import RunLost, RunReleased, RunTaken
from tildone.log.fleet.lease import Lease, LeaseState, NewRun, Work
from tildone.log.fleet.port import RunLeases
from tildone.log.fleet.settings import FleetSettings
from tildone.log.store import Store
from tildone.wiring import run_leases, store_at

PROGRAM = str(Path(__file__).with_name("worker_program.py"))
SHORT = FleetSettings(lease=3000, heartbeat=600, margin=500, reaper=300, renewal=600)


@dataclass
class Drill:
    """A fleet in a folder. `command` is what the agents run for each task."""

    folder: Path
    command: str
    store: Store = field(init=False)
    leases: RunLeases = field(init=False)
    workers: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = store_at(str(self.folder / "plans.db"))
        self.leases = run_leases(self.store)
        self.leases.configure(SHORT)

    def add(self, runs: int, tasks: int) -> None:
        """Queue runs, each with a plan of so many tasks."""
        for number in range(runs):
            plan = plan_of(*(f"task {task}" for task in range(1, tasks + 1)))
            self.leases.add(NewRun(f"r{number}", f"plan {number}", Work(agent="test")), [PlanChanged(plan)])

    def start(self, slots: int) -> "subprocess.Popen[bytes]":
        """Start a worker."""
        environ = os.environ | {"MARKS": str(self.folder / "marks")}
        home = self.folder / "home"
        words = [sys.executable, PROGRAM, str(self.folder / "plans.db"), str(home), str(slots), self.command]
        with open(self.folder / "workers.log", "ab") as log:
            self.workers.append(subprocess.Popen(words, env=environ, stderr=log))
        return self.workers[-1]

    def kill(self, worker: "subprocess.Popen[bytes]") -> None:
        """Kill a worker, and let the system forget its process id."""
        worker.kill()
        worker.wait()

    def lease(self, run: str = "r0") -> Lease:
        return self.leases.look(run)[0].lease

    def states(self) -> Counter[LeaseState]:
        return Counter(view.lease.state for view in self.leases.look())

    def wait_until_ended(self) -> None:
        eventually(lambda: not any(state.is_living for state in self.states()))

    def marks(self, what: str) -> list[tuple[str, ...]]:
        """The marks of agents at the beginning or the end of commands: run, task, epoch."""
        path = self.folder / "marks"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [tuple(line.split()[1:]) for line in lines if line.startswith(f"{what} ")]

    def held_by(self, worker: "subprocess.Popen[bytes]") -> list[Lease]:
        """The leases that a worker holds."""
        leases = [view.lease for view in self.leases.look()]
        return [lease for lease in leases if lease.owner.split("/")[1:2] == [str(worker.pid)]]

    def close(self) -> None:
        for worker in self.workers:
            self.kill(worker)
        self.store.close()


@dataclass(frozen=True)
class Outcome:
    """What became of the tasks: lost, completed twice in the plan, stuck; commands that were begun and ended twice."""

    lost: int
    twice: int
    stuck: int
    begun_twice: int
    ended_twice: int
    takeovers: tuple[float, ...]

    def __str__(self) -> str:
        times = sorted(self.takeovers)
        shown = f"{len(times)}: {times[0]:.1f} to {times[-1]:.1f} s" if times else "none"
        return (
            f"lost {self.lost}, twice in the plan {self.twice}, stuck {self.stuck}, "
            f"begun twice {self.begun_twice}, ended twice {self.ended_twice}, takeovers {shown}"
        )


def outcome_of(drill: Drill) -> Outcome:
    """Count what became of the tasks of all runs that were not cancelled."""
    views = [view.lease for view in drill.leases.look() if view.lease.state is not LeaseState.CANCELLED]
    plans = [_plans(drill, lease) for lease in views]
    completed = [_completions(each) for each in plans]
    return Outcome(
        lost=sum(task.status is not Status.COMPLETED for each in plans for task in each[-1].tasks),
        twice=sum(count > 1 for each in completed for count in each.values()),
        stuck=sum(lease.state is not LeaseState.DONE for lease in views),
        begun_twice=_repeated(drill.marks("begin")),
        ended_twice=_repeated(drill.marks("end")),
        takeovers=tuple(time for lease in views for time in _takeovers(drill, lease)),
    )


def _plans(drill: Drill, lease: Lease) -> list[Plan]:
    return [event.fact.plan for event in drill.store.events(lease.session) if isinstance(event.fact, PlanChanged)]


def _completions(plans: list[Plan]) -> Counter[int]:
    """How often each task was completed."""
    found: Counter[int] = Counter()
    done: set[int] = set()
    for plan in plans:
        now = {task.number for task in plan.tasks if task.status is Status.COMPLETED}
        found.update(now - done)
        done = now
    return found


def _repeated(marks: list[tuple[str, ...]]) -> int:
    return sum(count > 1 for count in Counter(mark[:2] for mark in marks).values())


def _takeovers(drill: Drill, lease: Lease) -> list[float]:
    """How long a run that was lost or given back waited for its next worker, in seconds."""
    since, found = 0, []
    for event in drill.store.events(lease.session):
        if isinstance(event.fact, RunLost | RunReleased):
            since = event.at
        elif isinstance(event.fact, RunTaken) and since:
            found.append((event.at - since) / 1000)
            since = 0
    return found
