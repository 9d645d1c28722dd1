"""`tildone fleet cancel`, `pause`, `resume` and `retry` change the state of runs; `drain` lets workers end."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tildone.app.run_requests import QUEUES, STOPS, RunRequest, check_allowed, check_state, request_run
from tildone.app.who import PersonAct, check_outside_runs
from tildone.base import NotFound, UsageError
from tildone.base.ids import now, timestamp
from tildone.cli.fleet.opening import Fleet, fleet_if_any, fleet_settings, open_existing_fleet
from tildone.cli.output import put, put_notice
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import Ask, Lease, LeaseState
from tildone.plan.text.amounts import ago, format_count
from tildone.plan.text.runs import hand_name
from tildone.plan.text.safe import printable
from tildone.run.traces import open_run_traces

_STATES = {RunRequest.CANCEL: LeaseState.CANCELLED, RunRequest.PAUSE: LeaseState.PAUSED}


def request(args: ParsedArgs) -> int:
    """Request what the verb says of the runs that the command line names, or of none of them."""
    request = RunRequest(args.verb.name)
    check_allowed(fleet_settings(args), request)
    fleet = open_existing_fleet(args)
    runs: dict[str, None] = {}
    for views in map(fleet.run_named, args.positional):
        runs[views[0].lease.run] = None
        check_state([view.lease for view in views], request)
    changed = [lease for run in runs for lease in request_run(fleet.leases, run, request, at_once=args.has("now"))]
    if request in STOPS:
        _trace(fleet, changed)
    if args.has("json"):
        put_data(runs=[_request_data(lease, request) for lease in changed])
        return 0
    for lease in changed:
        put(_sentence(lease, request, now=args.has("now")))
    return 0


cancel = pause = resume = retry = request


def _trace(fleet: Fleet, changed: Sequence[Lease]) -> None:
    """Tell of the runs that have ended because no worker had them."""
    ended = [lease for lease in changed if not lease.state.is_active]
    traces = open_run_traces(fleet.settings, fleet.store, os.environ, put_notice) if ended else None
    if traces:
        for lease in ended:
            traces.over(lease)
        traces.close()


def _sentence(lease: Lease, request: RunRequest, *, now: bool) -> str:
    name = hand_name(lease)
    if request in STOPS and lease.is_held:
        end = "is cancelled" if request is RunRequest.CANCEL else "is paused"
        when = "now" if now else "when its next task is done"
        return f"{name} {end} {when}; worker {printable(lease.worker)} has been told."
    return f"{name} is {'queued' if request in QUEUES and lease.is_queued else lease.state.value}."


def _request_data(lease: Lease, request: RunRequest) -> dict[str, object]:
    found: dict[str, object] = {"run": lease.run, "hand": lease.hand, "state": lease.state.value}
    if request in STOPS:
        found |= {"asked": lease.ask.value or None, "done": lease.state is _STATES[request]}
    return found


def drain(args: ParsedArgs) -> int:
    """List the workers, or ask some of them to take nothing more."""
    if args.positional and args.has("all"):
        raise UsageError("name workers, or use --all")
    if args.positional or args.has("all"):
        check_outside_runs(PersonAct.DRAIN)
    fleet = open_existing_fleet(args) if args.positional else fleet_if_any(args, read_only=not args.has("all"))
    workers = fleet.leases.workers() if fleet else []
    named = (
        workers if args.has("all") else [worker for word in args.positional for worker in _workers_named(workers, word)]
    )
    drained = [worker for worker in dict.fromkeys(named) if fleet and fleet.leases.drain(worker.id)]
    if args.has("json"):
        put_data(workers=[_worker_data(worker, drained) for worker in workers])
    elif not args.positional and not args.has("all"):
        _put_workers(workers)
    else:
        for worker in drained:
            put(f"Worker {printable(worker.id)} takes nothing more, and ends when its runs have ended.")
        if not drained:
            put("There are no workers.")
    return 0


def _workers_named(workers: Sequence[WorkerInfo], word: str) -> list[WorkerInfo]:
    """Return the workers of a machine, or the worker whose id begins with the word."""
    found = [worker for worker in workers if worker.host == word]
    found = found or [worker for worker in workers if worker.id.startswith(word)]
    if not found:
        raise NotFound(f"there is no worker {printable(word)!r}; to list them: tildone fleet drain")
    return found


def _put_workers(workers: Sequence[WorkerInfo]) -> None:
    if not workers:
        put("There are no workers. To start one: tildone fleet work")
    for worker in workers:
        labels = f", labels {', '.join(map(printable, worker.labels))}" if worker.labels else ""
        draining = ", takes nothing more" if worker.ask is Ask.DRAIN else ""
        seen = ago(now() - worker.seen)
        put(f"{printable(worker.id)}  {format_count(worker.slots, 'slot')}{labels}, seen {seen}{draining}")


def _worker_data(worker: WorkerInfo, drained: Sequence[WorkerInfo]) -> dict[str, object]:
    return {
        "id": worker.id,
        "host": worker.host,
        "version": worker.version,
        "slots": worker.slots,
        "labels": list(worker.labels),
        "seen": timestamp(worker.seen),
        "draining": worker in drained or worker.ask is Ask.DRAIN,
    }
