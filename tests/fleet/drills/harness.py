"""A fleet for a drill: runs, workers as processes, and what can be seen of them."""

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from tests.fleet.agents import is_running, state
from tests.fleet.drills.clock import CLOCK
from tests.fleet.drills.forms import Form
from tests.fleet.drills.marks import GATE, VARIABLE, Mark, read_marks, ticking
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
        self._open()
        self.configure(self.form.settings)

    def configure(self, settings: FleetSettings) -> None:
        """Set the times of the fleet."""
        self.leases.configure(change(settings, engine=self.ground.engine))

    @property
    def runs(self) -> list[str]:
        return [f"r{self.name}-{number}" for number in range(self.form.runs)]

    def add(self, tasks: int, more: str = "") -> None:
        """Queue the runs, each with a plan of so many tasks, or as many more."""
        plan = plan_of(*(f"task {task}" for task in range(1, tasks + 1)))
        runs = [f"{run}{more}" for run in self.runs]
        self.leases.add_all([(NewRun(run, f"plan of {run}", Work(agent="test")), [PlanChanged(plan)]) for run in runs])

    def start(self, slots: int, seconds: float, *, command: str = "", clock: float = 0.0, **setting: object) -> Process:
        """Start a worker whose agents take so many seconds for each task."""
        number = len(self.workers) + 1
        machine = {} if self.ground.is_one_machine else {"host": f"machine{number}"}
        home = self.folder / ("home" if self.ground.is_one_machine else f"home{number}")
        fields = {"store": self.ground.address, "home": str(home), **machine, **setting}
        whole = Setting(slots=slots, command=command or ticking(seconds), **fields)  # type: ignore[arg-type]  # as given
        environ = os.environ | {VARIABLE: str(self.folder / "marks"), "PYTHONPATH": ROOT, CLOCK: str(clock)}
        with open(self.folder / f"worker{number}.log", "wb") as log:
            words = [sys.executable, PROGRAM, whole.to_json()]
            # In a session of its own, so that a Ctrl-C at the drills lets those that run come to their end.
            self.workers.append(
                subprocess.Popen(
                    words, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            )
        return self.workers[-1]

    def start_two(self, seconds: float, *, clock: float = 0.0, **first: object) -> tuple[Process, Process]:
        """Start a worker that takes half of the runs, and one that takes the rest and has slots left for all.

        The clock is that of the second worker, the fields are those of the first. The second one is there when every
        run has begun a task.
        """
        half = self.form.runs // 2
        one = self.start(half, seconds, **first)  # type: ignore[arg-type]  # as given
        until(lambda: len(self.held_by(one)) == half)
        two = self.start(self.form.runs, seconds, clock=clock)
        self.wait_until_begun()
        return one, two

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

    def have_heirs(self, leases: list[Lease]) -> bool:
        """Return whether other agents have begun what agents under these leases had begun."""
        newest = {mark.run: mark.epoch for mark in self.marks("begin")}
        return all(newest.get(lease.run, 0) > lease.epoch for lease in leases)

    def wait_until_ended(self) -> None:
        """Wait until no run is living, for a limited time."""
        self.open_gate()
        with contextlib.suppress(AssertionError):
            until(lambda: not any(lease.state.is_active for lease in self.all_leases()))

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
            tree = tree_of(worker)
            self.kill(worker)
            signal_all(tree, signal.SIGKILL)
        self.store.close()


def tree_of(worker: Process) -> list[int]:
    """Return a worker, its supervisors, their agents and what these have started."""
    return [worker.pid, *descendants(worker.pid)]


def suspend(worker: Process) -> list[int]:
    """Stop a worker and everything below it, as if its machine slept, and return all process ids."""

    def stopped() -> bool:
        awake = [pid for pid in tree_of(worker) if is_running(pid) and state(pid) != "T"]
        signal_all(awake, signal.SIGSTOP)
        return not awake

    until(stopped)
    return tree_of(worker)


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
