"""Requests to a model, and which of them belong to the times in which tasks were in progress."""

from __future__ import annotations

from bisect import bisect_right

from tildone.log.usage import AgentUsage
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Span = tuple[int, int]


@value
class TokenUse:
    """The tokens and the cost, in dollars, of one request to a model, and when it was answered."""

    at: int
    tokens: int
    cost: float = 0


def total_usage(requests: Iterable[TokenUse]) -> AgentUsage:
    """Return the usage of all requests; what is 0 is unknown."""
    requests = tuple(requests)
    return _usage(sum(each.tokens for each in requests), sum(each.cost for each in requests))


def usage_within(spans: Sequence[Sequence[Span]], requests: Sequence[TokenUse]) -> Iterator[AgentUsage]:
    """Yield, for each task, the usage of the requests that were answered while only this task was in progress.

    `spans` has the times in progress of each task, from start to end. `requests` are in the order of their times.
    """
    answered = [request.at for request in requests]
    # How many tasks were in progress when each request was answered, as differences of neighbours.
    differences = [0] * (len(requests) + 1)
    ranges = [[_answered_within(answered, *each) for each in of_task] for of_task in spans]
    for first, end in (pair for of_task in ranges for pair in of_task):
        differences[first] += 1
        differences[end] -= 1
    tokens, costs, at_work = [0], [0.0], 0
    for request, difference in zip(requests, differences, strict=False):
        at_work += difference
        tokens.append(tokens[-1] + (request.tokens if at_work == 1 else 0))
        costs.append(costs[-1] + (request.cost if at_work == 1 else 0))
    for of_task in ranges:
        used = sum(tokens[end] - tokens[first] for first, end in of_task)
        yield _usage(used, sum(costs[end] - costs[first] for first, end in of_task))


def _answered_within(answered: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """The range of the requests that were answered within a time; its end counts, because an answer caused it."""
    return bisect_right(answered, start), bisect_right(answered, end)


def _usage(tokens: int, cost: float) -> AgentUsage:
    return AgentUsage(tokens_in=tokens or None, cost=cost or None)
