"""A chain of nudges ends, whatever the agent does; what an agent has used is recorded, and budgets let it go."""

from collections.abc import Callable, Iterator
from itertools import count, cycle

import pytest

from tests.plans import session_on
from tildone.base import replace
from tildone.log.session import Session, SessionParts
from tildone.log.store import Store
from tildone.plan.dialects import Dialect
from tildone.plan.dialects.brief import DIALECT as BRIEF
from tildone.plan.dialects.declared import DIALECT as DECLARED
from tildone.plan.events import Actor, AgentUsage, Author, Bound, Directive, DirectiveSet, Event
from tildone.plan.gate import GiveUp, GoOn, Patience, Turn
from tildone.plan.history.usage import MAX_EVENTS_READ, used_by_others
from tildone.stores.memory import MemoryStore

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


COUNTERS = count()


def counter() -> Callable[[], str]:
    """Ids that no other session has."""
    own, numbers = next(COUNTERS), count()
    return lambda: f"{own}-{next(numbers)}"


def with_two() -> Session:
    session = session_on(dialect=BRIEF)
    session.call("todo", {"add": ["one", "two"]})
    return session


def write(*texts: str) -> Call:
    return "TodoWrite", {"summary": "s", "todos": [{"content": text, "status": "pending"} for text in texts]}


@pytest.mark.parametrize(
    ("dialect", "calls", "most"),
    [
        *((BRIEF, [("todo", {closed: 1}), ("todo", {"start": 1})], 64) for closed in ("done", "drop")),
        (DECLARED, [write("a", "b"), write("a")], 64),
        (BRIEF, [("todo", {"add": [f"more {number}"]}) for number in range(MOST)], 20 + 64),
    ],
    ids=["done and reopened", "dropped and reopened", "a list that grows and shrinks", "only added"],
)
def test_an_agent_that_finishes_nothing_is_let_go(dialect: Dialect, calls: list[Call], most: int) -> None:
    session = session_on(dialect=dialect)
    session.call(*(write("a") if dialect is DECLARED else ("todo", {"add": ["one", "two"]})))

    times, decision = nudges(session, *calls)

    assert decision == GiveUp(Bound.DRIFT, 60)
    assert times <= most


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
    """A task that it closes and undoes counts once."""
    session, closing = with_two(), with_two()
    for each in (session, closing):
        each.author_of = lambda actor: Author("Ada", "claude:1" if actor is Actor.USER else "")
    session.turn_ended()
    session.call("todo", {"start": 2})
    for _ in range(5):
        session.turn_ended()
    states = [session.state]
    for step in (session.undo, session.redo):
        step()
        states.append(session.state)
    times, decision = 0, closing.turn_ended().decision
    while isinstance(decision, GoOn) and times < MOST:
        if times % 2:
            closing.undo()
        else:
            closing.call("todo", {"done": 1})
        times, decision = times + 1, closing.turn_ended().decision

    assert [(state.ledger.continued, state.drift) for state in states] == [(6, 6)] * 3
    assert decision == GiveUp(Bound.DRIFT, 60)


def test_nudges_of_subagents_count_among_those_since_a_person_spoke_and_no_others() -> None:
    """An agent without a plan does not count them."""
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

    planless, child = session_on(), session_on(dialect=BRIEF)
    child = child.using(parts=replace(child.parts, parent=planless))
    child.call("todo", {"add": ["look"]})
    assert isinstance(child.turn_ended().decision, GoOn)
    assert planless.state.head is None


def test_an_end_at_a_bound_is_recorded_once_and_a_person_resets_counts() -> None:
    """By undoing a change, those since then; by a pause, all."""
    session, undone, paused = with_two(), with_two(), with_two()
    undone.call("todo", {"start": 2})
    for each in (undone, paused):
        each.turn_ended()

    for _ in range(2):
        session.let_go(Bound.REQUESTS, 5000)
    undone.undo()
    paused.set_directive(Directive.PAUSE)

    assert session.state.tripped
    assert len(list(session.store.events("s"))) == 2
    assert undone.state.ledger.continued == 0
    assert not paused.state.has_counts


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


AGENT = "claude:1"


class Meter:
    """What the agent has used."""

    def __init__(self) -> None:
        self.cost = 0.0

    def __call__(self, agent: str) -> AgentUsage | None:
        assert agent == AGENT
        return AgentUsage(int(self.cost * 1000), cost=self.cost) if self.cost else None


def of_agent(
    store: Store, agent: str, patience: Patience, usage: Callable[[str], AgentUsage | None], begun: int = 0
) -> Session:
    clock = count(begun, 10_000)
    return Session(
        store,
        "s",
        BRIEF,
        now=lambda: next(clock),
        new_id=counter(),
        author=lambda actor: Author("Ada", "" if actor is Actor.USER else agent),
        patience=patience,
        parts=SessionParts(usage=usage),
    )


