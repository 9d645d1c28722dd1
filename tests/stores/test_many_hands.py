"""Eight agents in eight processes share one plan, while some of them are killed and others stopped."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.stores.many_hands import SESSION
from tests.stores.postgres import needs_server
from tildone.core.plan import Plan, Status, Task, flat
from tildone.core.touches import may_conflict
from tildone.log.events import Actor, Event, PlanChanged
from tildone.log.store import Store
from tildone.wiring import store_at

ROOT = Path(__file__).resolve().parents[2]
AGENTS, TASKS = 8, 200
CLAIM_SECONDS = 2
TIMEOUT = 240.0

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="Windows has no SIGSTOP")


def planned() -> Plan:
    """Return a plan in which every third task waits for two before it, and every fourth shares files with others."""
    tasks = []
    for number in range(1, TASKS + 1):
        after = (number - 2, number - 1) if number % 3 == 0 else ()
        touches = (f"src/part{number % 5}/*",) if number % 4 == 0 else ()
        tasks.append(Task(f"task {number}", number=number, after=after, touches=touches))
    return flat(*tasks)


class Agents:
    """The processes of the agents, by name. One that is killed or stopped is followed by another."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program
        self.running: dict[str, int] = {}
        self.stopped: dict[str, int] = {}
        self.killed = self.woken = self.started = 0

    def start(self) -> None:
        self.started += 1
        name = f"test:{self.started}"
        self.running[name] = int(self._ask(name))

    def kill_one(self) -> None:
        os.kill(self.running.pop(next(iter(self.running))), signal.SIGKILL)
        self.killed += 1
        self.start()

    def stop_one_at_work(self, store: Store) -> None:
        """Stop an agent while it holds a task."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            for name in [claim.agent for claim in store.claims(SESSION) if claim.agent in self.running]:
                os.kill(self.running[name], signal.SIGSTOP)
                if any(claim.agent == name for claim in store.claims(SESSION)):
                    self.stopped[name] = self.running.pop(name)
                    self.start()
                    return
                os.kill(self.running[name], signal.SIGCONT)
        raise AssertionError("no agent is at work")

    def wake(self) -> None:
        for process in self.stopped.values():
            os.kill(process, signal.SIGCONT)
        self.woken += len(self.stopped)
        self.running |= self.stopped
        self.stopped = {}

    def finish(self) -> None:
        """Wait until all have ended, and check that none failed."""
        _, errors = self._program.communicate("\n", timeout=TIMEOUT)
        assert self._program.returncode == 0, errors

    def end(self) -> None:
        """Kill whoever is left."""
        if self._program.poll() is None:
            for process in [*self.running.values(), *self.stopped.values()]:
                os.kill(process, signal.SIGKILL)
            self._program.communicate("\n")

    def _ask(self, name: str) -> str:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(f"{name}\n")
        self._program.stdin.flush()
        return self._program.stdout.readline()


@contextmanager
def agents_on(address: str, folder: Path) -> Iterator[Agents]:
    command = [sys.executable, "-m", "tests.stores.many_hands", address, str(folder), str(CLAIM_SECONDS)]
    pipe = subprocess.PIPE
    agents = Agents(subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
    try:
        for _ in range(AGENTS):
            agents.start()
        yield agents
    finally:
        agents.end()


def run(address: str, folder: Path) -> dict[str, int]:
    """Run the agents until the plan is done, and return what happened, as counts."""
    store = store_at(address)
    first = Event("plan", None, 1, Actor.USER, PlanChanged(planned()))
    store.append(SESSION, first)
    with agents_on(address, folder) as agents:
        until_done(store, TASKS // 8)
        for _ in range(2):
            agents.stop_one_at_work(store)
        began = time.monotonic()
        while is_open(store):
            assert time.monotonic() - began < TIMEOUT
            # Not before the agents have had time to work, on a machine that does other things, too.
            until_done(store, min(TASKS, done(store) + AGENTS))
            time.sleep(max(0.0, began + agents.killed + 1 - time.monotonic()))
            agents.kill_one()
            if time.monotonic() - began > 2 * CLAIM_SECONDS:
                agents.wake()
        agents.wake()
        agents.finish()
        counts = {"agents": agents.started, "killed": agents.killed, "stopped and woken": agents.woken}
    counts |= check(store, folder)
    store.close()
    return counts


def is_open(store: Store) -> bool:
    return done(store) < TASKS


def done(store: Store) -> int:
    newest = next(store.history(SESSION))
    assert isinstance(newest.fact, PlanChanged)
    return sum(task.status is Status.COMPLETED for task in newest.fact.plan.tasks)


def until_done(store: Store, tasks: int) -> None:
    deadline = time.monotonic() + TIMEOUT
    while done(store) < tasks:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def check(store: Store, folder: Path) -> dict[str, int]:
    """Check the log and the book of the agents, and return what they show as counts."""
    finished, reopened, out_of_order = Counter[int](), 0, 0
    before: Plan | None = None
    for event in reversed(list(store.history(SESSION))):
        assert isinstance(event.fact, PlanChanged)
        plan = event.fact.plan
        if before is not None:
            was, now = ({task.number: task.status for task in each.tasks} for each in (before, plan))
            for task in plan.tasks:
                if task.status is Status.COMPLETED and was[task.number] is not Status.COMPLETED:
                    finished[task.number] += 1
                reopened += was[task.number] is Status.COMPLETED and task.status is not Status.COMPLETED
                is_started = task.status is Status.IN_PROGRESS and was[task.number] is Status.PENDING
                out_of_order += is_started and any(now[number] is not Status.COMPLETED for number in task.after)
        before = plan
    book = [line.split() for line in (folder / "book").read_text().splitlines()]
    claims: dict[tuple[str, str], set[str]] = {}
    for _, number, epoch, agent, _ in book:
        claims.setdefault((number, epoch), set()).add(agent)
    assert finished == Counter(range(1, TASKS + 1))
    assert reopened == 0
    assert out_of_order == 0
    assert [key for key, agents in claims.items() if len(agents) > 1] == []
    assert shared_files(book) == []
    taken_over = sum(int(epoch) > 1 for _, epoch in claims)
    refused = sum(what == "refused" for what, *_ in book)
    assert taken_over > 0
    return {
        "tasks": TASKS,
        "done once": sum(count == 1 for count in finished.values()),
        "claims": len(claims),
        "claims held by two": 0,
        "taken over": taken_over,
        "changes refused to agents that were stopped": refused,
        "overwritten": reopened,
        "out of order": out_of_order,
        "worked on beside a task with the same files": 0,
    }


def shared_files(book: list[list[str]]) -> list[tuple[int, int]]:
    """Return the pairs of tasks with the same files on which agents worked at the same time to the end."""
    touches = {task.number: task.touches for task in planned().tasks}
    begun: dict[tuple[str, str], int] = {}
    spans: list[tuple[int, int, int]] = []
    for what, number, _, agent, at in book:
        if what == "begin":
            begun[number, agent] = int(at)
        elif what == "end":
            spans.append((begun[number, agent], int(at), int(number)))
    spans.sort()
    return [
        (one, other)
        for index, (_, end, one) in enumerate(spans)
        for begin, _, other in spans[index + 1 :]
        if begin < end and one != other and may_conflict(touches[one], touches[other])
    ]


def test_eight_agents_share_a_plan_in_sqlite(tmp_path: Path) -> None:
    counts = run(str(tmp_path / "plans.db"), tmp_path)

    print(*(f"{what}: {count}" for what, count in counts.items()), sep="\n")
    assert counts["done once"] == TASKS


@needs_server
def test_eight_agents_share_a_plan_in_postgresql(url: str, tmp_path: Path) -> None:
    counts = run(url, tmp_path)

    print(*(f"{what}: {count}" for what, count in counts.items()), sep="\n")
    assert counts["done once"] == TASKS
