"""What `tildone fleet cancel`, `pause`, `resume` and `retry` share: they change the state of runs."""

from __future__ import annotations

import os

from tildone.app.who import PersonAct, check_outside_runs, check_person
from tildone.cli.fleet.opening import Fleet, open_existing_fleet
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put, put_notice
from tildone.log.fleet.lease import Ask, LeaseState
from tildone.overview import run_wishes
from tildone.telemetry.opening import open_run_traces
from tildone.typing import TYPE_CHECKING
from tildone.views.fleet import hand_name
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tildone.cli.parsing.table import ParsedArgs
    from tildone.log.fleet.lease import Lease

_ACTS = {Ask.CANCEL: PersonAct.CANCEL_RUN, Ask.PAUSE: PersonAct.PAUSE_RUN}
_QUEUES = {"resume": PersonAct.RESUME_RUN, "retry": PersonAct.RETRY_RUN}
_STATES = {Ask.CANCEL: LeaseState.CANCELLED, Ask.PAUSE: LeaseState.PAUSED}


def wish(args: ParsedArgs, ask: Ask) -> int:
    """Ask for the end or the rest of the runs that the command line names; with `--now`, in the middle of a task.

    Raises:
        NotFound: there is no such run.
        Refused: a run has ended already, or this process works for one.
    """
    check_outside_runs(_ACTS[ask])
    fleet = open_existing_fleet(args)
    runs = [fleet.run_named(word)[0].lease.run for word in args.positional]
    changed: list[Lease] = []
    for run in dict.fromkeys(runs):
        changed += run_wishes.wish(fleet.leases, run, ask.now if args.has("now") else ask)
    _trace(fleet, changed)
    if args.has("json"):
        put_data(runs=[_as_data(lease, ask) for lease in changed])
        return 0
    for lease in changed:
        put(_sentence(lease, ask, now=args.has("now")))
    return 0


def _trace(fleet: Fleet, changed: Sequence[Lease]) -> None:
    """Tell of the runs that have ended because no worker had them."""
    ended = [lease for lease in changed if not lease.state.is_living]
    traces = open_run_traces(fleet.settings, fleet.store, os.environ, put_notice) if ended else None
    if traces:
        for lease in ended:
            traces.over(lease)
        traces.close()


def queue_again(args: ParsedArgs, states: Collection[LeaseState], action: str) -> int:
    """Queue runs again that are in one of the states. `action` is what the verb does, as in "retry".

    Raises:
        NotFound: there is no such run.
        Refused: a run is in another state, another run of its plan has not ended, or this is the shell of an agent.
    """
    fleet = open_existing_fleet(args)
    check_person(fleet.settings, _QUEUES[action])
    runs = dict.fromkeys(_checked(fleet, word, states, action) for word in args.positional)
    changed = [lease for run in runs for lease in fleet.leases.anew(run)]
    if args.has("json"):
        put_data(runs=[{"run": lease.run, "hand": lease.hand, "state": lease.state.value} for lease in changed])
        return 0
    for lease in changed:
        put(f"{hand_name(lease)} is {'queued' if lease.is_queued else lease.state.value}.")
    return 0


def _checked(fleet: Fleet, word: str, states: Collection[LeaseState], action: str) -> str:
    leases = [view.lease for view in fleet.run_named(word)]
    run_wishes.check_can_be_queued(leases, states, action)
    return leases[0].run


def _sentence(lease: Lease, ask: Ask, *, now: bool) -> str:
    name = hand_name(lease)
    if not lease.is_held:
        return f"{name} is {lease.state.value}."
    end = "is cancelled" if ask is Ask.CANCEL else "is paused"
    when = "now" if now else "when its next task is done"
    return f"{name} {end} {when}; worker {printable(lease.worker)} has been told."


def _as_data(lease: Lease, ask: Ask) -> dict[str, object]:
    return {
        "run": lease.run,
        "hand": lease.hand,
        "state": lease.state.value,
        "asked": lease.ask.value or None,
        "done": lease.state is _STATES[ask],
    }
