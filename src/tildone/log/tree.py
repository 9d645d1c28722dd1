"""The shape of a session: a tree of events, its head, its branches and its labels.

Each event names its parent, so a session is a tree. The head is the event that the next one follows; moving it to an
earlier event and appending there begins a branch. A branch is the path from an event to the root. Events are never
changed or removed: undo moves the head, and the redo stack records where redo moves it.
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
    """The head of a session and its redo stack: the heads to which redo moves, the next one first."""

    head: str | None = None
    redo: tuple[str, ...] = ()


@value
class SessionInfo:
    """An entry in a list of sessions. Times are in milliseconds since 1970.

    `title` is what the store knows of a session beside its name: the name or the first prompt of a conversation.
    """

    name: str
    events: int
    created: int
    updated: int
    title: str = ""


@value
class SessionChange:
    """The newest change of a session, and its head. If the session was deleted, it does not exist and has no head."""

    session: str
    head: str | None
    revision: int
    exists: bool = True


def by_id(events: Iterable[Event]) -> dict[str, Event]:
    """Return the events of a session by their ids."""
    return {event.id: event for event in events}


def branch(events: Mapping[str, Event], head: str | None) -> list[Event]:
    """Return the path from the root to `head`, oldest first."""
    path = []
    while head is not None:
        event = events[head]
        path.append(event)
        head = event.parent
    return path[::-1]


def leaves(events: Iterable[Event]) -> list[str]:
    """Return the ids of events without children, in the order they were written."""
    known = list(events)
    parents = {event.parent for event in known}
    return [event.id for event in known if event.id not in parents]


def labels(events: Iterable[Event]) -> dict[str, str]:
    """Return the current labels by event id, in the order in which they were set."""
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
