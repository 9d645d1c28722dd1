"""The drill of many hands: eight agents in eight processes share one plan, while some are killed and others stopped.

Nothing is bound by time, except that the long form kills an agent every second: the next step of the drill follows what
the agents have done, however long that takes.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.stores.many_hands.agent import BOOK, SESSION
from tests.stores.many_hands.audit import Line, audit, read_book
from tests.suite.waiting import until
from tildone.app.opening import store_at
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.model import Plan, Status, Task, flat

ROOT = Path(__file__).resolve().parents[3]
AGENTS, STOPPED = 8, 2


@dataclass(frozen=True, slots=True)
class Form:
    """How much is tried. An agent is killed after so many more tasks are done, and not before so many seconds."""

    tasks: int
    claim_seconds: int
    tasks_between_kills: int
    seconds_between_kills: float = 0


SHORT = Form(tasks=40, claim_seconds=60, tasks_between_kills=8)
LONG = Form(tasks=200, claim_seconds=2, tasks_between_kills=AGENTS, seconds_between_kills=1)


def planned(tasks: int) -> Plan:
    """Return a plan in which every third task waits for two before it, and every fourth shares files with others."""
    planned = []
    for number in range(1, tasks + 1):
        after = (number - 2, number - 1) if number % 3 == 0 else ()
        touches = (f"src/part{number % 5}/*",) if number % 4 == 0 else ()
        planned.append(Task(f"task {number}", number=number, after=after, touches=touches))
    return flat(*planned)


class Agents:
    """The processes of the agents, by name. One that is killed or stopped is followed by another."""

    def __init__(self, program: subprocess.Popen[str], folder: Path) -> None:
        self._program = program
        self._folder = folder
        self.running: dict[str, int] = {}
        self.stopped: dict[str, int] = {}
        self.killed = self.woken = self.started = 0

    def start(self) -> None:
        self.started += 1
        name = f"test:{self.started}"
        assert self._program.stdout is not None
        self._tell(name)
        pid = self._program.stdout.readline()
        assert pid, self._program.communicate()[1]
        self.running[name] = int(pid)

    def _tell(self, line: str) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write(f"{line}\n")
        self._program.stdin.flush()

    def kill_one(self, store: Store) -> None:
        """Kill an agent, if possible one that has a task."""
        holders = [claim.agent for claim in store.records.claims(SESSION) if claim.agent in self.running]
        os.kill(self.running.pop([*holders, *self.running][0]), signal.SIGKILL)
        self.killed += 1
        self.start()

    def stop_some(self) -> None:
        """Wait until agents that are about to close a task have stopped themselves."""
        for number in range(STOPPED):
            (self._folder / f"stop-{number}").touch()
        until(lambda: len(self.stops()) == STOPPED)
        for line in self.stops():
            self.stopped[line.agent] = self.running.pop(line.agent)
            self.start()

    def stops(self) -> list[Line]:
        return [line for line in self.book() if line.what == "stop"]

    def wake_those_without_a_task(self) -> None:
        """Let stopped agents go on whose tasks have passed to others."""
        begun = {(line.task, line.epoch) for line in self.book() if line.what == "begin"}
        for line in self.stops():
            if line.agent in self.stopped and any(task == line.task and epoch > line.epoch for task, epoch in begun):
                os.kill(self.stopped.pop(line.agent), signal.SIGCONT)
                self.woken += 1

    def finish(self) -> None:
        """Wait until all have ended, and check that none failed."""
        self._tell("")

        def has_ended() -> bool:
            if self._program.poll() is not None:
                return True
            # The signal to go on may have come before the agent had stopped itself.
            os.killpg(self._program.pid, signal.SIGCONT)
            return False

        until(has_ended)
        _, errors = self._program.communicate()
        assert self._program.returncode == 0, errors

    def end(self) -> None:
        """Kill whoever is left."""
        if self._program.poll() is None:
            os.killpg(self._program.pid, signal.SIGKILL)
            self._program.communicate()

    def book(self) -> list[Line]:
        return read_book((self._folder / BOOK).read_text())


@contextmanager
def agents_on(address: str, folder: Path, form: Form) -> Iterator[Agents]:
    """Start the agents; they are killed at the end of the block."""
    command = [sys.executable, "-m", "tests.stores.many_hands.agent", address, str(folder), str(form.claim_seconds)]
    pipe = subprocess.PIPE
    (folder / BOOK).touch()
    # In a group of its own, so that all of them can be reached.
    program = subprocess.Popen(
        command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    agents = Agents(program, folder)
    try:
        for _ in range(AGENTS):
            agents.start()
        yield agents
    finally:
        agents.end()


def drill(address: str, folder: Path, form: Form) -> dict[str, int]:
    """Let agents work until the plan is done, and return what happened, as counts."""
    store = store_at(address)
    store.append(SESSION, Event("plan", None, 1, Actor.USER, PlanChanged(planned(form.tasks))))
    with agents_on(address, folder, form) as agents:
        until(lambda: done(store) >= AGENTS)
        agents.stop_some()
        killed_at = time.monotonic()
        while done(store) < form.tasks:
            seen = done(store)
            enough = min(form.tasks, seen + form.tasks_between_kills)
            while seen < enough:
                agents.wake_those_without_a_task()
                seen = until_more_are_done(store, seen)
            time.sleep(max(0.0, killed_at + form.seconds_between_kills - time.monotonic()))
            killed_at = time.monotonic()
            if done(store) < form.tasks:
                agents.kill_one(store)
        agents.wake_those_without_a_task()
        agents.finish()
        counts = {"agents": agents.started, "killed": agents.killed, "stopped and woken": agents.woken}
        counts |= audit(reversed(list(store.history(SESSION))), agents.book())
    store.close()
    return counts


def done(store: Store) -> int:
    newest = next(store.history(SESSION))
    assert isinstance(newest.fact, PlanChanged)
    return sum(task.status is Status.COMPLETED for task in newest.fact.plan.tasks)


def until_more_are_done(store: Store, before: int) -> int:
    """Wait until more tasks are done than before, and return how many are."""
    until(lambda: done(store) > before)
    return done(store)
