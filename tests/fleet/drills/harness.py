"""A fleet for a drill: runs, workers as processes, and what can be seen of them."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from tests.fleet.agents import is_running, processes_of, state
from tests.fleet.drills.marks import CLOCK, GATE, VARIABLE, Mark, read_marks, ticking
from tests.fleet.drills.places import Ground
from tests.fleet.drills.worker_program import ROOT, Setting
from tests.plans import plan_of
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.base import replace as change
from tildone.fleet.process_tree import boot_seconds, descendants
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import PlanChanged
from tildone.plan.runs import Lease, NewRun, Work
from tildone.stores.leasing import RunLeases

PROGRAM = str(Path(__file__).with_name("worker_program.py"))
Process = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Form:
    """The times of a fleet, how many runs and tasks there are, and how long a task takes, in seconds."""

    settings: FleetSettings
    runs: int
    tasks: int
    quick: float = 1.0

    @property
    def lease(self) -> float:
        return self.settings.lease / 1000

    @property
    def slow(self) -> float:
        """The length of a task in which its worker is stopped: its lease ends in the middle."""
        return self.lease + 1


SHORT = Form(FleetSettings(lease=3000, heartbeat=500, margin=1300, reaper=300, renewal=600), 2, 2)
LONG = Form(FleetSettings(lease=10_000, heartbeat=3300, margin=1500, reaper=1000, renewal=1500), 6, 4)
"""The form of every run of the tests, and that of `do.py drills`."""


@dataclass
class Drill:
    """A fleet in a folder, on the store of a place."""

    folder: Path
    form: Form
    ground: Ground
    store: Store = field(init=False)
    leases: RunLeases = field(init=False)
    workers: list[Process] = field(default_factory=list)
    fault_at: float = float("inf")
    times: list[float] = field(default_factory=list)
    """What a drill measures itself instead of takeovers, in seconds."""

    def __post_init__(self) -> None:
        # Processes are found by the names of their runs, also those of drills that run at the same time.
        self.name = uuid4().hex[:12]
        self.runs = [f"r{self.name}-{number}" for number in range(self.form.runs)]
        self._open()
        self.configure()

    def configure(self, **times: int) -> None:
        """Set the times of the fleet, some of them to others than those of the form."""
        self.leases.configure(change(self.form.settings, engine=self.ground.engine, **times))

    def add(self, tasks: int, more: str = "") -> None:
        """Queue the runs, each with a plan of so many tasks, or as many more."""
        plan = plan_of(*(f"task {task}" for task in range(1, tasks + 1)))
        runs = [f"{run}{more}" for run in self.runs]
        self.leases.add_all([(NewRun(run, f"plan of {run}", Work(agent="test")), [PlanChanged(plan)]) for run in runs])

    def start(self, slots: int, seconds: float = 0.0, *, clock: float = 0.0, **setting: object) -> Process:
        """Start a worker whose agents take so many seconds for each task, by default as many as a quick one."""
        number = len(self.workers) + 1
        machine = {} if self.ground.is_one_machine else {"host": f"machine{number}"}
        home = self.folder / ("home" if self.ground.is_one_machine else f"home{number}")
        command = {"command": ticking(seconds or self.form.quick)}
        fields = command | {"store": self.ground.address, "home": str(home), **machine, **setting}
        whole = Setting(slots=slots, **fields)  # type: ignore[arg-type]  # as given
        environ = os.environ | {VARIABLE: str(self.folder / "marks"), "PYTHONPATH": ROOT, CLOCK: str(clock)}
        words, quiet = [sys.executable, PROGRAM, whole.to_json()], subprocess.DEVNULL
        with open(self.folder / f"worker{number}.log", "wb") as log:
            # In a session of its own, so that a Ctrl-C at the drills lets those that run come to their end.
            worker = subprocess.Popen(words, env=environ, stdin=quiet, stdout=log, stderr=log, start_new_session=True)
        self.workers.append(worker)
        return worker

    def start_alone(self, **setting: object) -> Process:
        """Queue the runs, and start a worker that begins a task of each."""
        self.add(self.form.tasks)
        worker = self.start(self.form.runs, **setting)  # type: ignore[arg-type]  # as given
        self.wait_until_begun()
        return worker

    def start_two(self, *, is_slow: bool = False, clock: float = 0.0, **first: object) -> tuple[Process, list[Lease]]:
        """Queue the runs. A worker takes half of them, and one takes the rest and has slots left for all.

        The clock is that of the second worker, the fields are those of the first. The second one is there when every
        run has begun a task. The fault happens then; return the first worker, and the leases that it has.
        """
        half, seconds = self.form.runs // 2, self.form.slow if is_slow else self.form.quick
        self.add(2 if is_slow else self.form.tasks)
        # One after the other: if both began at once, the second could be faster and take all runs.
        one = self.start(half, seconds, **first)  # type: ignore[arg-type]  # as given
        until(lambda: len(self.held_by(one)) == half)
        self.start(self.form.runs, seconds, clock=clock)
        self.wait_until_begun()
        held = self.held_by(one)
        self.fault()
        return one, held

    def wait_until_begun(self) -> None:
        """Wait until all runs have begun a task. The commands wait for the gate."""
        until(lambda: {mark.run for mark in self.marks("begin")} >= set(self.runs))

    def open_gate(self) -> None:
        """Let the commands go on: they wait for it after they have begun."""
        (self.folder / f"marks{GATE}").touch()

    def fault(self) -> None:
        """Note that the fault happens now, and let the commands go on."""
        self.open_gate()
        self.fault_at = boot_seconds()

    @property
    def elapsed(self) -> float:
        """The seconds since the fault."""
        return boot_seconds() - self.fault_at

    def kill(self, worker: Process) -> None:
        """Kill a worker, and let the system forget its process id."""
        worker.kill()
        worker.wait()

    def lease(self, run: str) -> Lease:
        return self.leases.look(run)[0].lease

    def all_leases(self) -> list[Lease]:
        return [view.lease for view in self.leases.look()]

    def held_by(self, worker: Process) -> list[Lease]:
        """Return the leases that a worker holds."""
        return [lease for lease in self.all_leases() if lease.owner.split("/")[1:2] == [str(worker.pid)]]

    def marks(self, *what: str) -> list[Mark]:
        """Return the marks of the agents, or those of a kind."""
        return [mark for mark in read_marks(self.folder / "marks") if not what or mark.what in what]

    def have_successors(self, leases: list[Lease]) -> bool:
        """Return whether other agents have begun what agents under these leases had begun."""
        newest = {mark.run: mark.epoch for mark in self.marks("begin")}
        return all(newest.get(lease.run, 0) > lease.epoch for lease in leases)

    def wait_until_ended(self, lost: list[Lease] | None = None) -> None:
        """Wait until no run is living, for a limited time, and no process of leases that were lost is left."""
        self.open_gate()
        with contextlib.suppress(AssertionError):
            until(lambda: not any(lease.state.is_active for lease in self.all_leases()))
        until(lambda: not any(processes_of(str(lease.fence)) for lease in lost or []))

    def move_to(self, address: str) -> None:
        """Use another address of the store from now on."""
        self.store.close()
        self.ground = replace(self.ground, address=address)
        self._open()

    def _open(self) -> None:
        self.store = store_at(self.ground.address)
        self.leases = run_leases(self.store)

    def close(self) -> None:
        for worker in self.workers:
            kill_tree(worker)
        self.store.close()


def tree_of(worker: Process) -> list[int]:
    """Return a worker, its supervisors, their agents and what these have started."""
    return [worker.pid, *descendants(worker.pid)]


def kill_tree(worker: Process) -> None:
    tree = tree_of(worker)
    worker.kill()
    worker.wait()
    signal_all(tree, signal.SIGKILL)


def suspend(processes: Callable[[], list[int]]) -> list[int]:
    """Stop processes, also those that they start meanwhile, and return all process ids."""

    def stopped() -> bool:
        awake = [pid for pid in processes() if is_running(pid) and state(pid) != "T"]
        signal_all(awake, signal.SIGSTOP)
        return not awake

    until(stopped)
    return processes()


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
