"""What an agent has used, and its JSON."""

import pytest

from tildone.plan import codec
from tildone.plan.events import (
    UNKNOWN,
    Actor,
    AgentUsage,
    Author,
    Bound,
    Event,
    Nudged,
    Tripped,
    added,
    since,
    usage_in,
    usage_of_text,
    usage_out,
    usage_text,
)

NUDGE = Event("e", None, 5, Actor.TIMER, Nudged(1, 1), Author("Ada", "claude:1"))


def test_only_what_is_known_is_written() -> None:
    """An event without it is the same text as before."""
    assert '"used"' not in codec.encode(NUDGE)
    assert usage_out(UNKNOWN) == usage_out(None) == ""
    assert usage_out(AgentUsage(cost=0.41)) == '"used":{"cost":0.41},'
    assert usage_out(AgentUsage(1200, 300)) == '"used":{"in":1200,"out":300},'


@pytest.mark.parametrize(
    "data",
    [None, "much", [], {}, {"in": "1"}, {"in": True, "out": -1, "cost": False}, {"cost": -0.1}, {"cost": float("inf")}],
)
def test_invalid_amounts_are_unknown(data: object) -> None:
    """They are not worth losing an event."""
    assert usage_in(data) is None


def test_one_invalid_amount_leaves_the_others() -> None:
    assert usage_in({"in": 5, "out": "x", "cost": 2}) == AgentUsage(5, None, 2)


def test_the_tokens_are_those_in_and_out() -> None:
    assert (AgentUsage(5, 2).tokens, AgentUsage(None, 2).tokens, AgentUsage(cost=1).tokens) == (7, 2, None)


def test_a_difference_is_what_was_used_in_between() -> None:
    assert since(AgentUsage(5, 2, 0.5), AgentUsage(9, 2, 0.75)) == AgentUsage(4, 0, 0.25)
    assert since(UNKNOWN, AgentUsage(9, cost=1)) == AgentUsage(9, None, 1)


def test_an_amount_that_became_smaller_was_counted_again_from_0() -> None:
    """Whoever counts it was started again."""
    assert since(AgentUsage(50, 20, 5), AgentUsage(7, 30, 1)) == AgentUsage(7, 10, 1)


def test_a_sum_has_every_amount_that_one_of_them_has() -> None:
    assert added(AgentUsage(5, None, 1), AgentUsage(2, 3)) == AgentUsage(7, 3, 1)


def test_a_limit_in_dollars_has_cents() -> None:
    event = Event("e", None, 5, Actor.TIMER, Tripped(Bound.TASK_COST, 0.5))

    assert codec.decode(codec.encode(event)) == event


@pytest.mark.parametrize("usage", [AgentUsage(5, 7, 0.25), AgentUsage(cost=2.0), AgentUsage(tokens_out=3)])
def test_the_text_of_a_usage_is_read_back(usage: AgentUsage) -> None:
    assert usage_of_text(usage_text(usage)) == usage


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"in": -1}'])
def test_a_text_without_a_usage_has_none(text: str) -> None:
    assert usage_of_text(text) is None
