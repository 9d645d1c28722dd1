"""Requests to a model, and which of them belong to the times in which tasks were in progress; rows of a timeline."""

from __future__ import annotations

from bisect import bisect_right

from tildone.base import TYPE_CHECKING, value
from tildone.plan.events import AgentUsage
from tildone.plan.text.amounts import elapsed
from tildone.plan.text.styles import Role, Span, display_width, hanging_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tildone.plan.history.timeline import TimelineRow
    from tildone.plan.text.styles import Line, TextAndSuffix

    RequestsSpan = tuple[int, int]


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


def usage_within(spans: Sequence[Sequence[RequestsSpan]], requests: Sequence[TokenUse]) -> Iterator[AgentUsage]:
    """Yield, for each task, the usage of the requests that were answered while only this task was in progress.

    `spans` has the times in progress of each task, from start to end. `requests` are in the order of their times.
    """
    answered = [request.at for request in requests]
    # How many tasks were in progress when each request was answered, as differences of neighbours.
    differences = [0] * (len(requests) + 1)
    # The end of a time counts, because an answer caused it.
    ranges = [[(bisect_right(answered, start), bisect_right(answered, end)) for start, end in times] for times in spans]
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


def _usage(tokens: int, cost: float) -> AgentUsage:
    return AgentUsage(tokens_in=tokens or None, cost=cost or None)


def rows_lines(rows: Sequence[TimelineRow], columns: int | None = None) -> list[Line]:
    width = max((display_width(row.who) for row in rows), default=0)
    return [line for row in rows for line in row_lines(row, columns, width)]


def row_lines(row: TimelineRow, columns: int | None = None, who_width: int = 0) -> list[Line]:
    """Return the lines of a row: one for each description, none wider than `columns`.

    The author is padded to `who_width` columns.
    """
    padding = " " * (who_width - display_width(row.who))
    lead = (
        Span(row.mark.value, Role.ACCENT),
        Span(f" {row.id}", Role.WARNING),
        Span(f"  {row.when}  {row.who}{padding}", Role.MUTED),
    )
    note = (f"  ({row.label})" if row.label else "") + (f"  after {row.after}" if row.after else "")
    texts: list[TextAndSuffix] = []
    for number, text in enumerate(row.what):
        duration = row.durations[number] if row.durations else None
        suffix: Line = () if duration is None else (Span(f" ({elapsed(duration)})", Role.MUTED),)
        if note and not number:
            suffix = (*suffix, Span(note, Role.ACCENT))
        texts.append((Span(text, Role.TEXT), suffix))
    return hanging_lines(lead, texts, columns)
