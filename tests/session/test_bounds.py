"""Every chain of nudges ends, whatever the agent does between two of them."""

from collections.abc import Callable
from itertools import count, cycle

import pytest

from tests.plans import session_on
from tildone.base import replace
from tildone.log.session import Session, SessionParts
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.events import Actor, Author, Bound, Directive
from tildone.plan.gate import GiveUp, GoOn, Patience

Call = tuple[str, dict[str, object]]
MOST = 700
"""Beyond every bound."""


def nudges(session: Session, *calls: Call) -> tuple[int, object]:
    """How often an agent is continued that makes these calls in turn, one before each stop; and what ends that."""
    turns = cycle(calls)
    for times in range(MOST):
        session.call(*next(turns))
        decision = session.turn_ended().decision
        if not isinstance(decision, GoOn):
            return times, decision
    return MOST, None


def counter() -> Callable[[], str]:
    """Ids that no other session has."""
    numbers = count()
    return lambda: f"{id(numbers)}-{next(numbers)}"


def with_two() -> Session:
    session = session_on(dialect=BRIEF)
    session.call("todo", {"add": ["one", "two"]})
    return session


@pytest.mark.parametrize("closed", ["done", "drop"])
def test_an_agent_that_closes_and_reopens_a_task_is_let_go(closed: str) -> None:
    times, decision = nudges(with_two(), ("todo", {closed: 1}), ("todo", {"start": 1}))

    assert decision == GiveUp(Bound.DRIFT, 60)
    assert times <= 64


def test_an_agent_that_grows_and_shrinks_its_list_is_let_go() -> None:
    def write(*texts: str) -> Call:
        return "TodoWrite", {"summary": "s", "todos": [{"content": text, "status": "pending"} for text in texts]}

    session = session_on(dialect=DECLARED)
    session.call(*write("a"))

    times, decision = nudges(session, write("a", "b"), write("a"))

    assert decision == GiveUp(Bound.DRIFT, 60)
    assert times <= 64


def test_an_agent_that_only_adds_tasks_is_let_go() -> None:
    session = with_two()
    more: list[Call] = [("todo", {"add": [f"more {number}"]}) for number in range(MOST)]

    times, decision = nudges(session, *more)

    assert decision == GiveUp(Bound.DRIFT, 60)
    assert times <= 20 + 64


def test_an_agent_that_adds_a_task_and_closes_it_is_let_go_after_all_nudges() -> None:
    session = with_two()
    session.patience = Patience(total=100)
    turns: list[Call] = []
    for number in range(3, 60):
        turns += [("todo", {"add": [f"more {number}"]}), ("todo", {"done": number})]

    assert nudges(session, *turns) == (100, GiveUp(Bound.TOTAL, 100))


def test_an_agent_that_works_through_a_hundred_tasks_is_never_let_go() -> None:
    """It stops three times at each of them."""
    session = session_on(dialect=BRIEF)
    session.call("todo", {"add": [f"task {number}" for number in range(100)]})
    for number in range(1, 100):
        for _ in range(3):
            assert isinstance(session.turn_ended().decision, GoOn)
        session.call("todo", {"done": number})

    assert isinstance(session.turn_ended().decision, GoOn)


def test_an_agent_that_undoes_a_change_in_its_shell_does_not_undo_what_was_counted() -> None:
    session = with_two()
    session.author_of = lambda actor: Author("Ada", "claude:1" if actor is Actor.USER else "")
    session.turn_ended()
    session.call("todo", {"start": 2})
    for _ in range(5):
        session.turn_ended()
    counted = session.state.ledger.continued

    session.undo()
    undone = session.state
    session.redo()

    assert counted == 6
    assert [undone.ledger.continued, session.state.ledger.continued] == [6, 6]
    assert [undone.drift, session.state.drift] == [6, 6]


def test_a_task_that_an_agent_closes_and_undoes_in_its_shell_counts_once() -> None:
    session = with_two()
    session.author_of = lambda actor: Author("Ada", "claude:1" if actor is Actor.USER else "")
    times, decision = 0, session.turn_ended().decision
    while isinstance(decision, GoOn) and times < MOST:
        if times % 2:
            session.undo()
        else:
            session.call("todo", {"done": 1})
        times, decision = times + 1, session.turn_ended().decision

    assert decision == GiveUp(Bound.DRIFT, 60)


def test_nudges_of_subagents_count_among_those_since_a_person_spoke_and_no_others() -> None:
    session = with_two()
    session.turn_ended()
    before = session.state
    subagents = [Session(session.store, f"s#sub:{number}", BRIEF, now=lambda: 9, new_id=counter()) for number in "123"]
    below = SessionParts(parent=session)
    subagents = [each.using(parts=below, patience=Patience(total=4)) for each in subagents]
    for each in subagents:
        each.call("todo", {"add": ["look"]})

    decisions = [each.turn_ended().decision for each in (*subagents, *subagents)]

    assert [isinstance(each, GoOn) for each in decisions] == [True] * 3 + [False] * 3
    assert decisions[3] == GiveUp(Bound.TOTAL, 4)
    after = session.state
    assert (after.ledger.continued, after.ledger.began) == (4, before.ledger.began)
    assert (after.nudges, after.drift, after.since) == (before.nudges, before.drift, before.since)


def test_an_agent_without_a_plan_does_not_count_the_nudges_of_its_subagents() -> None:
    session, below = session_on(), session_on(dialect=BRIEF)
    below = below.using(parts=replace(below.parts, parent=session))
    below.call("todo", {"add": ["look"]})

    assert isinstance(below.turn_ended().decision, GoOn)
    assert session.state.head is None


def test_a_person_who_undoes_a_change_returns_to_the_counts_of_that_time() -> None:
    session = with_two()
    session.call("todo", {"start": 2})
    session.turn_ended()

    session.undo()

    assert session.state.ledger.continued == 0


def test_an_end_at_a_bound_is_recorded_once() -> None:
    session = with_two()
    for _ in range(2):
        session.let_go(Bound.REQUESTS, 5000)

    assert session.state.tripped
    assert len(list(session.store.events("s"))) == 2


def test_a_pause_by_a_person_resets_every_count() -> None:
    session = with_two()
    session.turn_ended()

    session.set_directive(Directive.PAUSE)

    assert not session.state.has_counts


def test_a_conversation_that_is_opened_again_starts_a_new_chain_within_the_same_total() -> None:
    """As in the original, where a restart resets the counter; what has counted since a person spoke stays."""
    session = with_two()
    first, _ = nudges(session, ("todo", {}))
    counted = session.state.ledger

    session.reset_counts(by_person=False)
    state = session.state
    session.reset_counts(by_person=False)

    assert (state.tripped, state.nudges, state.drift, state.ledger) == (None, 0, 0, counted)
    assert next(session.store.history("s")).actor is Actor.TIMER
    assert session.state.head == state.head
    assert nudges(session, ("todo", {}))[0] == first
    assert session.state.ledger.continued == 2 * first
