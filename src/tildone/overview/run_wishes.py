"""What a person asks of runs: to end, to rest, or to be queued again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from tildone.errors import NotFound, Refused
from tildone.log.fleet.lease import Ask, Lease, LeaseState
from tildone.log.fleet.port import RunLeases

RESUMABLE = (LeaseState.PAUSED,)
RETRIABLE = (LeaseState.FAILED, LeaseState.CANCELLED)
_ENDING = (Ask.PAUSE, Ask.PAUSE_NOW, Ask.CANCEL, Ask.CANCEL_NOW)


def wish(leases: RunLeases, run: str, ask: Ask) -> list[Lease]:
    """Ask for the end or the rest of a run, and return its leases.

    Raises:
        NotFound: there is no such run.
        Refused: it has ended already.
    """
    if not any(lease.state.is_living for lease in _known(leases, run)):
        raise Refused(f"run {run} has ended already")
    return leases.wish(run, ask, "cancelled by a person" if ask.is_cancel else "paused by a person")


def pause_all(leases: RunLeases) -> list[str]:
    """Ask for the rest of all runs that have not ended, and return those of which that was not asked before."""
    awake = [lease for lease in leases.living() if lease.state is not LeaseState.PAUSED and lease.ask not in _ENDING]
    return _each(awake, lambda run: wish(leases, run, Ask.PAUSE))


def resume_all(leases: RunLeases) -> list[str]:
    """Queue all runs again that rest or are about to, and return them."""
    resting = [lease for lease in leases.living() if lease.state in RESUMABLE or lease.ask.is_pause]
    return _each(resting, lambda run: queue_again(leases, run, RESUMABLE, "resume"))


def check_can_be_queued(known: Sequence[Lease], states: Collection[LeaseState], action: str) -> None:
    """Check that a run is in one of the states, or is about to rest if it could be resumed. `action` is a verb.

    Raises:
        Refused: it is in another state.
    """
    is_pausing = LeaseState.PAUSED in states and any(lease.ask.is_pause for lease in known)
    if not is_pausing and not any(lease.state in states for lease in known):
        wanted = " or ".join(str(state.value) for state in states)
        again = "; to run its plan again: tildone fleet add PLAN" if known[0].state is LeaseState.DONE else ""
        raise Refused(f"run {known[0].run} is {known[0].state.value}; {action} is for runs that are {wanted}{again}")


def queue_again(leases: RunLeases, run: str, states: Collection[LeaseState], action: str) -> list[Lease]:
    """Queue a run again that is in one of the states, and return its leases.

    Raises:
        NotFound: there is no such run.
        Refused: it is in another state, or another run of its plan has not ended.
    """
    check_can_be_queued(_known(leases, run), states, action)
    return leases.anew(run)


def _each(found: Iterable[Lease], change: Callable[[str], object]) -> list[str]:
    """Change the runs of leases, one after the other, and return those that could be changed."""
    changed = []
    for run in dict.fromkeys(lease.run for lease in found):
        try:
            change(run)
        except (NotFound, Refused):
            # It has ended, or somebody else was faster.
            continue
        changed.append(run)
    return changed


def _known(leases: RunLeases, run: str) -> list[Lease]:
    found = [view.lease for view in leases.look(run)]
    if not found:
        raise NotFound(f"there is no run {run!r}")
    return found
