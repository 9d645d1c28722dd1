"""The timeline of a session: one row per event with its author, time, changes and branch; and this as data for JSON."""

from __future__ import annotations

from enum import Enum

from tildone.base import TYPE_CHECKING, value
from tildone.plan.events import Directive, DirectiveSet, Labelled, Nudged, PlanChanged, PlanFact, Tripped, by_id, labels
from tildone.plan.history.authors import of_several_people, who
from tildone.plan.history.changes import (
    ENDING_KINDS,
    changes_in,
    describe_change,
    differing_in_place,
    finished_durations,
    grouped_sentences,
    in_progress_since,
    match_plans,
    narrowed,
    task_at,
)
from tildone.plan.history.refs import SHORT_ID_LENGTH, short_ids
from tildone.plan.model import Plan, Status, number_ranges
from tildone.plan.runs import fact_name
from tildone.plan.text.amounts import describe_bound, elapsed
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, display_width, hanging_lines
from tildone.plan.text.views_runs import describe_run_fact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tildone.plan.events import Author, Event
    from tildone.plan.history.blame import TaskHistory, TaskStep
    from tildone.plan.history.changes import StartTimes
    from tildone.plan.runs import RunFact
    from tildone.plan.text.styles import Line, TextAndSuffix

    When = Callable[[int], str]

    Data = dict[str, object]

    Descriptions = list[tuple[str, int | None]]

    PlanState = tuple[Plan, StartTimes]
    """The plan after an event, and the start times of its tasks in progress."""


MAX_LOOKBACK_EVENTS = 200
"""How many more events are read to find the start of tasks in progress."""

_DIRECTIVES = {
    Directive.GO: "resumed",
    Directive.PAUSE: "paused: the agent is not told to go on",
    Directive.STOP: "stopped the agent",
}


_KINDS: dict[type[PlanFact], str] = {
    PlanChanged: "plan_changed",
    Nudged: "nudged",
    Tripped: "tripped",
    DirectiveSet: "directive_set",
    Labelled: "labelled",
}


class HeadRelation(Enum):
    """The position of an event relative to the head, as its symbol."""

    HEAD = "*"
    ON_BRANCH = "│"
    ELSEWHERE = "·"


@value
class TimelineRow:
    """An event in a timeline; all texts are printable.

    `durations` has, for each text of `what`, the milliseconds in progress that ended with it, if known. `after` is the
    parent event if it is not the event of the previous row.
    """

    mark: HeadRelation
    id: str
    when: str
    who: str
    what: tuple[str, ...]
    label: str | None = None
    after: str | None = None
    durations: tuple[int | None, ...] = ()


def timeline(
    events: Iterable[Event], head: str | None, when: Callable[[int], str], limit: int | None = None
) -> list[TimelineRow]:
    """Return one row per event, all or the `newest_events`, in the order of writing; `limit` is the most nudges."""
    known = by_id(events)
    with_person = of_several_people(known.values())
    on_branch = _ancestors(known, head)
    short = {full: printable(prefix) for full, prefix in short_ids(known).items()}
    names = labels(known.values())
    states: dict[str | None, PlanState] = {None: (Plan(), {})}
    rows: list[TimelineRow] = []
    before = next((event.parent for event in known.values()), None)
    for event in known.values():
        # The plan before the first of the newest events is unknown: assume that it was the same.
        same = event.fact.plan if isinstance(event.fact, PlanChanged) else Plan()
        state = states.get(event.parent) or (same, {})
        states[event.id], descriptions = describe_event(event, state, short, limit)
        rows.append(
            TimelineRow(
                _mark(event.id, head, on_branch),
                short[event.id],
                when(event.at),
                who(event, with_person=with_person),
                tuple(text for text, _ in descriptions),
                printable(names[event.id]) if event.id in names else None,
                None if event.parent == before else "nothing" if event.parent is None else short[event.parent],
                tuple(duration for _, duration in descriptions),
            )
        )
        before = event.id
    return rows


def rows_lines(rows: Sequence[TimelineRow], columns: int | None = None) -> list[Line]:
    width = max((display_width(row.who) for row in rows), default=0)
    return [line for row in rows for line in row_lines(row, columns, width)]


def row_lines(row: TimelineRow, columns: int | None = None, who_width: int = 0) -> list[Line]:
    """Return a line for each description, none wider than `columns`, with the author padded to `who_width`."""
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


def newest_events(newest_first: Iterable[Event], limit: int) -> list[Event]:
    """Return the events needed to describe the newest `limit` events, oldest first.

    That includes one more plan, to compare the first of them with, and the events that started tasks in progress.
    """
    taken: list[Event] = []
    unexplained: set[str] | None = None
    since: list[set[str]] = []
    for event in newest_first:
        taken.append(event)
        if not isinstance(event.fact, PlanChanged):
            continue
        active = {task.text for task in event.fact.plan.tasks if task.status is Status.IN_PROGRESS}
        if len(taken) > limit:
            unexplained = active - active.intersection(*since) if unexplained is None else unexplained & active
            if not unexplained or len(taken) > limit + MAX_LOOKBACK_EVENTS:
                break
        since.append(active)
    return taken[::-1]


