"""What `tildone fleet cancel`, `pause`, `resume` and `retry` share: they change the state of runs."""

from __future__ import annotations

import os

from tildone.cli.fleet.opening import Fleet, open_existing_fleet
from tildone.cli.output.consent import check_person
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put
from tildone.errors import Refused
from tildone.fleet.leftovers import end_processes
from tildone.log.fleet.lease import Ask, LeaseState
from tildone.typing import TYPE_CHECKING
from tildone.views.fleet import hand_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tildone.cli.parsing.table import ParsedArgs
    from tildone.log.fleet.lease import Lease

END_SECONDS = 10.0
_STATES = {Ask.CANCEL: LeaseState.CANCELLED, Ask.PAUSE: LeaseState.PAUSED}


def wish(args: ParsedArgs, ask: Ask, why: str) -> int:
    """Ask for the end or the rest of the runs that the command line names. With `--now`, end their agents here.

    Raises:
        NotFound: there is no such run.
        Refused: a run has ended already.
    """
    fleet = open_existing_fleet(args)
    runs = [fleet.run_named(word)[0].lease.run for word in args.positional]
    changed: list[Lease] = []
    for run in dict.fromkeys(runs):
        living = [view.lease for view in fleet.leases.look(run) if view.lease.state.is_living]
        if not living:
            raise Refused(f"run {run} has ended already")
        changed += fleet.leases.wish(run, ask, why)
    ended = [lease for lease in changed if args.has("now") and lease.is_held and _is_ended_here(lease)]
    if args.has("json"):
        put_data(runs=[_as_data(lease, ask, ended) for lease in changed])
        return 0
    for lease in changed:
        put(_sentence(lease, ask, is_ended=lease in ended, now=args.has("now")))
    return 0


def queue_again(args: ParsedArgs, states: Collection[LeaseState], action: str) -> int:
    """Queue runs again that are in one of the states. `action` is what the verb does, as in "retry".

    Raises:
        NotFound: there is no such run.
        Refused: a run is in another state, another run of its plan has not ended, or this is the shell of an agent.
    """
    fleet = open_existing_fleet(args)
    check_person(fleet.settings, f"{action} a run")
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
    run = leases[0].run
    is_pausing = LeaseState.PAUSED in states and any(lease.ask is Ask.PAUSE for lease in leases)
    if not is_pausing and not any(lease.state in states for lease in leases):
        wanted = " or ".join(str(state.value) for state in states)
        raise Refused(f"run {run} is {leases[0].state.value}; {action} is for runs that are {wanted}")
    return run


def _is_ended_here(lease: Lease) -> bool:
    """End the processes of a lease, if its worker is on this machine; return whether none is left."""
    host = lease.owner.partition("/")[0]
    return hasattr(os, "uname") and host == os.uname().nodename and end_processes(str(lease.fence), END_SECONDS)


def _sentence(lease: Lease, ask: Ask, *, is_ended: bool, now: bool) -> str:
    name = hand_name(lease)
    if not lease.is_held:
        return f"{name} is {lease.state.value}."
    if is_ended:
        return f"{name}: its agent was ended; worker {lease.worker} gives it back."
    end = "ends" if ask is Ask.CANCEL else "rests"
    where = " The agent is on another machine, or could not be ended from here." if now else ""
    return f"{name} {end} at its next boundary; worker {lease.worker} has been told.{where}"


def _as_data(lease: Lease, ask: Ask, ended: Sequence[Lease]) -> dict[str, object]:
    return {
        "run": lease.run,
        "hand": lease.hand,
        "state": lease.state.value,
        "asked": lease.ask.value or None,
        "done": lease.state is _STATES[ask],
        "agent_ended": lease in ended,
    }
