"""`tildone fleet drain`: list the workers, or let them finish what they have."""

from __future__ import annotations

from tildone.app.who import PersonAct, check_outside_runs
from tildone.cli.fleet.opening import fleet_if_any, open_existing_fleet
from tildone.cli.output.amounts import ago, counted
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import NotFound, UsageError
from tildone.ids import now, timestamp
from tildone.log.fleet.lease import Ask
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.log.fleet.workers import WorkerInfo


def run(args: ParsedArgs) -> int:
    """List the workers, or ask some of them to take nothing more.

    Raises:
        NotFound: there is no such worker.
        NotThePerson: this process works for a run.
        UsageError: workers are named although all are meant.
    """
    if args.positional and args.has("all"):
        raise UsageError("name workers, or use --all")
    if args.positional or args.has("all"):
        check_outside_runs(PersonAct.DRAIN)
    fleet = open_existing_fleet(args) if args.positional else fleet_if_any(args, read_only=not args.has("all"))
    workers = fleet.leases.workers() if fleet else []
    named = workers if args.has("all") else [worker for word in args.positional for worker in _named(workers, word)]
    drained = [worker for worker in dict.fromkeys(named) if fleet and fleet.leases.drain(worker.id)]
    if args.has("json"):
        put_data(workers=[_as_data(worker, drained) for worker in workers])
    elif not args.positional and not args.has("all"):
        _print(workers)
    else:
        for worker in drained:
            put(f"Worker {printable(worker.id)} takes nothing more, and ends when its runs have ended.")
        if not drained:
            put("There are no workers.")
    return 0


def _named(workers: Sequence[WorkerInfo], word: str) -> list[WorkerInfo]:
    """Return the workers of a machine, or the worker whose id begins with the word."""
    found = [worker for worker in workers if worker.host == word]
    found = found or [worker for worker in workers if worker.id.startswith(word)]
    if not found:
        raise NotFound(f"there is no worker {printable(word)!r}; to list them: tildone fleet drain")
    return found


def _print(workers: Sequence[WorkerInfo]) -> None:
    if not workers:
        put("There are no workers. To start one: tildone fleet work")
    for worker in workers:
        labels = f", labels {', '.join(map(printable, worker.labels))}" if worker.labels else ""
        draining = ", takes nothing more" if worker.ask is Ask.DRAIN else ""
        seen = ago(now() - worker.seen)
        put(f"{printable(worker.id)}  {counted(worker.slots, 'slot')}{labels}, seen {seen}{draining}")


def _as_data(worker: WorkerInfo, drained: Sequence[WorkerInfo]) -> dict[str, object]:
    return {
        "id": worker.id,
        "host": worker.host,
        "version": worker.version,
        "slots": worker.slots,
        "labels": list(worker.labels),
        "seen": timestamp(worker.seen),
        "draining": worker in drained or worker.ask is Ask.DRAIN,
    }
