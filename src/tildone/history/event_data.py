"""Events and task histories as JSON data. `docs/reference/json.md` documents the fields."""

from __future__ import annotations

from tildone.history.sentences import describe_change
from tildone.log.events import DirectiveSet, Labelled, Nudged, PlanChanged, Tripped
from tildone.log.fleet.facts import fact_name
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.history.task_history import TaskHistory, TaskStep
    from tildone.history.timeline import TimelineRow
    from tildone.log.events import Author, Event, Fact

    When = Callable[[int], str]
    Data = dict[str, object]


def event_data(event: Event, when: When) -> Data:
    """Return the fields that identify an event: its id, time and author. `when` formats a time in milliseconds."""
    return {"id": event.id, "at": when(event.at), "actor": event.actor.value, "author": author_data(event.author)}


def author_data(author: Author) -> Data:
    """Return an author; fields that are not known are None."""
    return {"name": author.name or None, "agent": author.agent or None, "model": author.model or None}


def row_data(event: Event, row: TimelineRow, when: When) -> Data:
    call = event.fact.call if isinstance(event.fact, PlanChanged) else None
    return event_data(event, when) | {
        "kind": _kind(event.fact),
        "what": list(row.what),
        "in_progress_ms": list(row.durations),
        "call": call and {"tool": call.tool, "arguments": call.arguments},
        "parent": event.parent,
        "place": row.mark.name.lower(),
        "label": row.label,
    }


def task_data(entry: TaskHistory, when: When) -> Data:
    """Return a task, and the events that added and closed it."""
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
    """Return the event that changed a task, with the tool that was called."""
    return event_data(step.event, when) | {"tool": step.call and step.call.tool}


def whole_step_data(step: TaskStep, when: When) -> Data:
    """Return the same with the arguments of the call and the changes of the task."""
    return step_data(step, when) | {
        "arguments": step.call and step.call.arguments,
        "what": [describe_change(change) for change in step.changes],
        "in_progress_ms": step.duration,
    }


def _kind(fact: Fact) -> str:
    match fact:
        case PlanChanged():
            return "plan_changed"
        case Nudged():
            return "nudged"
        case Tripped():
            return "tripped"
        case DirectiveSet():
            return "directive_set"
        case Labelled():
            return "labelled"
        case _:
            return fact_name(fact)
