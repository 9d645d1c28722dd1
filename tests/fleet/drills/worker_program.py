"""A worker, run as a program whose agents run a shell command for each task. Its argument is a `Setting` as JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from tests.fleet.drills.marks import shift_clock
from tildone.app.opening import run_leases, store_at
from tildone.base import replace
from tildone.fleet import running as launching
from tildone.fleet import upkeep, worker, workspaces
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, Driver
from tildone.fleet.engines import engine_for
from tildone.fleet.results import MIN_FREE_MB, WorkerOptions
from tildone.log import lease_rules as rules
from tildone.plan.runs import PROTOCOL, Claimer
from tildone.stores import parse_address
from tildone.stores.sqlite import leases as boot

AGENT = str(Path(__file__).with_name("agent.py"))
ROOT = str(Path(__file__).resolve().parents[3])
AGENTS = ("test", "shell")
GRACE = 0.3


@dataclass(frozen=True)
class Setting:
    """How a worker is, and in what its machine differs from this one.

    With a `host`, it seems to be on a machine of its own. `boot` is the id of the machine's start, `min_free_mb` the
    space that its disk needs, `retry_ms` the first delay after a failed attempt. Without `releases`, its supervisors
    cannot give leases back. It has so many reapers, and knows leases up to a protocol.
    """

    store: str
    home: str
    slots: int
    command: str
    host: str = ""
    boot: str = ""
    protocol: int = PROTOCOL
    reapers: int = 1
    min_free_mb: int = MIN_FREE_MB
    retry_ms: int = rules.FIRST_DELAY_MS
    releases: bool = True

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def driver(command: str) -> Driver:
    """The driver of agents that run a command for each task."""

    def launch(context: AgentContext) -> AgentLaunch:
        own = {"TILDONE_STORE": context.store, "TILDONE_SESSION": context.session, "PYTHONPATH": ROOT}
        return AgentLaunch((sys.executable, AGENT, command), {**context.environ, **own})

    return launch


def main() -> int:
    """Be the worker."""
    setting = Setting(**json.loads(sys.argv[1]))
    shift_clock()
    pretend(setting)
    options = WorkerOptions(setting.slots, frozenset(), ("*",), frozenset(AGENTS), setting.home, GRACE)
    options = replace(options, min_free_mb=setting.min_free_mb)
    leases = run_leases(store_at(setting.store))
    agents = dict.fromkeys(AGENTS, driver(setting.command))
    engine = engine_for(leases.settings().engine, parse_address(setting.store))
    here = worker.Worker(leases, options, setting.store, agents=agents, engine=engine)
    for _ in range(setting.reapers - 1):
        upkeep.Reaper(leases, here._engine).start()  # noqa: SLF001  more reapers on the worker's engine
    return here.work()


def pretend(setting: Setting) -> None:
    """Make this process believe in another machine, disk and version."""
    if setting.host:
        identity = f"{setting.host}/{os.getpid()}/{os.urandom(4).hex()}"
        patch(worker, worker_id=lambda: identity)
        # The processes of other machines cannot be seen.
        patch(workspaces, orphans=lambda _living: [])
    if setting.boot:
        patch(boot, boot=lambda: setting.boot)
    if not setting.releases:
        patch(launching, RELEASE="raise SystemExit(1)")
    patch(worker, Claimer=partial(Claimer, protocol=setting.protocol))
    patch(rules, FIRST_DELAY_MS=setting.retry_ms)


def patch(module: object, **values: object) -> None:
    for name, value in values.items():
        getattr(module, name)
        setattr(module, name, value)


if __name__ == "__main__":
    sys.exit(main())
