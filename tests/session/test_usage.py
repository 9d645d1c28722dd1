"""What an agent has used is recorded with its events, and budgets of its tasks let it go."""

from collections.abc import Iterator

import pytest

from tests.plans import session_on
from tildone.log.session import Session, SessionParts
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.events import Actor, AgentUsage, Author, Bound, Directive, DirectiveSet, Event
from tildone.plan.gate import GiveUp, GoOn, Patience, Turn
from tildone.plan.history.usage import MAX_EVENTS_READ, used_by_others
from tildone.stores.memory import MemoryStore

AGENT = "claude:1"


class Meter:
    """What the agent has used."""

    def __init__(self) -> None:
        self.cost = 0.0

    def __call__(self, agent: str) -> AgentUsage | None:
        assert agent == AGENT
        return AgentUsage(int(self.cost * 1000), cost=self.cost) if self.cost else None


def opened(patience: Patience | None = None) -> tuple[Session, Meter]:
    """A session of an agent with one task in progress, which began at 1 dollar."""
    clock = iter(range(0, 10**9, 10_000))
    ids = iter(range(10**9))
    meter = Meter()
    session = Session(
        MemoryStore(),
        "s",
        BRIEF,
        now=lambda: next(clock),
        new_id=lambda: f"e{next(ids)}",
        author=lambda actor: Author("Ada", "" if actor is Actor.USER else AGENT),
        patience=patience or Patience(),
        parts=SessionParts(usage=meter),
    )
    meter.cost = 1.0
    session.call("todo", {"add": ["one", "two"]})
    session.call("todo", {"start": 1})
    return session, meter


def usages(session: Session) -> list[AgentUsage | None]:
    return [event.usage for event in session.store.events(session.name)]


def test_events_of_an_agent_have_what_it_has_used() -> None:
    """A person's have not."""
    session, meter = opened()
    meter.cost = 1.5
    session.turn_ended()
    session.set_directive(Directive.PAUSE)

    assert usages(session)[-2:] == [AgentUsage(1500, cost=1.5), None]


def test_without_a_meter_nothing_is_recorded() -> None:
    session = session_on(dialect=BRIEF)
    session.call("todo", {"add": ["one"]})

    assert usages(session) == [None]


def test_the_agent_is_let_go_when_its_task_is_over_its_budget() -> None:
    session, meter = opened(Patience(task_cost=2))
    meter.cost = 2.9
    assert isinstance(session.turn_ended().decision, GoOn)
    meter.cost = 3.0

    assert session.budget_reached() == GiveUp(Bound.TASK_COST, 2)
    assert session.turn_ended().decision == GiveUp(Bound.TASK_COST, 2)
    assert session.state.tripped is not None


def test_the_next_task_has_a_budget_of_its_own() -> None:
    session, meter = opened(Patience(task_tokens=2000))
    meter.cost = 2.9
    session.call("todo", {"done": 1})
    session.call("todo", {"start": 2})
    meter.cost = 4.8
    assert isinstance(session.turn_ended().decision, GoOn)
    meter.cost = 4.9

    assert session.turn_ended().decision == GiveUp(Bound.TASK_TOKENS, 2000)


def test_the_time_in_progress_is_a_budget() -> None:
    session, _ = opened(Patience(task_minutes=1))

    decisions = [session.turn_ended().decision for _ in range(6)]

    assert GiveUp(Bound.TASK_TIME, 1) in decisions


def test_resume_starts_the_budget_of_the_task_again() -> None:
    session, meter = opened(Patience(task_cost=2))
    meter.cost = 3.5
    assert isinstance(session.turn_ended().decision, GiveUp)

    session.set_directive(Directive.GO)
    meter.cost = 5.0
    assert isinstance(session.turn_ended().decision, GoOn)
    meter.cost = 5.5

    assert session.turn_ended().decision == GiveUp(Bound.TASK_COST, 2)