def opened(patience: Patience | None = None) -> tuple[Session, Meter]:
    """A session of an agent with one task in progress, which began at 1 dollar."""
    meter = Meter()
    session = of_agent(MemoryStore(), AGENT, patience or Patience(), meter)
    meter.cost = 1.0
    session.call("todo", {"add": ["one", "two"]})
    session.call("todo", {"start": 1})
    return session, meter


def usages(session: Session) -> list[AgentUsage | None]:
    return [event.usage for event in session.store.events(session.name)]


def test_events_of_an_agent_have_what_it_has_used() -> None:
    """A person's have not, nor have those without a meter. Without a budget, a person who speaks writes nothing."""
    session, meter = opened()
    meter.cost = 1.5
    session.turn_ended()
    session.set_directive(Directive.PAUSE)

    assert usages(session)[-2:] == [AgentUsage(1500, cost=1.5), None]

    session = session_on(dialect=BRIEF)
    session.call("todo", {"add": ["one"]})

    assert usages(session) == [None]

    session, _ = opened()
    session.reset_counts()

    assert not any(isinstance(event.fact, DirectiveSet) for event in session.store.events(session.name))


def test_the_agent_is_let_go_when_its_task_is_over_its_budget() -> None:
    """The next task has a budget of its own."""
    session, meter = opened(Patience(task_cost=2))
    meter.cost = 2.9
    assert isinstance(session.turn_ended().decision, GoOn)
    meter.cost = 3.0
    assert session.budget_reached() == session.turn_ended().decision == GiveUp(Bound.TASK_COST, 2)
    assert session.state.tripped is not None

    session, meter = opened(Patience(task_tokens=2000))
    meter.cost = 2.9
    session.call("todo", {"done": 1})
    session.call("todo", {"start": 2})
    meter.cost = 4.8
    assert isinstance(session.turn_ended().decision, GoOn)
    meter.cost = 4.9
    assert session.turn_ended().decision == GiveUp(Bound.TASK_TOKENS, 2000)

    session, _ = opened(Patience(task_minutes=1))
    assert GiveUp(Bound.TASK_TIME, 1) in [session.turn_ended().decision for _ in range(6)]


def test_resume_and_a_person_who_speaks_start_the_budget_of_the_task_again() -> None:
    """Although nothing was counted."""
    session, meter = opened(Patience(task_cost=2))
    meter.cost = 3.5
    assert isinstance(session.turn_ended().decision, GiveUp)

    session.set_directive(Directive.GO)
    meter.cost = 5.0
    assert isinstance(session.turn_ended().decision, GoOn)
    meter.cost = 5.5
    assert session.turn_ended().decision == GiveUp(Bound.TASK_COST, 2)

    session, meter = opened(Patience(task_cost=2))
    meter.cost = 2.5
    session.call("todo", {"add": ["three"]})
    session.reset_counts()
    meter.cost = 3.1
    assert isinstance(session.turn_ended().decision, GoOn)


def test_the_conversation_has_a_budget_that_does_not_begin_again() -> None:
    session, meter = opened(Patience(cost=2, tokens=9000))
    meter.cost = 2.0
    assert session.turn_ended().decision == GiveUp(Bound.COST, 2)
    session.set_directive(Directive.GO)

    assert session.turn_ended(Turn(cost=1)).decision == GiveUp(Bound.COST, 2)
    session.patience = Patience(tokens=2000)
    assert session.budget_reached() == GiveUp(Bound.TOKENS, 2000)


def test_a_finished_plan_and_a_task_that_is_not_in_progress_have_no_budget() -> None:
    session, meter = opened(Patience(cost=2))
    meter.cost = 9.0
    session.call("todo", {"done": [1, 2]})

    assert session.budget_reached() is None
    assert session.plan.tasks

    session, meter = opened(Patience(task_cost=2))
    meter.cost = 9.0
    session.call("todo", {"done": 1})
    session.change((), Actor.USER)

    assert session.budget_reached() is None


def joined(session: Session, agent: str, cost: float, patience: Patience) -> Session:
    """A session of another agent on the same plan, which has used this much."""
    return of_agent(session.store, agent, patience, lambda _agent: AgentUsage(int(cost * 1000), cost=cost), begun=10**6)


@pytest.mark.parametrize(
    ("patience", "reached"),
    [(Patience(cost=5), GiveUp(Bound.COST, 5)), (Patience(tokens=5000), GiveUp(Bound.TOKENS, 5000))],
)
def test_the_budget_of_a_plan_is_that_of_all_its_agents(patience: Patience, reached: GiveUp) -> None:
    """Two agents, each below the limit, and together above it. What one used before it counts from 0 again counts."""
    session, meter = opened(patience)
    meter.cost = 3.0
    assert isinstance(session.turn_ended().decision, GoOn)

    other = joined(session, "codex:2", 2.0, patience)

    assert other.budget_reached() == other.turn_ended().decision == session.budget_reached() == reached

    session, meter = opened(patience)
    for cost in (3.0, 0.5):
        meter.cost = cost
        session.turn_ended()
    assert isinstance(joined(session, "codex:2", 1.4, patience).turn_ended().decision, GoOn)
    assert joined(session, "codex:3", 0.2, patience).turn_ended().decision == reached


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
