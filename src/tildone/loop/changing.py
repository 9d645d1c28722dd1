"""A change of a plan: its outcome, and the fact that records it."""

from __future__ import annotations

from tildone.core.ops import StartNext
from tildone.core.origins import Origin, keep_origins
from tildone.core.reduce import NO_PROOFS, Outcome, reduce
from tildone.log.events import DirectiveSet, PlanChanged
from tildone.loop.progress import progress_of
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tildone.core.check import Proof
    from tildone.core.guard import ByModel
    from tildone.core.plan import Plan
    from tildone.core.reduce import Step
    from tildone.core.rules import Rules
    from tildone.log.events import Call
    from tildone.log.state import State


def change_plan(  # noqa: PLR0913, PLR0917  of one caller
    state: State,
    steps: Iterable[Step],
    rules: Rules,
    call: Call | None,
    origin: Origin,
    taken: Callable[[], frozenset[int]],
    proofs: Mapping[int, Proof] = NO_PROOFS,
    settle: Callable[[Plan, Plan], Plan] = lambda _, after: after,
    model: ByModel | None = None,
) -> tuple[Outcome, PlanChanged | None]:
    """Return the outcome of `steps`, and the fact if they change the plan.

    `origin` is that of new tasks. `taken` returns the numbers of the tasks that other agents work on, which `StartNext`
    needs. `proofs` are those of checks that were run for this change. A `model` that makes it is kept from what only a
    person can do. `settle` returns the plan after the change, given
    the one before, without what the agent must not do. The fact has the directive and the counts of the state; progress
    resets the counts.
    """
    known = (StartNext(taken) if isinstance(step, StartNext) else step for step in steps)
    reduced = reduce(state.plan, known, rules, proofs, model)
    after = settle(reduced.before, keep_origins(reduced.before, reduced.after, origin))
    outcome = replace(reduced, after=after)
    if not outcome.changed:
        return outcome, None
    counts, ledger = progress_of(outcome.before, after, state.ledger)
    if not state.ledger.continued:
        # Nothing counts a second time until the agent has been told to continue.
        ledger = state.ledger
    drift, since = (0, 0) if counts else (state.drift, state.since)
    return outcome, PlanChanged(after, call, drift, since, state.directive, ledger)


def fact_after_move(before: State, after: State, *, by_agent: bool) -> DirectiveSet | None:
    """Return the fact that keeps what a move of the head must not change: the directive and, for an agent, the counts.

    An agent that undoes a change in its shell must not undo what was counted, too: a task that the move reopens does
    not count as closed a second time.
    """
    if by_agent and (before.has_counts or after.has_counts):
        _, ledger = progress_of(before.plan, after.plan, before.ledger)
        return DirectiveSet(before.directive, before.drift, before.since, ledger)
    return DirectiveSet(before.directive) if after.directive is not before.directive else None
