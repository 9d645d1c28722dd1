"""A run of a plan that a worker holds, and its agent as a process."""

import os
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.clients.supervisor import supervised
from tildone.app.opening import run_leases, store_at
from tildone.fleet.drivers import AGENTS
from tildone.fleet.drivers.launch import AgentContext
from tildone.log.store import Store
from tildone.plan.events import Event, PlanChanged, latest_state
from tildone.plan.model import Plan
from tildone.plan.runs import LEASE_VARIABLE, Claimer, Lease, NewRun
from tildone.stores.leasing import RunLeases

SESSION = "plan"
SECONDS = 600.0
"""How long an agent may take; on an idle machine, it takes a few seconds."""


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run in a store of its own, below `folder`; `environ` is the environment of the worker."""

    folder: Path
    store: Store
    lease: Lease
    environ: Mapping[str, str]

    @property
    def leases(self) -> RunLeases:
        return run_leases(self.store)

    @property
    def plan(self) -> Plan:
        return latest_state(self.events).plan

    @property
    def events(self) -> list[Event]:
        """The events of the plan, the newest first."""
        return list(self.store.history(SESSION))

    @property
    def tasks(self) -> list[tuple[str, str]]:
        return [(task.text, task.status.value) for task in self.plan.tasks]

    def pass_on(self) -> Lease:
        """Let another worker take the run."""
        self.leases.release(self.lease.fence, "the worker ended")
        [lease] = self.leases.claim(Claimer("there/2/b"), ["there/2/b/1"])
        return lease

    def context(self, *allow: str, model: str = "", prompt: str = "Do all of it.") -> AgentContext:
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        return AgentContext(str(work), self.address, SESSION, prompt, model, allow, self.environ)

    @property
    def address(self) -> str:
        return str(self.folder / "plans.db")

    def run(self, agent: str, context: AgentContext) -> "subprocess.CompletedProcess[str]":
        """Run an agent as its driver says, under the lease, until it ends."""
        launch = AGENTS[agent](context)
        words, environ = list(launch.arguments), {**launch.environ, LEASE_VARIABLE: str(self.lease.fence)}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with supervised(words, seconds=SECONDS, cwd=Path(context.folder), env=environ, **streams) as process:
            out, err = process.communicate()
        return subprocess.CompletedProcess(launch.arguments, process.returncode, out.decode(), err.decode())


def hold(folder: Path, plan: Plan) -> HeldRun:
    """Queue a run of a plan in a new store, and take it. The data folder of its agents is below `folder`, too."""
    store = store_at(str(folder / "plans.db"))
    leases = run_leases(store)
    # Processes are ended by their lease, also by tests of others on this machine.
    leases.add(NewRun(f"run-{secrets.token_hex(6)}", SESSION), [PlanChanged(plan)])
    [lease] = leases.claim(Claimer("here/1/a"), ["here/1/a/1"])
    known = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "XDG_CONFIG_HOME": str(folder / "config")}
    return HeldRun(folder, store, lease, dict(os.environ) | known)
