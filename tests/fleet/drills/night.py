"""`python -m tests.fleet.drills night`: plans that run overnight while workers are killed, and what a person finds.

Of 100 plans, five fail at a check, five wait for a person to approve a command, and in two, two hands write the same
file. A worker is killed every minute, in turns alone and with all that it has started, and another one begins. In the
end, `tildone fleet results` has to name these twelve runs as those that need a person, and all others as done.
"""

import argparse
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from tests.cli.person import Person
from tests.fleet.drills.harness import LONG, Process, kill_tree
from tests.fleet.drills.marks import read_words
from tests.fleet.drills.places import Ground, Grounds, Place
from tests.fleet.repositories import project
from tests.suite.forking import PROGRAM
from tests.suite.waiting import LIMIT_SECONDS
from tildone.app.opening import run_leases, store_at
from tildone.app.run_results import GROUPS
from tildone.base import replace
from tildone.plan.runs import LeaseState

TASKS, SLOTS = 3, 2
LOOK_SECONDS = 1.0
QUIET_SECONDS = 5 * LIMIT_SECONDS
"""For how long nothing may happen: on a loaded machine, agents take minutes to start."""

SCRIPTS = {
    "work": "sleep {seconds}; echo $1 $2 >> '{marks}'; : > made-$2",
    "deploy": "echo $1 $2 >> '{marks}'",
    "fail": "echo this check fails, whoever runs it; exit 1",
    # Each writes the file when the other has begun, so neither has what the other has written.
    "both": ": > '{marks}'.$1.$2; until [ -e '{marks}'.$1.$((3 - $2)) ]; do sleep 0.1; done; echo $2 > shared",
}
"""The commands of tasks, by name. They are given the number of the plan and that of the task."""


