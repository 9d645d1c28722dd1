"""How a run ends: what the end of its agent, the plan, and open questions mean for the lease."""

from __future__ import annotations

from tildone.core.check import is_passed
from tildone.core.query import open_tasks
from tildone.fleet.minding import How
from tildone.log.events import Actor
from tildone.log.fleet.facts import Answered
from tildone.log.fleet.lease import Outcome
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tildone.core.plan import Plan
    from tildone.fleet.minding import AgentEnding
    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease
    from tildone.log.state import State

MAX_LINES, MAX_CHARACTERS = 40, 4000
"""How much of the end of an agent's output is recorded with a failure."""


@value
class RunEnding:
    """How the work under a lease ends. Without an outcome, the lease is given back, to be taken after `delay` ms."""

    outcome: Outcome | None
    why: str = ""
    delay: int = 0


def is_done(plan: Plan) -> bool:
    """Return whether all tasks are closed, and the check of the plan itself, if it has one, has passed."""
    return not open_tasks(plan) and (plan.check is None or is_passed(plan.check, plan.proof))


def ending_of(agent: AgentEnding, state: State, lease: Lease, newest_first: Iterable[Event]) -> RunEnding:
    """Return how a run ends whose agent has ended by itself. A failure does not have the agent's output yet."""
    if agent.how is not How.EXIT or agent.number:
        return RunEnding(Outcome.RETRY, how_it_failed(agent))
    if is_done(state.plan):
        return RunEnding(Outcome.DONE)
    if lease.questions or has_new_answer(newest_first, lease):
        return RunEnding(Outcome.WAITING, "the agent has asked a question")
    return RunEnding(Outcome.FAILED, why_it_stopped(state))


def how_it_failed(agent: AgentEnding) -> str:
    """Return in words how an agent failed."""
    match agent.how:
        case How.EXIT:
            return f"the agent ended with exit code {agent.number}"
        case How.SIGNAL:
            return f"the agent was ended by signal {agent.number}"
        case How.FAILED:
            return f"the agent could not be started: {agent.reason}"
        case _:
            return "the process that minds the agent was killed"


def why_it_stopped(state: State) -> str:
    """Return why an agent ended its turn with open tasks, as far as it is known."""
    if not open_tasks(state.plan):
        return "the agent ended, but the check of the plan has not passed"
    stopped = f"the agent ended with {len(open_tasks(state.plan))} open tasks"
    if state.tripped is None:
        return stopped
    return f"{stopped}: it had reached the limit of {state.tripped.limit:g} ({state.tripped.bound.value})"


def has_new_answer(newest_first: Iterable[Event], lease: Lease) -> bool:
    """Return whether a question of the run was answered after its agent had last written to the log."""
    for event in newest_first:
        if isinstance(event.fact, Answered) and (event.fact.run, event.fact.hand) == (lease.run, lease.hand):
            return True
        if event.actor is Actor.AGENT:
            return False
    return False


def with_output(why: str, lines: Sequence[str]) -> str:
    """Return why a run failed, with the end of its agent's output."""
    return "\n".join([why, *lines])[:MAX_CHARACTERS] if lines else why
