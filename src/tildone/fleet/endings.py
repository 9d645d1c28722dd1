"""How a run ends: what orders, the end of its agent, the plan, and open questions mean for the lease."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from tildone.base import value
from tildone.fleet.supervision import AgentEnding, How
from tildone.plan.events import Actor, Event, State
from tildone.plan.model import Plan, is_passed, open_tasks
from tildone.plan.runs import Answered, Ask, Lease, RunQueued, RunReleased, WorkOutcome, is_of

MAX_LINES, MAX_CHARACTERS = 40, 4000
"""How much of the end of an agent's output is recorded with a failure."""

OUT_OF_ORDER = "git failed"
FIRST_DELAY_MS, MAX_DELAY_MS, MAX_TRIES = 10_000, 900_000, 20
"""How an attempt is repeated for which git failed: for about four hours."""


@value
class RunEnding:
    """How the work under a lease ends. Without an outcome, the lease is given back, to be taken after `delay` ms."""

    outcome: WorkOutcome | None
    why: str = ""
    delay: int = 0


def is_done(plan: Plan) -> bool:
    """Return whether all tasks are closed, and the check of the plan itself, if it has one, has passed."""
    return not open_tasks(plan) and (plan.check is None or is_passed(plan.check, plan.proof))


def ending_of(agent: AgentEnding, state: State, lease: Lease, newest_first: Iterable[Event]) -> RunEnding:
    """Return how a run ends whose agent has ended by itself. A failure does not have the agent's output yet."""
    match agent.how:
        case How.FROZEN:
            return RunEnding(None, "the agent was frozen for too long, because its lease could not be renewed")
        case How.SIGNAL:
            return RunEnding(WorkOutcome.RETRY, f"the agent was ended by signal {agent.number}")
        case How.FAILED:
            return RunEnding(WorkOutcome.RETRY, f"the agent could not be started: {agent.reason}")
        case How.EXIT if agent.number:
            return RunEnding(WorkOutcome.RETRY, f"the agent ended with exit code {agent.number}")
        case How.STOPPED | How.WORKER_GONE | How.SUPERVISOR_GONE:
            return RunEnding(WorkOutcome.RETRY, "the process that supervises the agent was killed")
    if is_done(state.plan):
        return RunEnding(WorkOutcome.DONE)
    if lease.questions or _has_new_answer(newest_first, lease):
        return RunEnding(WorkOutcome.WAITING, "the agent has asked a question")
    left, tripped = len(open_tasks(state.plan)), state.tripped
    if not left:
        return RunEnding(WorkOutcome.FAILED, "the agent ended, but the check of the plan has not passed")
    limit = f": it had reached the limit of {tripped.limit:g} ({tripped.bound.value})" if tripped else ""
    return RunEnding(WorkOutcome.FAILED, f"the agent ended with {left} open tasks{limit}")


def out_of_order(why: str, newest_first: Iterable[Event], lease: Lease) -> RunEnding:
    """Return how an attempt ends for which git failed: it is repeated, less and less often, then the run has failed.

    That is not a failure of the agent, and a remote repository may be out of order for hours.
    """
    tries = 0
    for event in newest_first:
        fact = event.fact
        if isinstance(fact, RunQueued | RunReleased) and is_of(fact, lease):
            if not isinstance(fact, RunReleased) or not fact.why.startswith(OUT_OF_ORDER):
                break
            tries += 1
    if tries >= MAX_TRIES:
        return RunEnding(WorkOutcome.FAILED, f"{OUT_OF_ORDER}: {why}")
    return RunEnding(None, f"{OUT_OF_ORDER}: {why}", min(FIRST_DELAY_MS * 2**tries, MAX_DELAY_MS))


def _has_new_answer(newest_first: Iterable[Event], lease: Lease) -> bool:
    """Return whether a question of the run was answered after its agent had last written to the log."""
    for event in newest_first:
        if isinstance(event.fact, Answered) and is_of(event.fact, lease):
            return True
        if event.actor is Actor.AGENT:
            return False
    return False


class RunOrder(IntEnum):
    """What an execution is told. The ones before STOP are obeyed when the next task is done, the others at once."""

    GO = 0
    DRAIN = 1
    PAUSE = 2
    CANCEL = 3
    STOP = 4
    PAUSE_NOW = 5
    CANCEL_NOW = 6
    LOST = 7


ORDERS = {
    Ask.NOTHING: RunOrder.GO,
    Ask.DRAIN: RunOrder.DRAIN,
    Ask.PAUSE: RunOrder.PAUSE,
    Ask.PAUSE_NOW: RunOrder.PAUSE_NOW,
    Ask.CANCEL: RunOrder.CANCEL,
    Ask.CANCEL_NOW: RunOrder.CANCEL_NOW,
}
"""The orders that follow from what a person asks of the holder of a lease."""

CANCELLED = (RunOrder.CANCEL, RunOrder.CANCEL_NOW)
ENDINGS = {
    RunOrder.DRAIN: RunEnding(None, "drained"),
    RunOrder.STOP: RunEnding(None, "its worker was stopped"),
    RunOrder.PAUSE: RunEnding(WorkOutcome.PAUSED, "paused"),
    RunOrder.PAUSE_NOW: RunEnding(WorkOutcome.PAUSED, "paused"),
    **dict.fromkeys(CANCELLED, RunEnding(WorkOutcome.CANCELLED, "cancelled")),
}
"""How a run ends whose agent was ended by an order."""
