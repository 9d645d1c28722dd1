"""`tildone fleet work`: be a worker, until it is drained."""

from __future__ import annotations

import os
import signal
from importlib import import_module

from tildone.cli.fleet.opening import open_fleet
from tildone.cli.fleet.requested import AGENTS, checked_agent, listed
from tildone.cli.parsing.table import ParsedArgs
from tildone.config import data_folder
from tildone.config.fleet import MAX_SECONDS, MAX_SLOTS
from tildone.errors import UsageError
from tildone.log.fleet.checking import check_text
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tildone.cli.fleet.opening import Fleet

DEFAULT_SLOTS = 1
DEFAULT_GRACE_SECONDS = 10
FOLDER = "fleet"


def run(args: ParsedArgs) -> int:
    """Take runs until a signal or a person ends the worker, and return its exit code.

    Raises:
        UsageError: an option has an invalid value, or the store has no leases.
    """
    fleet = open_fleet(args)
    options = _options(args, fleet)
    # Late, because no other verb needs the processes and the repositories of agents.
    module = import_module("tildone.fleet.worker")
    worker = module.Worker(fleet.leases, module.WorkerOptions(**options), str(fleet.settings.store))
    _obey_signals(worker)
    try:
        return int(worker.work())
    finally:
        fleet.store.close()


def _options(args: ParsedArgs, fleet: Fleet) -> dict[str, Any]:
    """Return the options of the worker: those of the command line, else those of `[fleet]`, else the defaults."""
    config = fleet.config
    agents = listed(args, "agents") or config.agents or AGENTS
    options = {
        "slots": _bounded(args, "slots", config.slots or DEFAULT_SLOTS, MAX_SLOTS),
        "labels": frozenset(listed(args, "labels") or config.labels),
        "allow": args.values("allow") or config.allow,
        "agents": frozenset(map(checked_agent, agents)),
        "home": config.worktrees or os.path.join(data_folder(os.environ), FOLDER),
        "grace": float(_bounded(args, "grace", config.grace or DEFAULT_GRACE_SECONDS, MAX_SECONDS)),
    }
    for text in (*options["labels"], *options["allow"]):
        check_text(text)
    return options


def _bounded(args: ParsedArgs, option: str, default: int, most: int) -> int:
    given = args.positive_int(option, default)
    if given > most:
        raise UsageError(f"--{option} is 1 to {most}, not {given}")
    return given


def _obey_signals(worker: Any) -> None:
    """Drain the worker at the first signal to end, and stop it at the second."""
    told = False

    def end(_number: int, _frame: object) -> None:
        nonlocal told
        (worker.stop if told else worker.drain)()
        told = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