def test_a_person_who_speaks_starts_it_again_although_nothing_was_counted() -> None:
    session, meter = opened(Patience(task_cost=2))
    meter.cost = 2.5
    session.call("todo", {"add": ["three"]})
    session.reset_counts()
    meter.cost = 3.1

    assert isinstance(session.turn_ended().decision, GoOn)


def test_without_a_budget_a_person_who_speaks_writes_nothing() -> None:
    session, _ = opened()
    session.reset_counts()

    assert not any(isinstance(event.fact, DirectiveSet) for event in session.store.events(session.name))


def test_the_conversation_has_a_budget_that_does_not_begin_again() -> None:
    session, meter = opened(Patience(cost=2, tokens=9000))
    meter.cost = 2.0
    assert session.turn_ended().decision == GiveUp(Bound.COST, 2)
    session.set_directive(Directive.GO)

    assert session.turn_ended(Turn(cost=1)).decision == GiveUp(Bound.COST, 2)
    session.patience = Patience(tokens=2000)
    assert session.budget_reached() == GiveUp(Bound.TOKENS, 2000)


def test_a_finished_plan_reports_no_budget() -> None:
    session, meter = opened(Patience(cost=2))
    meter.cost = 9.0
    session.call("todo", {"done": [1, 2]})

    assert session.budget_reached() is None
    assert session.plan.tasks


def test_a_task_that_is_not_in_progress_has_no_budget() -> None:
    session, meter = opened(Patience(task_cost=2))
    meter.cost = 9.0
    session.call("todo", {"done": 1})
    session.change((), Actor.USER)

    assert session.budget_reached() is None


def joined(session: Session, agent: str, cost: float, patience: Patience) -> Session:
    """A session of another agent on the same plan, which has used this much."""
    clock, ids = iter(range(10**6, 10**7)), iter(range(10**9))
    return Session(
        session.store,
        "s",
        BRIEF,
        now=lambda: next(clock),
        new_id=lambda: f"{agent}{next(ids)}",
        author=lambda actor: Author("Ada", "" if actor is Actor.USER else agent),
        patience=patience,
        parts=SessionParts(usage=lambda _agent: AgentUsage(int(cost * 1000), cost=cost)),
    )


@pytest.mark.parametrize(
    ("patience", "bound", "limit"),
    [(Patience(cost=5), Bound.COST, 5), (Patience(tokens=5000), Bound.TOKENS, 5000)],
)
def test_the_budget_of_a_plan_is_that_of_all_its_agents(patience: Patience, bound: Bound, limit: float) -> None:
    """Two agents, each below the limit, and together above it."""
    session, meter = opened(patience)
    meter.cost = 3.0
    assert isinstance(session.turn_ended().decision, GoOn)

    other = joined(session, "codex:2", 2.0, patience)

    assert other.budget_reached() == GiveUp(bound, limit)
    assert other.turn_ended().decision == GiveUp(bound, limit)
    assert session.budget_reached() == GiveUp(bound, limit)


def test_an_agent_that_counts_from_0_again_is_counted_with_what_it_used_before() -> None:
    patience = Patience(cost=5)
    session, meter = opened(patience)
    meter.cost = 3.0
    session.turn_ended()
    meter.cost = 0.5
    session.turn_ended()

    assert isinstance(joined(session, "codex:2", 1.4, patience).turn_ended().decision, GoOn)
    assert joined(session, "codex:3", 0.2, patience).turn_ended().decision == GiveUp(Bound.COST, 5)


def test_the_budget_of_a_plan_reads_a_bounded_part_of_its_history() -> None:
    session, meter = opened(Patience(cost=5))
    meter.cost = 3.0
    session.turn_ended()
    read: list[Event] = []
    newest_first = session.store.history("s")
    *_, oldest = session.store.history("s")

    def endless() -> Iterator[Event]:
        yield from newest_first
        while True:
            read.append(oldest)
            yield oldest

    assert used_by_others(endless(), "codex:2").cost == 3.0
    assert len(read) <= MAX_EVENTS_READ
