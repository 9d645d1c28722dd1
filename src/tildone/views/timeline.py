"""A session's history as a person reads it: who did what, when, and on which branch."""

from enum import Enum

from tildone.core.plan import Plan
from tildone.kit.text import clipped, width
from tildone.kit.theme import Role, Span, plain
from tildone.log.events import Bound, Labelled, Nudged, PlanChanged, Tripped
from tildone.log.tree import branch, by_id, labels
from tildone.value import value
from tildone.views.changes import changes, told
from tildone.views.harmless import seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tildone.log.events import Event, Fact

    Line = tuple[Span, ...]

SHORTEST_ID = 4

_STANDSTILL = {Bound.NUDGES: "nothing changed", Bound.DRIFT: "no task was closed or added"}


class Mark(Enum):
    """Where an event stands towards the head."""

    HEAD = "*"
    ON_BRANCH = "│"
    ELSEWHERE = "·"


@value
class Row:
    """An event as a history shows it: all texts are ready for a screen.

    `after` is the event it follows, where that is not the one of the row before.
    """

    mark: Mark
    id: str
    when: str
    who: str
    what: tuple[str, ...]
    label: str | None = None
    after: str | None = None


def timeline(
    events: "Iterable[Event]", head: str | None, when: "Callable[[int], str]", limit: int | None = None
) -> list[Row]:
    """One row an event, for every event of a session in the order they were written.

    `when` says a moment in milliseconds as the reader wants to see it; `limit` is how many nudges are given at most.
    """
    known = by_id(events)
    here = {event.id for event in branch(known, head)}
    short = short_ids(known)
    names = labels(known.values())
    plans: dict[str | None, Plan] = {None: Plan()}
    rows: list[Row] = []
    before: str | None = None
    for event in known.values():
        plan = plans[event.parent]
        plans[event.id] = event.fact.plan if isinstance(event.fact, PlanChanged) else plan
        rows.append(
            Row(
                _mark(event.id, head, here),
                short[event.id],
                when(event.at),
                event.actor.value,
                _what(event.fact, plan, short, limit),
                seen(names[event.id]) if event.id in names else None,
                None if event.parent == before else short[event.parent] if event.parent else "nothing",
            )
        )
        before = event.id
    return rows


def row_lines(row: Row, columns: int | None = None) -> "list[Line]":
    """A row for a terminal: a line for each thing that was done, none wider than `columns`."""
    first, *more = row.what
    lead = (
        Span(row.mark.value, Role.ACCENT),
        Span(f" {row.id}", Role.WARNING),
        Span(f"  {row.when}  {row.who}  ", Role.MUTED),
    )
    aside = (f"  ({row.label})" if row.label else "") + (f"  after {row.after}" if row.after else "")
    lines: list[Line] = [(*lead, Span(first, Role.TEXT), Span(aside, Role.ACCENT))]
    lines += [(Span(" " * width(plain(lead))), Span(line, Role.TEXT)) for line in more]
    return lines if columns is None else [_cut(line, columns) for line in lines]


def short_ids(ids: "Iterable[str]") -> dict[str, str]:
    """Each id by as many of its first characters as tell all of them apart."""
    every = list(ids)
    length = SHORTEST_ID
    while len({one[:length] for one in every}) < len(set(every)):
        length += 1
    return {one: seen(one[:length]) for one in every}


def _mark(event: str, head: str | None, here: set[str]) -> Mark:
    if event == head:
        return Mark.HEAD
    return Mark.ON_BRANCH if event in here else Mark.ELSEWHERE


def _what(fact: "Fact", before: Plan, short: "Mapping[str, str]", limit: int | None) -> tuple[str, ...]:
    match fact:
        case PlanChanged(after):
            return tuple(told(changes(before, after))) or ("left the plan as it was",)
        case Nudged(count):
            return (f"told to go on ({count if limit is None else f'{count}/{limit}'})",)
        case Tripped(bound, reached):
            return (f"gave up: told to go on {reached} times, and {_STANDSTILL[bound]}",)
        case Labelled(target, ""):
            return (f"took the name off {_short(target, short)}",)
        case Labelled(target, label):  # exhaustive
            return (f"named {_short(target, short)} “{seen(label)}”",)


def _short(target: str, short: "Mapping[str, str]") -> str:
    """An event's short id; a session from elsewhere may name one that it does not have."""
    return short.get(target) or seen(target)


def _cut(line: "Line", columns: int) -> "Line":
    cut: list[Span] = []
    for span in line:
        text = plain((span,))
        if width(text) > columns:
            return (*cut, Span(clipped(text, columns), span.role))
        columns -= width(text)
        cut.append(span)
    return tuple(cut)
