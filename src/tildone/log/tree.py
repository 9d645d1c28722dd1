"""The shape of a session: a tree of events, its head, its branches and its labels.

Each event names its parent, so that a session is a tree. The head is the event that the next one follows; moving it to
an earlier event and appending there begins a branch. A branch is the path from an event to the root. Events are never
changed or removed, so undo moves the head and remembers, in the redo stack, where redo leads.
"""

from __future__ import annotations

from tildone.log.events import Labelled
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tildone.log.events import Event


@value
class SessionHead:
    """The event that a session stands at, and the redo stack: where each redo leads, the next one first."""

    head: str | None = None
    redo: tuple[str, ...] = ()


@value
class SessionInfo:
    """A session in a list of sessions; times are in milliseconds since 1970."""

    name: str
    events: int
    created: int
    updated: int


def by_id(events: Iterable[Event]) -> dict[str, Event]:
    """The events of a session by their ids."""
    return {event.id: event for event in events}


def branch(events: Mapping[str, Event], head: str | None) -> list[Event]:
    """The path from the root to `head`, oldest first."""
    path = []
    while head is not None:
        event = events[head]
        path.append(event)
        head = event.parent
    return path[::-1]


def leaves(events: Iterable[Event]) -> list[str]:
    """The ids of events without children, in the order they were written."""
    known = list(events)
    parents = {event.parent for event in known}
    return [event.id for event in known if event.id not in parents]


def labels(events: Iterable[Event]) -> dict[str, str]:
    """The current labels, by event id; the one given last comes last."""
    names: dict[str, str] = {}
    for event in events:
        match event.fact:
            case Labelled(target, ""):
                names.pop(target, None)
            case Labelled(target, label):
                names.pop(target, None)
                names[target] = label
            case _:
                pass
    return names
