"""What a task took, as a short text."""

import pytest

from tildone.log.events import Bound
from tildone.views.bounds import describe_bound
from tildone.views.usage import dollars, usage_text


def test_a_short_text_has_what_is_known() -> None:
    assert usage_text(12 * 60_000, 84_200, 0.41) == "12 min · 84k · $0.41"
    assert usage_text(500, None, 0.0042) == "0 s · $0.0042"
    assert usage_text(tokens=950) == "950"
    assert usage_text(tokens=950, nudges=1) == "1 nudge · 950"
    assert usage_text(nudges=3) == "3 nudges"
    assert usage_text() == ""


@pytest.mark.parametrize(("amount", "words"), [(0, "$0.00"), (0.034, "$0.03"), (1.92, "$1.92"), (1234.5, "$1,234.50")])
def test_dollars(amount: float, words: str) -> None:
    assert dollars(amount) == words


def test_budgets_are_said_in_words() -> None:
    assert describe_bound(Bound.COST, 2.5) == "the agents of this plan have cost $2.50"
    assert describe_bound(Bound.TOKENS, 84_000) == "the agents of this plan have used 84k tokens"
    assert describe_bound(Bound.TASK_COST, 0.5) == "the task in progress has cost $0.50"
    assert describe_bound(Bound.TASK_TOKENS, 1_500_000) == "the task in progress has used 1.5M tokens"
    assert describe_bound(Bound.TASK_TIME, 30) == "the task in progress has taken 30 minutes"
