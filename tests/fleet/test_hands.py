"""Several hands of one run: real workers with homes of their own, shell agents, a repository, both kinds of store."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.fleet.agents import eventually, touch, wait_for
from tests.fleet.repositories import bare, git, project
from tests.fleet.workers import SETTINGS
from tests.stores.conftest import server, url
from tests.stores.postgres import needs_server
from tildone.core.check import Check
from tildone.core.numbers import numbered
from tildone.core.plan import Plan, Status, Task, flat
from tildone.fleet.losses import lost_tasks
from tildone.log.events import PlanChanged
from tildone.log.fleet.lease import Lease, LeaseState, NewRun, Work
from tildone.log.state import latest_state
from tildone.value import replace
from tildone.wiring import run_leases, store_at

__all__ = ["server", "url"]

SESSION = "plan"


class Crew:
    """Workers as processes, each with one slot and a home of its own."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.address = folder, address
        # Processes are found by the name of their run, also those of tests that run at the same time.
        self.run = f"shared-{uuid4().hex}"
        self.store = store_at(address)
        self.leases = run_leases(self.store)
        self.leases.configure(replace(SETTINGS, engine="table"))
        self.repo: Path | str = project(folder)
        self.processes: list[subprocess.Popen[bytes]] = []

    def add(self, plan: Plan, hands: int) -> None:
        work = Work(agent="shell", repo=str(self.repo))
        self.leases.add(NewRun(self.run, SESSION, work, hands), [PlanChanged(plan)])

    def start(self) -> None:
        home = self.folder / f"home{len(self.processes)}"
        own = {"HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        words = [sys.executable, "-m", "tildone", "fleet", "work", "--allow", "*", "--grace", "1"]
        with open(self.folder / "workers.log", "ab") as log:
            environ = os.environ | own | {"TILDONE_STORE": self.address}
            self.processes.append(subprocess.Popen(words, env=environ, stderr=log, cwd=self.folder))

    def worker_of(self, task: int) -> "subprocess.Popen[bytes] | None":
        """The worker whose agent has claimed a task."""
        held = {f"{lease.run}/{lease.hand}": lease.owner.split("/")[1] for lease in self.hands() if lease.owner}
        claims = [claim for claim in self.store.claims(SESSION) if claim.task == task and claim.is_held]
        pids = [held.get(claim.holder.lease) for claim in claims]
        return next((each for each in self.processes if str(each.pid) in pids), None)

    def holds(self, worker: "subprocess.Popen[bytes]") -> bool:
        """Whether a worker holds a lease."""
        return any(lease.owner.split("/")[1] == str(worker.pid) for lease in self.hands() if lease.owner)

    def hands(self) -> list[Lease]:
        return [view.lease for view in self.leases.look(self.run)]

    def is_all_kept(self) -> bool:
        """Whether the files of all tasks that are done were kept."""
        events, plan = list(self.store.events(SESSION)), self.plan()
        return not any(lost_tasks(events, lease, plan, len(self.hands())) for lease in self.hands())

    def plan(self) -> Plan:
        return latest_state(self.store.history(SESSION)).plan

    def completions(self) -> Counter[int]:
        """How often each task was completed in the plan."""
        found: Counter[int] = Counter()
        done: set[int] = set()
        for event in self.store.events(SESSION):
            if isinstance(event.fact, PlanChanged):
                now = {task.number for task in event.fact.plan.tasks if task.status is Status.COMPLETED}
                found.update(now - done)
                done = now
        return found

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.store.close()


def sqlite(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("tmp_path") / "plans.db")


def postgres(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("url"))


@pytest.fixture(params=[sqlite, pytest.param(postgres, marks=needs_server)], ids=["sqlite", "postgres"])
def crew(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Crew]:
    found = Crew(tmp_path, request.param(request))
    yield found
    found.close()


def shell(text: str, script: str, after: tuple[int, ...] = ()) -> Task:
    return replace(Task(text, check=Check(("sh", "-c", script))), after=after)


def test_three_hands_do_each_task_once_although_a_worker_is_killed(crew: Crew, tmp_path: Path) -> None:
    """The last task comes after the others, and finds their files, whichever hands have made them."""
    wait = f"{wait_for(tmp_path / 'go')};"
    each = [shell(f"task {n}", f"{wait if n == 2 else ''} echo {n} > {n}.txt") for n in range(1, 6)]
    last = shell("last", "cat 1.txt 2.txt 3.txt 4.txt 5.txt > all.txt", after=(1, 2, 3, 4, 5))
    crew.add(numbered(flat(*each, last)), hands=3)
    for _ in range(3):
        crew.start()

    killed = eventually(lambda: crew.worker_of(2))
    # What it has done before is not lost with it.
    eventually(crew.is_all_kept)
    killed.kill()
    killed.wait()
    # Its agent ends with it, before the task can.
    eventually(lambda: not crew.holds(killed))
    (tmp_path / "go").touch()
    eventually(lambda: all(lease.state is LeaseState.DONE for lease in crew.hands()))

    assert crew.completions() == dict.fromkeys(range(1, 7), 1)
    assert git(crew.repo, "show", f"tildone/{crew.run}:all.txt").split() == ["1", "2", "3", "4", "5"]
    assert all(not task.notes for task in crew.plan().tasks)


def test_a_task_waits_for_files_that_are_lost_until_they_are_made_again(tmp_path: Path) -> None:
    """A hand has completed a task, and is lost before its files are kept. Its heir does the task again."""
    crew = Crew(tmp_path, str(tmp_path / "plans.db"))
    remote = bare(tmp_path, tmp_path / "project")
    pushing, refuse, go = (tmp_path / name for name in ("pushing", "refuse", "go"))
    hook = remote / "hooks" / "update"
    hook.write_text(f"#!/bin/sh\n[ -e {pushing} ] || {{ {touch(pushing)}; {wait_for(refuse)}; exit 1; }}\n")
    hook.chmod(0o755)
    first = shell("first", "echo 1 > 1.txt")
    second = shell("second", f"cat 1.txt || exit 1; {wait_for(go)}; cat 1.txt > 2.txt", after=(1,))
    crew.repo = remote.as_uri()
    try:
        crew.add(numbered(flat(first, second)), hands=2)
        crew.start()
        killed = eventually(lambda: crew.worker_of(2))
        eventually(pushing.exists)
        killed.kill()
        killed.wait()
        refuse.touch()
        for _ in range(2):
            crew.start()
        go.touch()
        eventually(lambda: not any(lease.state.is_living for lease in crew.hands()))

        assert [lease.state for lease in crew.hands()] == [LeaseState.DONE] * 2
        assert crew.completions() == {1: 2, 2: 1}
        assert git(remote, "show", f"tildone/{crew.run}:2.txt") == "1"
    finally:
        refuse.touch()
        crew.close()


def test_what_two_hands_cannot_merge_is_noted_and_kept_on_a_branch(tmp_path: Path) -> None:
    crew = Crew(tmp_path, str(tmp_path / "plans.db"))
    marks = {n: tmp_path / f"mark{n}" for n in (1, 2)}
    both = "; ".join(map(wait_for, marks.values()))
    each = [shell(f"task {n}", f"{touch(marks[n])}; {both}; echo {n} > parser.py") for n in (1, 2)]
    try:
        crew.add(numbered(flat(*each)), hands=2)
        crew.start()
        crew.start()
        eventually(lambda: all(lease.state is LeaseState.DONE for lease in crew.hands()))

        [note] = [note for task in crew.plan().tasks for note in task.notes]
        kept = note.rpartition(" ")[2]
        assert note.startswith("conflict: what hand ")
        merged, own = (git(crew.repo, "show", f"{branch}:parser.py") for branch in (f"tildone/{crew.run}", kept))
        assert {merged, own} == {"1", "2"}
    finally:
        crew.close()
