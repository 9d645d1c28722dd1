"""Facts about runs as text, for the history of a plan."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan import runs
from tildone.plan.text.safe import printable

if TYPE_CHECKING:
    from tildone.plan.runs import RunFact

MAX_TEXT = 200
SHORT_COMMIT = 12

_QUEUED = {"retried": "retried", "resumed": "resumed", "answered": "queued again"}
_RELEASED = {runs.LeaseState.WAITING: "left, until there is an answer,", runs.LeaseState.PAUSED: "paused"}
_ENDED = {runs.LeaseState.DONE: "finished", runs.LeaseState.FAILED: "failed", runs.LeaseState.CANCELLED: "cancelled"}


def describe_run_fact(fact: RunFact) -> str:
    run = _run(fact)
    match fact:
        case runs.RunQueued(why=why):
            return f"{_QUEUED.get(why, 'queued')} {run}"
        case runs.RunTaken(owner=owner):
            return f"took {run}, as worker {_text(runs.worker_of(owner))}"
        case runs.RunLost(why=why):
            return _because(f"lost {run}", why)
        case runs.RunReleased(state=state, why=why):
            return _because(f"{_RELEASED.get(state, 'gave back')} {run}", why)
        case runs.RunEnded(state=state, why=why):
            return _because(f"{_ENDED.get(state, 'ended')} {run}", why)
        case runs.Asked(text=text):
            return f"asked “{_text(text)}” in {run}"
        case runs.Answered(text=text):
            return f"answered “{_text(text)}” to {run}"
        case runs.CommandRefused(text=text, why=why, by=by):
            return _because(f"was refused “{_text(text)}” in {run}{f' by {_text(by)}' if by else ''}", why)
        case runs.AgentEnded():
            return f"ended in {run}"
        case runs.Kept(ref=ref, commit=commit):  # exhaustive
            return f"kept the files of {run} as {_text(commit[:SHORT_COMMIT])} in {_text(ref)}"


def _run(fact: RunFact) -> str:
    hand = f", hand {fact.hand + 1}" if fact.hand else ""
    return f"run {_text(fact.run)}{hand}"


def _because(what: str, why: str) -> str:
    return f"{what}: {_text(why)}" if why else what


def _text(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= MAX_TEXT else f"{shown[:MAX_TEXT]}…"
