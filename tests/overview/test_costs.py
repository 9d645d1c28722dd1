"""What the agents of a session have cost."""

from collections.abc import Iterator

from tildone.app import sessions as costs
from tildone.app.sessions import AgentCost, CostsRead, spent
from tildone.log.presence import Presence
from tildone.plan.events import Actor, AgentUsage, Author, Directive, DirectiveSet, Event


def event(number: int, agent: str = "", cost: float | None = None) -> Event:
    usage = AgentUsage(1, 1, cost) if agent else None
    return Event(f"e{number}", None, number, Actor.AGENT, DirectiveSet(Directive.GO), Author("", agent), usage=usage)


def newest_first(*events: Event) -> Iterator[Event]:
    return reversed(events)


def test_the_newest_figure_of_each_agent_counts() -> None:
    read = CostsRead(newest_first(event(1, "a", 1.0), event(2, "b", 0.5), event(3, "a", 1.5), event(4), event(5, "a")))

    assert read.costs() == (AgentCost("a", 1.5, 1.5), AgentCost("b", 0.5, 0.5))


def test_a_figure_that_became_smaller_was_counted_from_0_again() -> None:
    read = CostsRead(newest_first(event(1, "a", 2.0), event(2, "a", 0.5), event(3, "a", 0.75)))

    assert read.costs() == (AgentCost("a", 2.75, 0.75),)


def test_only_what_is_new_is_read() -> None:
    known = (AgentCost("a", 2.75, 0.75),)
    events = newest_first(event(1, "a", 99.0), event(2, "a", 0.75), event(3, "a", 1.0))

    assert CostsRead(events, known, "e2").costs() == (AgentCost("a", 3.0, 1.0),)
    assert next(events).id == "e1"


def test_on_another_branch_all_of_it_is_read() -> None:
    known = (AgentCost("a", 2.75, 0.75),)

    read = CostsRead(newest_first(event(1, "a", 1.0), event(2, "b", 2.0)), known, "gone")

    assert read.costs() == (AgentCost("a", 1.0, 1.0), AgentCost("b", 2.0, 2.0))


def test_a_long_history_is_not_read_to_its_end() -> None:
    events = newest_first(*(event(number, f"a{number}", 1.0) for number in range(costs.MAX_EVENTS_READ + 5)))

    assert len(CostsRead(events).costs()) == costs.MAX_EVENTS_READ


def test_what_was_read_for_the_state_is_not_read_again() -> None:
    read = CostsRead(newest_first(event(1, "a", 1.0), event(2, "b", 2.0)))
    next(iter(read))

    assert {cost.agent for cost in read.costs()} == {"a", "b"}


def test_an_agent_at_work_may_have_cost_more_than_its_log_says() -> None:
    present = [Presence("a", "s", cost=1.0), Presence("b", "s", cost=0.25), Presence("c", "s", cost=0.5)]

    assert spent((AgentCost("a", 2.75, 0.75), AgentCost("b", 0.5, 0.5)), present) == 2.75 + 0.25 + 0.5 + 0.5
