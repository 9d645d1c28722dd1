"""The shape of a session: who follows whom, where branches part, what is called what."""

from __future__ import annotations

from tildone.log.events import Labelled
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tildone.log.events import Event


@value
class SessionHead:
    """Where a session stands: its head, and the way forward that undoing left open, nearest first."""

    head: str | None = None
    redo: tuple[str, ...] = ()


@value
class SessionInfo:
    """A session as a list of sessions shows it."""

    name: str
    events: int
    created: int
    updated: int


def by_id(events: Iterable[Event]) -> dict[str, Event]:
    """The events of a session, each under its id."""
    return {event.id: event for event in events}


def branch(events: Mapping[str, Event], head: str | None) -> list[Event]:
    """The way from the root to `head`, oldest first."""
    way = []
    while head is not None:
        event = events[head]
        way.append(event)
        head = event.parent
    return way[::-1]


def children(events: Iterable[Event]) -> dict[str | None, list[str]]:
    """Who follows whom, in the order they were written; roots follow None."""
    found: dict[str | None, list[str]] = {}
    for event in events:
        found.setdefault(event.parent, []).append(event.id)
    return found


def leaves(events: Iterable[Event]) -> list[str]:
    """Events that nothing follows, in the order they were written."""
    known = list(events)
    parents = {event.parent for event in known}
    return [event.id for event in known if event.id not in parents]


def common_ancestor(events: Mapping[str, Event], one: str | None, other: str | None) -> str | None:
    """The newest event that both branches share, or None if they share none."""
    ids = {event.id for event in branch(events, one)}
    while other is not None and other not in ids:
        other = events[other].parent
    return other


def labels(events: Iterable[Event]) -> dict[str, str]:
    """The names that events have now, by event, the one given last at the end."""
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