class Fate(Enum):
    """What becomes of a run: the state that its results have to have."""

    FAILED = "failed"
    WAITING = "waiting"
    CONFLICT = "conflict"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class NightForm:
    """How many plans and workers there are, how many runs do not come to their end by themselves, and the seconds."""

    plans: int = 100
    workers: int = 4
    failures: int = 5
    waits: int = 5
    conflicts: int = 2
    kill_every: float = 60.0
    task: float = 15.0

    def fates(self) -> list[Fate]:
        """Return what becomes of each plan: those in conflict begin at once, the others are spread over the night."""
        needing = [Fate.WAITING] * self.waits + [Fate.FAILED] * self.failures
        fates = [Fate.DONE] * (self.plans - self.conflicts)
        for number, fate in enumerate(needing):
            fates[number * len(fates) // len(needing)] = fate
        return [Fate.CONFLICT] * self.conflicts + fates


def plan_text(folder: Path, number: int, fate: Fate) -> str:
    """Return a plan in Markdown whose commands make it come to that."""
    if fate is Fate.CONFLICT:
        return "".join(f"- [ ] Write the file: `{folder / 'both'} {number} {task}`\n" for task in (1, 2))
    steps = [f"Step {task}: `{folder / 'work'} {number} {task}`" for task in range(1, TASKS + 1)]
    if fate is Fate.WAITING:
        steps[1] = f"Deploy: `{folder / 'deploy'} {number} 2`"
    elif fate is Fate.FAILED:
        steps[1] = f"Check\n  $ {folder / 'fail'} {number} 2"
    return "".join(f"- [ ] {step}\n" for step in steps)


def wrong_results(expected: Mapping[str, Fate], results: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return how the results of `tildone fleet results --json` differ from what has to become of the runs."""
    needs = {run: fate.value for run, fate in expected.items() if fate is not Fate.DONE}
    wanted = {"needs": needs, "done": dict.fromkeys(expected.keys() - needs.keys(), Fate.DONE.value)}
    found = {group: {each["run"]: each["state"] for each in members} for group, members in results.items()}
    wrong = []
    for group in wanted.keys() | found.keys():
        ours, theirs = wanted.get(group, {}), found.get(group, {})
        wrong += [f"{group}: {run} is missing, which is {state}" for run, state in ours.items() if run not in theirs]
        wrong += [f"{group}: {run} is there, and {state}" for run, state in theirs.items() if run not in ours]
        wrong += [
            f"{group}: {run} is {theirs[run]}, not {ours[run]}"
            for run in ours
            if theirs.get(run, ours[run]) != ours[run]
        ]
    wrong += [f"{each['run']} needs a person, but no reason is told" for each in results["needs"] if not each["why"]]
    return sorted(wrong)


@dataclass
class Night:
    """A fleet in a folder, on the store of a place. `runs` are the names of its runs, each with what becomes of it."""

    folder: Path
    ground: Ground
    form: NightForm
    runs: dict[str, Fate] = field(default_factory=dict)
    workers: list[Process] = field(default_factory=list)
    kills: int = 0
    seconds: float = 0.0
    results: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """What went wrong."""

    def __post_init__(self) -> None:
        self.store = store_at(self.ground.address)
        self.leases = run_leases(self.store)
        for name in ("plans", "home"):
            (self.folder / name).mkdir()
        self.person = Person(self.folder / "plans", self.folder / "home", {"TILDONE_STORE": self.ground.address})
        for name, script in SCRIPTS.items():
            path = self.folder / name
            text = script.format(seconds=self.form.task, marks=self.folder / "marks")
            path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            path.chmod(0o755)

    def __str__(self) -> str:
        counts = ", ".join(f"{len(members)} {group}" for group, members in self.results.items())
        return f"{len(self.runs)} plans in {self.seconds:.0f} s, {self.kills} workers killed: {counts}" + "".join(
            f"\n  {fault}" for fault in self.faults
        )

    def work(self) -> None:
        """Queue the plans, kill workers until no run is left that goes on by itself, and look at the results."""
        with ExitStack() as stack:
            stack.callback(self._end)
            self._queue()
            began = monotonic()
            for _ in range(self.form.workers):
                self._start()
            self._wait()
            self.seconds = monotonic() - began
            for worker in self.workers:
                worker.send_signal(signal.SIGTERM)
            assert [worker.wait(LIMIT_SECONDS) for worker in self.workers] == [0] * self.form.workers
        self.faults += wrong_results(self.runs, self.results)
        self.faults += self._not_worked()

    def _end(self) -> None:
        for worker in self.workers:
            kill_tree(worker)
        self.store.close()

    def _queue(self) -> None:
        self._tildone("up")
        self.leases.configure(replace(LONG.settings, engine=self.ground.engine))
        for number, fate in enumerate(self.form.fates()):
            name = f"{number}.md"
            (self.person.folder / name).write_text(plan_text(self.folder, number, fate), encoding="utf-8")
            conflict = fate is Fate.CONFLICT
            more = ("--hands", "2", "--repo", str(project(self.folder, f"repository{number}"))) if conflict else ()
            [added] = self._tildone("add", name, *more)["runs"]
            self.runs[added["run"]] = fate

    def _start(self) -> None:
        permitted = [word for name in SCRIPTS if name != "deploy" for word in ("--allow", f"{self.folder / name} *")]
        words = [str(PROGRAM), "fleet", "work", *permitted, "--ask", "*", "--slots", str(SLOTS), "--grace", "1"]
        words += ["--retries", "1"]
        number, environ = len(self.workers) + self.kills, self.person.environment({})
        with open(self.folder / f"worker{number}.log", "wb") as log:
            quiet = subprocess.DEVNULL
            worker = subprocess.Popen(
                words, cwd=self.folder, env=environ, stdin=quiet, stderr=log, start_new_session=True
            )
        self.workers.append(worker)

    def _wait(self) -> None:
        """Kill a worker from time to time until no run goes on by itself, and read the results."""
        killed = changed = monotonic()
        before = (0, 0)
        # A run that has asked and was lost goes on: it begins anew, and waits then.
        while going_on := sum(lease.state is LeaseState.OPEN for lease in self.leases.active()):
            now = going_on, len(read_words(self.folder / "marks"))
            before, changed = now, (changed if now == before else monotonic())
            assert monotonic() < changed + QUIET_SECONDS, f"nothing happens: {going_on} runs are left"
            if monotonic() >= killed + self.form.kill_every and self._kill():
                killed = monotonic()
            sleep(LOOK_SECONDS)
        found = self._tildone("results")
        self.results = {group: found[group] for group in GROUPS}

    def _kill(self) -> bool:
        """Kill the worker that was started first of those that may be killed, and start another one."""
        # A hand that begins anew, on what the other one has written, is not in conflict with it.
        leases = [view.lease for view in self.leases.look()]
        spared = {
            lease.owner.split("/")[1] for lease in leases if lease.owner and self.runs[lease.run] is Fate.CONFLICT
        }
        worker = next((each for each in self.workers if str(each.pid) not in spared), None)
        if worker is None:
            return False
        self.workers.remove(worker)
        if self.kills % 2:
            kill_tree(worker)
        else:
            # Its supervisors end its agents, and give its leases back.
            worker.kill()
            worker.wait()
        self.kills += 1
        self._start()
        return True

    def _not_worked(self) -> list[str]:
        """Return the tasks of the runs that are done whose commands have not ended."""
        ended = {tuple(words) for words in read_words(self.folder / "marks")}
        done = [number for number, fate in enumerate(self.form.fates()) if fate is Fate.DONE]
        tasks = [(str(number), str(task)) for number in done for task in range(1, TASKS + 1)]
        return [
            f"task {task} of plan {number} was not worked on" for number, task in tasks if (number, task) not in ended
        ]

    def _tildone(self, *words: str) -> dict[str, Any]:
        """Run a command of the person, and return what it prints as JSON."""
        done = self.person.run("fleet", *words, "--json")
        assert done.code == 0, (words, done)
        return dict(done.json)


def run_night(folder: Path, ground: Ground, form: NightForm) -> Night:
    """Run a night, and return what came of it."""
    night = Night(folder, ground, form)
    night.work()
    return night


def main(argv: Sequence[str]) -> int:
    """Run a night in each place, print what came of it, and return the exit code."""
    parser = argparse.ArgumentParser(prog="do.py drills night", description=__doc__)
    form = NightForm()
    for name, what in (("plans", "plans of three tasks"), ("workers", "workers with two slots each")):
        parser.add_argument(f"--{name}", type=int, default=getattr(form, name), metavar="N", help=f"how many {what}")
    for name in ("failures", "waits", "conflicts"):
        parser.add_argument(f"--{name}", type=int, default=getattr(form, name), metavar="N", help=f"how many {name}")
    parser.add_argument("--kill-every", type=float, default=form.kill_every, metavar="S", help="seconds between kills")
    parser.add_argument("--task", type=float, default=form.task, metavar="S", help="the seconds that a task takes")
    parser.add_argument("--place", action="append", choices=[place.value for place in Place], help="where")
    asked, code = vars(parser.parse_args(argv)), 0
    places = asked.pop("place") or (Place.SQLITE, Place.DBOS)
    with Grounds() as grounds:
        for place in map(Place, places):
            with tempfile.TemporaryDirectory(prefix="tildone-night-", ignore_cleanup_errors=True) as name:
                folder = Path(name)
                with grounds.ground(place, folder, own_server=False) as ground:
                    night = run_night(folder, ground, NightForm(**asked))
            print(f"{place.value}: {night}", flush=True)
            code = code or int(bool(night.faults))
    return code
