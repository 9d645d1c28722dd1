"""The strip: a plan in one row of cells, one for each task, with a gap between phases.

Statuses differ in shape and weight, so the strip can be read without colours:

    ━━ ━━━●· ─!─ ──

If there is not enough room for all cells, the gaps are left out; if that is not enough, neighbouring tasks share cells.
A task in progress or a blocked one keeps a cell of its own, or shares it with neighbours of the same status.
"""

from __future__ import annotations

from itertools import groupby, pairwise

from tildone.core.plan import Status
from tildone.core.query import progress
from tildone.kit.theme import Role, Span
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan

    Line = tuple[Span, ...]

GAP = " "
_CELLS = {
    Status.PENDING: ("─", Role.DIM),
    Status.IN_PROGRESS: ("●", Role.ACCENT),
    Status.COMPLETED: ("━", Role.SUCCESS),
    Status.ABANDONED: ("·", Role.DIM),
    Status.BLOCKED: ("!", Role.WARNING),
}
_SIGNS = {
    Status.PENDING: ".",
    Status.IN_PROGRESS: "a",
    Status.COMPLETED: "d",
    Status.ABANDONED: "x",
    Status.BLOCKED: "b",
}
_STATUSES = {sign: status for status, sign in _SIGNS.items()}
_PROMINENT = frozenset({Status.IN_PROGRESS, Status.BLOCKED})
"""The statuses that do not disappear among others."""


def strip_signs(plan: Plan) -> str:
    """Return a plan as one letter for each task, with a space between phases: `dd dddax .b. ..`."""
    return " ".join("".join(_SIGNS[task.status] for task in phase.tasks) for phase in plan.phases if phase.tasks)


def strip_spans(plan: Plan, columns: int) -> Line:
    """Return the strip in at most this many columns, with colours."""
    return signs_spans(strip_signs(plan), columns)


def signs_spans(signs: str, columns: int) -> Line:
    """Return the strip of what `strip_signs` returned, in at most this many columns."""
    runs = [(status, len(list(run))) for status, run in groupby(_cells(signs, columns))]
    return tuple(
        Span(GAP * count) if status is None else Span(_CELLS[status][0] * count, _CELLS[status][1])
        for status, count in runs
    )


def count_text(plan: Plan) -> str:
    """Return how many tasks are closed, of all tasks: `6/12`; empty without tasks."""
    done = progress(plan)
    return f"{done.closed}/{done.total}" if done.total else ""


def _cells(signs: str, columns: int) -> list[Status | None]:
    phases = [[_STATUSES[sign] for sign in phase] for phase in signs.split()]
    statuses = [status for phase in phases for status in phase]
    if len(statuses) + len(phases) - 1 <= columns:
        with_gaps = [cell for phase in phases for cell in (None, *phase)]
        return with_gaps[1:]
    return [*(statuses if len(statuses) <= columns else _shared(statuses, max(columns, 0)))]


def _shared(statuses: Sequence[Status], columns: int) -> list[Status]:
    """Return fewer cells than tasks. Each run of a prominent status has at least one cell, as far as there is room."""
    groups = [list(run) for _, run in groupby(statuses, lambda status: status if status in _PROMINENT else None)]
    prominent = [group[0] for group in groups if group[0] in _PROMINENT]
    if len(prominent) >= columns:
        return [status for status, _ in groupby(prominent)][:columns]
    # What each group may have beyond the cell that it has in any case.
    more = [len(group) - (group[0] in _PROMINENT) for group in groups]
    shares = _allotted(more, columns - len(prominent))
    return [
        cell
        for group, share in zip(groups, shares, strict=True)
        for cell in _buckets(group, share + (group[0] in _PROMINENT))
    ]


def _allotted(sizes: Sequence[int], cells: int) -> list[int]:
    """Divide cells among groups in proportion to their sizes, which are more in all than there are cells."""
    total = sum(sizes)
    shares = [size * cells // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda index: -(sizes[index] * cells % total))
    for index in by_remainder[: cells - sum(shares)]:
        shares[index] += 1
    return shares


def _buckets(group: Sequence[Status], cells: int) -> list[Status]:
    """Divide a group evenly into cells; each has the status of most of its tasks."""
    ends = [len(group) * cell // cells for cell in range(cells + 1)] if cells else []
    buckets = [group[start:end] for start, end in pairwise(ends)]
    return [max(dict.fromkeys(bucket), key=bucket.count) for bucket in buckets]
