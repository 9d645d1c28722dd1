"""A session's history as a person reads it: who did what, when, and on which branch."""

from __future__ import annotations

from enum import Enum

from tildone.core.plan import Plan, Status
from tildone.history.changes import changes_in, grouped_sentences
from tildone.history.durations import ENDING_KINDS, finished_durations, format_elapsed, in_progress_since
from tildone.history.matching import match_plans, task_at
from tildone.kit.theme import Role, Span
from tildone.log.events import Directive, DirectiveSet, Labelled, Nudged, PlanChanged, Tripped
from tildone.log.refs import SHORT_ID_LENGTH, short_ids
from tildone.log.tree import by_id, labels
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.bounds import describe_bound
from tildone.views.line_layout import hanging_lines
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tildone.history.durations import StartTimes
    from tildone.log.events import Event
    from tildone.views.line_layout import Line, TextAndSuffix

    Told = list[tuple[str, int | None]]

MAX_LOOKBACK_EVENTS = 200
"""How many events more are read to find out since when a task was in progress."""

_COURSES = {
    Directive.GO: "let the agent be told to go on",
    Directive.PAUSE: "paused: the agent is not told to go on",
    Directive.STOP: "stopped the agent",
}


class HeadRelation(Enum):
    """Where an event stands towards the head."""

    HEAD = "*"
    ON_BRANCH = "│"
    ELSEWHERE = "·"


@value
class TimelineRow:
    """An event as a history shows it: all texts are ready for a screen.

    `took` says of each text how many milliseconds the task was in progress that it tells the end of, if that is known.
    `after` is the event it follows, where that is not the one of the row before.
    """

    mark: HeadRelation
    id: str
    when: str
    who: str
    what: tuple[str, ...]
    label: str | None = None
    after: str | None = None
    took: tuple[int | None, ...] = ()


@value
class _Stand:
    """The plan after an event, and since when its tasks are in progress."""

    plan: Plan
    running: StartTimes


def timeline(
    events: Iterable[Event], head: str | None, when: Callable[[int], str], limit: int | None = None
) -> list[TimelineRow]:
    """One row per event, in the order of writing, for all events of a session or for its `newest_events`.

    `when` says a moment in milliseconds as the reader wants to see it; `limit` is how many nudges are given at most.
    """
    known = by_id(events)
    here = _way(known, head)
    short = {whole: printable(some) for whole, some in short_ids(known).items()}
    names = labels(known.values())
    stands: dict[str | None, _Stand] = {None: _Stand(Plan(), {})}
    rows: list[TimelineRow] = []
    before = next((event.parent for event in known.values()), None)
    for event in known.values():
        # What came before the first of the newest is not known; taking it for the same tells nothing wrong.
        stand = stands.get(event.parent) or _Stand(_left(event), {})
        stands[event.id], told = _told(event, stand, short, limit)
        rows.append(
            TimelineRow(
                _mark(event.id, head, here),
                short[event.id],
                when(event.at),
                event.actor.value,
                tuple(text for text, _ in told),
                printable(names[event.id]) if event.id in names else None,
                None if event.parent == before else "nothing" if event.parent is None else short[event.parent],
                tuple(took for _, took in told),
            )
        )
        before = event.id
    return rows


def newest_events(newest_first: Iterable[Event], limit: int) -> list[Event]:
    """As much of a history as it takes to tell its last `limit` events, oldest first.

    That is one snapshot of the plan more, to compare the first of them with, and then as much as it takes to know
    since when the tasks were in progress that no longer are.
    """
    taken: list[Event] = []
    untold: set[str] | None = None
    since: list[set[str]] = []
    for event in newest_first:
        taken.append(event)
        if not isinstance(event.fact, PlanChanged):
            continue
        active = {task.text for task in event.fact.plan.tasks if task.status is Status.IN_PROGRESS}
        if len(taken) > limit:
            untold = active - active.intersection(*since) if untold is None else untold & active
            if not untold or len(taken) > limit + MAX_LOOKBACK_EVENTS:
                break
        since.append(active)
    return taken[::-1]


def row_lines(row: TimelineRow, columns: int | None = None) -> list[Line]:
    """A row for a terminal: a line for each thing that was done, none wider than `columns`."""
    lead = (
        Span(row.mark.value, Role.ACCENT),
        Span(f" {row.id}", Role.WARNING),
        Span(f"  {row.when}  {row.who}", Role.MUTED),
    )
    aside = (f"  ({row.label})" if row.label else "") + (f"  after {row.after}" if row.after else "")
    said: list[TextAndSuffix] = []
    for number, text in enumerate(row.what):
        took = row.took[number] if row.took else None
        beside = () if took is None else (Span(f" ({format_elapsed(took)})", Role.MUTED),)
        said.append((Span(text, Role.TEXT), beside if number or not aside else (*beside, Span(aside, Role.ACCENT))))
    return hanging_lines(lead, said, columns)


def _left(event: Event) -> Plan:
    return event.fact.plan if isinstance(event.fact, PlanChanged) else Plan()


def _way(known: Mapping[str, Event], head: str | None) -> set[str]:
    """The events on the way to the head, as far as they are known."""
    way = set()
    while head is not None and head in known:
        way.add(head)
        head = known[head].parent
    return way


def _mark(event: str, head: str | None, here: set[str]) -> HeadRelation:
    if event == head:
        return HeadRelation.HEAD
    return HeadRelation.ON_BRANCH if event in here else HeadRelation.ELSEWHERE


def _told(event: Event, stand: _Stand, short: Mapping[str, str], limit: int | None) -> tuple[_Stand, Told]:
    """What there is after an event, and what it did."""
    if not isinstance(event.fact, PlanChanged):
        return stand, [(_what(event.fact, short, limit), None)]
    match = match_plans(stand.plan, event.fact.plan)
    ends = finished_durations(match, stand.running, event.at)
    took = {task_at(match.after, spot).text: length for spot, length in ends.items()}
    told = [
        (text, took.get(told[0].subject) if len(told) == 1 and told[0].what in ENDING_KINDS else None)
        for text, told in grouped_sentences(changes_in(match))
    ]
    after = _Stand(event.fact.plan, in_progress_since(match, stand.running, event.at))
    return after, told or [("left the plan as it was", None)]


def _what(fact: Nudged | Tripped | DirectiveSet | Labelled, short: Mapping[str, str], limit: int | None) -> str:
    match fact:
        case Nudged(count):
            return f"told to go on ({count if limit is None else f'{count}/{limit}'})"
        case Tripped(bound, reached):
            return f"gave up: {describe_bound(bound, reached)}"
        case DirectiveSet(course):
            return _COURSES[course]
        case Labelled(target, ""):
            return f"took the name off {_short(target, short)}"
        case Labelled(target, label):  # exhaustive
            return f"named {_short(target, short)} “{printable(label)}”"


def _short(target: str, short: Mapping[str, str]) -> str:
    """An event's short id; it may be older than what is told, or of a session from elsewhere."""
    return short.get(target) or printable(target[:SHORT_ID_LENGTH])