def event_data(event: Event, when: When) -> Data:
    """Return the fields that identify an event: its id, time and author. `when` formats a time in milliseconds."""
    return {"id": event.id, "at": when(event.at), "actor": event.actor.value, "author": author_data(event.author)}


def author_data(author: Author) -> Data:
    return {"name": author.name or None, "agent": author.agent or None, "model": author.model or None}


def row_data(event: Event, row: TimelineRow, when: When) -> Data:
    fact = event.fact
    call = fact.call if isinstance(fact, PlanChanged) else None
    return event_data(event, when) | {
        "kind": _KINDS[type(fact)] if isinstance(fact, PlanFact) else fact_name(fact),
        "what": list(row.what),
        "in_progress_ms": list(row.durations),
        "call": call and {"tool": call.tool, "arguments": call.arguments},
        "parent": event.parent,
        "place": row.mark.name.lower(),
        "label": row.label,
    }


def task_data(entry: TaskHistory, when: When) -> Data:
    return {
        "number": entry.task.number or None,
        "text": entry.task.text,
        "status": entry.task.status.value,
        "phase": entry.phase,
        "position": entry.position,
        "from_user": entry.task.from_user,
        "added": step_data(entry.added, when),
        "closed": entry.closed and step_data(entry.closed, when),
    }


def durations_data(entry: TaskHistory, now: int) -> Data:
    """Return how long a task was in progress, and the time from added to closed; None if unknown."""
    return {"in_progress_ms": entry.time_in_progress(now), "lifetime_ms": entry.lifetime}


def step_data(step: TaskStep, when: When) -> Data:
    return event_data(step.event, when) | {"tool": step.call and step.call.tool}


def whole_step_data(step: TaskStep, when: When) -> Data:
    return step_data(step, when) | {
        "arguments": step.call and step.call.arguments,
        "what": [describe_change(change) for change in step.changes],
        "in_progress_ms": step.duration,
    }


def _ancestors(known: Mapping[str, Event], head: str | None) -> set[str]:
    """The known ancestors of the head, and the head."""
    ancestors = set()
    while head is not None and head in known:
        ancestors.add(head)
        head = known[head].parent
    return ancestors


def _mark(event: str, head: str | None, on_branch: set[str]) -> HeadRelation:
    if event == head:
        return HeadRelation.HEAD
    return HeadRelation.ON_BRANCH if event in on_branch else HeadRelation.ELSEWHERE


def describe_event(
    event: Event, state: PlanState, short: Mapping[str, str], limit: int | None
) -> tuple[PlanState, Descriptions]:
    """Return the state after an event, and its descriptions, each with the duration that it ends.

    `short` are the short ids of events; it is needed for labels only.
    """
    if not isinstance(event.fact, PlanChanged):
        return state, [(_describe_fact(event.fact, short, limit), None)]
    plan, running = state
    before, after, known = plan, event.fact.plan, running
    places = differing_in_place(before, after)
    if places is not None:
        # What is the same in both plans has nothing to tell.
        before, after = narrowed(before, after, places)
        known = {(0, a): running[location] for a, location in enumerate(places) if location in running}
    match = match_plans(before, after)
    ends = finished_durations(match, known, event.at)
    durations = {task_at(match.after, location).text: length for location, length in ends.items()}
    descriptions = [
        (text, durations.get(group[0].subject) if len(group) == 1 and group[0].kind in ENDING_KINDS else None)
        for text, group in grouped_sentences(changes_in(match))
    ]
    started = in_progress_since(match, known, event.at)
    if places is not None:
        others = {location: at for location, at in running.items() if location not in places}
        started = others | {places[a]: at for (_, a), at in started.items()}
    return (event.fact.plan, started), descriptions or [(_without_changes(plan, event.fact.plan), None)]


def _without_changes(before: Plan, after: Plan) -> str:
    """Describe a change after which all tasks are as before: an agent took up those of another one, or nothing."""
    owners = {task.number: task.owner for task in before.tasks}
    taken_up = [task.number for task in after.tasks if task.owner and task.owner != owners.get(task.number)]
    return f"took up {number_ranges(taken_up, '#', ', ')}" if taken_up else "left the plan as it was"


def _describe_fact(
    fact: Nudged | Tripped | DirectiveSet | Labelled | RunFact, short: Mapping[str, str], limit: int | None
) -> str:
    match fact:
        case Nudged(of_subagent=True):
            return "told a subagent to go on"
        case Nudged(count):
            return f"told to go on ({count if limit is None else f'{count}/{limit}'})"
        case Tripped(bound, reached):
            return f"gave up: {describe_bound(bound, reached)}"
        case DirectiveSet(directive):
            return _DIRECTIVES[directive]
        case Labelled(target, ""):
            return f"took the name off {_short(target, short)}"
        case Labelled(target, label):
            return f"named {_short(target, short)} “{printable(label)}”"
        case _:
            return describe_run_fact(fact)


def _short(target: str, short: Mapping[str, str]) -> str:
    return short.get(target) or printable(target[:SHORT_ID_LENGTH])
