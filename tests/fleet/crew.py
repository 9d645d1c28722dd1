"""Workers as processes whose shell agents are hands of one run, for tests."""

import os
import subprocess
from collections import Counter
from pathlib import Path

from tests.fleet.drills.outcome import completions
from tests.fleet.repositories import project
from tests.fleet.workers import SETTINGS, Bench
from tests.suite.forking import PROGRAM
from tildone.base import replace
from tildone.fleet.workspaces import lost_tasks
from tildone.plan.events import PlanChanged
from tildone.plan.model import Check, Plan, Task
from tildone.plan.runs import Lease, NewRun, Work


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


def shell(text: str, script: str, after: tuple[int, ...] = ()) -> Task:
    return replace(Task(text, check=Check(("sh", "-c", script))), after=after)
