"""The fact that records a change of a plan, and what a move of the head keeps."""

from tests.plans import COMPLETED, plan_of
from tildone.plan.changing import change_plan, fact_after_move
from tildone.plan.events import Call, Directive, DirectiveSet, Ledger, PlanChanged, State
from tildone.plan.model import Rules
from tildone.plan.ops import Mark, Note, Numbered, Origin
from tildone.plan.reduce import reduce

ONE = Numbered((1,))
DONE = Mark(ONE, COMPLETED)
COUNTED = State(
    "e", plan_of("a", "b"), drift=4, since=9, directive=Directive.PAUSE, ledger=Ledger(continued=2, began=5)
)


def test_a_change_that_is_progress_resets_the_drift_and_keeps_the_directive() -> None:
    call = Call("todo", "{}")

    outcome, fact = change_plan(COUNTED, [DONE], Rules(), call, Origin(), frozenset)

    assert isinstance(fact, PlanChanged)
    assert (fact.plan, fact.call, fact.directive) == (outcome.after, call, Directive.PAUSE)
    assert (fact.drift, fact.since, fact.ledger.continued) == (0, 0, 2)


def test_another_change_keeps_the_counts_and_none_leaves_no_fact() -> None:
    _, noted = change_plan(COUNTED, [Note(ONE, "why")], Rules(), None, Origin(), frozenset)
    unchanged, nothing = change_plan(COUNTED, [], Rules(), None, Origin(), frozenset)

    assert isinstance(noted, PlanChanged)
    assert (noted.drift, noted.since) == (4, 9)
    assert (unchanged.changed, nothing) == (False, None)


def test_a_change_is_recorded_without_what_the_agent_must_not_do() -> None:
    _, fact = change_plan(COUNTED, [DONE], Rules(), None, Origin(), frozenset, settle=lambda before, _: before)

    assert fact is None


def test_a_person_who_moves_the_head_keeps_the_directive_only() -> None:
    earlier = State("d", plan_of("a", "b"))

    assert fact_after_move(COUNTED, earlier, by_agent=False) == DirectiveSet(Directive.PAUSE)
    assert fact_after_move(earlier, State(), by_agent=False) is None


def test_an_agent_that_moves_the_head_keeps_what_was_counted() -> None:
    """A task that it reopens in that way does not count as closed again."""
    closed = State("f", reduce(COUNTED.plan, [DONE], Rules()).after, drift=1, since=7, ledger=Ledger(continued=2))

    fact = fact_after_move(closed, COUNTED, by_agent=True)

    assert fact == DirectiveSet(Directive.GO, 1, 7, Ledger(continued=2, reopened=(1,)))
    assert fact_after_move(State("f", closed.plan), State("e", COUNTED.plan), by_agent=True) is None
