"""Requests to agents and runs: to pause, to stop, to rest, to end, or to be queued again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from tildone.app.settings import Settings
from tildone.app.who import PersonAct, check_outside_runs, check_person
from tildone.base import TYPE_CHECKING, NotFound, Refused
from tildone.plan.events import Directive
from tildone.plan.runs import Ask, Lease, LeaseState
from tildone.stores.leasing import RunLeases

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.app.settings import Settings
    from tildone.log.session import Session


class RunRequest(Enum):
    """What can be requested of a run. The value is its word on every surface."""

    PAUSE = "pause"
    CANCEL = "cancel"
    RESUME = "resume"
    RETRY = "retry"


STOPS = {RunRequest.PAUSE: Ask.PAUSE, RunRequest.CANCEL: Ask.CANCEL}
"""The requests that a holder is asked for. The others queue runs again, and are for a person only."""

QUEUES = {
    RunRequest.RESUME: (LeaseState.PAUSED,),
    RunRequest.RETRY: (LeaseState.FAILED, LeaseState.CANCELLED),
}
"""The states of the runs that the others are for."""

_ENDING = (Ask.PAUSE, Ask.PAUSE_NOW, Ask.CANCEL, Ask.CANCEL_NOW)


def check_allowed(settings: Settings, request: RunRequest) -> None:
    """Check that whoever acts in this process may request something. An agent that a person talks to may stop runs.

    Raises NotThePerson if this process works for a run; or this is the shell of an agent, and runs would be queued.
    """
    act = PersonAct[f"{request.name}_RUN"]
    if request in STOPS:
        check_outside_runs(act)
    else:
        check_person(settings, act)


def check_state(known: Sequence[Lease], request: RunRequest) -> None:
    """Check that the state of a run, given its leases, lets it be stopped or queued.

    Raises Refused if it has ended already, or is in another state. One that is about to rest may be resumed.
    """
    run = known[0].run
    if request in STOPS:
        if not any(lease.state.is_active for lease in known):
            raise Refused(f"run {run} has ended already")
        return
    states = QUEUES[request]
    is_pausing = request is RunRequest.RESUME and any(lease.ask.is_pause for lease in known)
    if not is_pausing and not any(lease.state in states for lease in known):
        wanted = " or ".join(str(state.value) for state in states)
        hint = "; to run its plan again: tildone fleet add PLAN" if known[0].state is LeaseState.DONE else ""
        raise Refused(f"run {run} is {known[0].state.value}; {request.value} is for runs that are {wanted}{hint}")


def offered_requests(lease: Lease) -> list[RunRequest]:
    """Return what a screen offers for a hand of a run: what its state allows and was not requested yet."""
    is_resting = lease.state is LeaseState.PAUSED
    offers = {
        RunRequest.PAUSE: lease.state.is_active and not is_resting and lease.ask not in (Ask.PAUSE, Ask.CANCEL),
        RunRequest.RESUME: is_resting or (lease.state is LeaseState.OPEN and lease.ask is Ask.PAUSE),
        RunRequest.RETRY: lease.state in QUEUES[RunRequest.RETRY],
        RunRequest.CANCEL: lease.state.is_active and lease.ask is not Ask.CANCEL,
    }
    return [request for request, is_offered in offers.items() if is_offered]


def request_run(leases: RunLeases, run: str, request: RunRequest, *, at_once: bool = False) -> list[Lease]:
    """Request something of a run, and return its leases. `at_once` is in the middle of a task.

    Raises NotFound if there is no such run, Refused if it is in another state, or another run of its plan has not
    ended.
    """
    known = [view.lease for view in leases.look(run)]
    if not known:
        raise NotFound(f"there is no run {run!r}")
    check_state(known, request)
    if request in QUEUES:
        return leases.requeue(run)
    ask = STOPS[request]
    why = f"{'cancelled' if ask.is_cancel else 'paused'} by a person"
    return leases.request_stop(run, ask.now if at_once else ask, why)


def pause_all(leases: RunLeases) -> list[str]:
    """Pause all runs that have not ended, and return those of which that was not requested before."""
    awake = (lease for lease in leases.active() if lease.state is not LeaseState.PAUSED and lease.ask not in _ENDING)
    return _each(leases, awake, RunRequest.PAUSE)


def resume_all(leases: RunLeases) -> list[str]:
    """Queue all runs again that rest or are about to, and return them."""
    resting = (lease for lease in leases.active() if lease.state is LeaseState.PAUSED or lease.ask.is_pause)
    return _each(leases, resting, RunRequest.RESUME)


def _each(leases: RunLeases, found: Iterable[Lease], request: RunRequest) -> list[str]:
    """Request something of the runs of leases, one after the other, and return those that could be changed."""
    changed = []
    for run in dict.fromkeys(lease.run for lease in found):
        try:
            request_run(leases, run, request)
        except (NotFound, Refused):
            # It has ended, or somebody else was faster.
            continue
        changed.append(run)
    return changed


ACTS = {Directive.PAUSE: PersonAct.PAUSE, Directive.STOP: PersonAct.STOP, Directive.GO: PersonAct.RESUME}

STEERED = {Directive.PAUSE: "paused", Directive.STOP: "stopped", Directive.GO: "resumed"}
"""What a session is with each directive, in the words of all surfaces."""


def steer_sessions(settings: Settings, sessions: Iterable[Session], directive: Directive) -> list[Session]:
    """Set the directive of sessions, and return those that had another one.

    Raises NotThePerson if an agent wants to change how it is held to its plan.
    """
    check_person(settings, ACTS[directive])
    return [session for session in sessions if session.set_directive(directive)]
