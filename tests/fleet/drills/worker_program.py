"""A worker, run as a program whose agents run a shell command for each task: STORE HOME SLOTS COMMAND.

SIGTERM drains it; a second one stops it.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tildone.fleet.drivers.launch import AgentContext, AgentLaunch
from tildone.fleet.worker import Worker, WorkerOptions
from tildone.wiring import run_leases, store_at

if TYPE_CHECKING:
    from tildone.fleet.drivers.launch import Driver

AGENT = str(Path(__file__).with_name("agent.py"))
GRACE = 0.3


def driver(command: str) -> Driver:
    """The driver of agents that run a command for each task."""

    def launch(context: AgentContext) -> AgentLaunch:
        own = {"TILDONE_STORE": context.store, "TILDONE_SESSION": context.session}
        return AgentLaunch((sys.executable, AGENT, command), {**context.environ, **own})

    return launch


def main() -> int:
    """Be the worker."""
    store, home, slots, command = sys.argv[1:]
    options = WorkerOptions(int(slots), frozenset(), ("*",), frozenset({"test"}), home, GRACE)
    worker = Worker(run_leases(store_at(store)), options, store, agents={"test": driver(command)})
    told: list[int] = []

    def on_term(number: int, _frame: object) -> None:
        worker.stop() if told else worker.drain()
        told.append(number)

    signal.signal(signal.SIGTERM, on_term)
    return worker.work()


if __name__ == "__main__":
    sys.exit(main())
