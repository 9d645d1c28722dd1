"""`tildone fleet work`: be a worker, until it is drained."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from tildone.app.settings_file import MAX_RETRIES, MAX_SECONDS, MAX_SLOTS
from tildone.base import MAX_DIGITS, StoreError, UsageError, shortened
from tildone.cli.fleet.adding import checked_agent, listed
from tildone.cli.fleet.opening import Fleet, open_fleet
from tildone.cli.output import put_notice
from tildone.cli.output.prompts import tell_reach
from tildone.cli.table import ParsedArgs
from tildone.fleet.drivers import AGENTS
from tildone.fleet.drivers.launch import ANYTHING
from tildone.fleet.engine import EssentialThread, on_essential_failure
from tildone.fleet.engines import engine_for
from tildone.fleet.results import RETRIES, WorkerOptions
from tildone.fleet.worker import Worker
from tildone.plan.names import check_text
from tildone.plan.text.safe import printable
from tildone.run.metering import open_run_traces
from tildone.stores.leasing import RunLeases

LOOK_SECONDS = 0.5


def wait_and_drain(worker: Worker, leases: RunLeases, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait until the worker has no run and there is none that it could take, now or later, and drain it."""
    left = True
    while left:
        sleep(LOOK_SECONDS)
        with suppress(StoreError):
            left = any(worker.could_take(lease) for lease in leases.active()) or worker.is_at_work
    worker.drain()


DEFAULT_SLOTS = 1
DEFAULT_GRACE_SECONDS = 10
DEFAULT_MIN_FREE_MB = 1000


def work(args: ParsedArgs) -> int:
    fleet = open_fleet(args, tell=_notice)
    options = _options(args, fleet)
    address = fleet.settings.store
    engine = engine_for(fleet.leases.settings().engine, address)
    traces = open_run_traces(fleet.settings, fleet.store, os.environ, _notice)
    worker = Worker(fleet.leases, options, str(address), engine=engine, traces=traces)
    told = False

    def end(_number: int, _frame: object) -> None:
        """Drain the worker at the first signal to end, and stop it at the second."""
        nonlocal told
        (worker.stop if told else worker.drain)()
        told = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)

    def stop(thread: str) -> None:
        _notice(f"the thread {thread!r} has failed, and the worker stops; please report the error above")
        worker.fail()

    on_essential_failure(stop)
    if args.has("until-idle"):
        EssentialThread("idle", wait_and_drain, worker, fleet.leases).start()
    try:
        return worker.work()
    finally:
        fleet.store.close()


def _notice(line: str) -> None:
    put_notice(f"tildone: {printable(line)}")


def _options(args: ParsedArgs, fleet: Fleet) -> WorkerOptions:
    """Return the options of the worker: those of the command line, else those of `[fleet]`, else the defaults."""
    config = fleet.config
    agents = listed(args, "agents") or config.agents or AGENTS
    options = WorkerOptions(
        slots=args.positive_int("slots", config.slots or DEFAULT_SLOTS, MAX_SLOTS),
        labels=frozenset(listed(args, "labels") or config.labels),
        allow=args.values("allow") or config.allow,
        agents=frozenset(map(checked_agent, agents)),
        home=fleet.home,
        min_free_mb=config.min_free_mb or DEFAULT_MIN_FREE_MB,
        grace=float(args.positive_int("grace", config.grace or DEFAULT_GRACE_SECONDS, MAX_SECONDS)),
        ask=_asked_for(args, fleet),
        notify=config.notify,
        retries=_retries(args, RETRIES if config.retries is None else config.retries),
    )
    for text in (*options.labels, *options.allow, *options.ask):
        check_text(text)
    tell_reach("--allow" if args.values("allow") else "allow of [fleet]", options.allow)
    return options


def _retries(args: ParsedArgs, default: int) -> int:
    given = args.options.get("retries")
    if given is None:
        return default
    if not (given.isascii() and given.isdecimal()) or int(given[:MAX_DIGITS]) > MAX_RETRIES:
        raise UsageError(f"--retries requires a number from 0 to {MAX_RETRIES}, not {shortened(given)!r}")
    return int(given)


def _asked_for(args: ParsedArgs, fleet: Fleet) -> tuple[str, ...]:
    """Return the patterns of the commands for which persons may be asked.

    Approvals are rows of the store. Only the person at this machine can write to a file of theirs, but a server may
    have many users, of whom each could approve everything.
    """
    if args.has("no-ask"):
        if args.has("ask"):
            raise UsageError("--ask and --no-ask exclude each other")
        return ()
    if args.has("ask"):
        return args.values("ask")
    if fleet.config.ask is not None:
        return fleet.config.ask
    return (ANYTHING,) if fleet.settings.store.path is not None else ()
