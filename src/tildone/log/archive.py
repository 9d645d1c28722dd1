"""A whole session as one JSON text: all that a store has of it, to be kept, or taken to another store.

Events stand in it one a line, as they are stored. The plan is there for those who read no events.
"""

from __future__ import annotations

from tildone.log import codec
from tildone.log.events import PlanChanged
from tildone.log.tree import SessionHead, branch, by_id
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from tildone.log.events import Event

FORMAT = "tildone session"
VERSION = 1

_LIMIT = 2**63


@value
class Archive:
    """A session: its name, where it stands, its events in the order they were written.

    `edited` says that the plan in the text it was read from is not the one that the events lead to.
    """

    session: str
    session_head: SessionHead
    events: tuple[Event, ...]
    edited: bool = False


def is_archive(data: object) -> bool:
    """Whether this is what an archive holds, in whatever version."""
    return isinstance(data, dict) and data.get("format") == FORMAT


def write(archive: Archive) -> str:
    """The session as JSON, in ASCII."""
    place = {"head": archive.session_head.head, "ahead": list(archive.session_head.redo)}
    about = {
        "format": FORMAT,
        "version": VERSION,
        "session": archive.session,
        "place": place,
        "plan": _plan_at(archive.events, archive.session_head.head),
    }
    lines = [f"{codec.dump(name)}:{codec.dump(held)}" for name, held in about.items()]
    events = ",\n".join(map(codec.encode, archive.events))
    return "{" + ",\n".join(lines) + f',\n"events":[\n{events}\n]}}\n'


def read(text: str) -> Archive:
    """The session that `write` wrote.

    Raises:
        ValueError: the text is something else, damaged, or of another version; the message says which.
    """
    data = codec.parse(text)
    if not isinstance(data, dict) or not is_archive(data):
        raise ValueError("not a session that tildone wrote")
    if data.get("version") != VERSION:
        raise ValueError(f"it is of version {codec.dump(data.get('version'))}; this tildone reads version {VERSION}")
    session, place, raw = data.get("session"), _place(data.get("place")), data.get("events")
    if not isinstance(session, str) or not session or place is None or not isinstance(raw, list):
        raise ValueError("it has no session, place and events as tildone writes them")
    events = tuple(map(_event, raw))
    _check(events, place)
    edited = "plan" in data and data["plan"] != _plan_at(events, place.head)
    return Archive(session, place, events, edited)


def _plan_at(events: Iterable[Event], head: str | None) -> list[Any]:
    """The plan as events store it."""
    for event in reversed(branch(by_id(events), head)):
        if isinstance(event.fact, PlanChanged):
            stored: list[Any] = codec.parse(codec.encode(event))["plan"]
            return stored
    return []


def _place(data: object) -> SessionHead | None:
    match data:
        case {"head": None | str() as head, "ahead": [*ahead]} if all(isinstance(event, str) for event in ahead):
            return SessionHead(head, tuple(map(str, ahead)))
        case _:
            return None


def _event(data: object) -> Event:
    """An event, with nothing in it that a store would choke on later."""
    event = codec.event_from_json(data)
    try:
        sound = codec.decode(codec.encode(event)) == event
    except (TypeError, codec.UndecodableEvent):
        sound = False
    if not sound or not all(type(number) is int and 0 <= number < _LIMIT for number in _numbers(event)):
        raise ValueError(f"not an event of version {codec.VERSION}: {str(data)[:80]}")
    return event


def _numbers(record: object) -> Iterator[object]:
    """All that is to be a whole number in a record, and in the records within it."""
    if isinstance(record, tuple):
        for each in record:
            yield from _numbers(each)
    for name, kind in getattr(type(record), "__annotations__", {}).items():
        held = getattr(record, name)
        if kind == "int":
            yield held
        else:
            yield from _numbers(held)


def _check(events: Iterable[Event], place: SessionHead) -> None:
    """See that nothing hangs in the air."""
    known: set[str | None] = {None}
    for event in events:
        if event.id in known:
            raise ValueError(f"event {event.id!r} is in it twice")
        if event.parent not in known:
            raise ValueError(f"event {event.id!r} comes before the one that it follows")
        known.add(event.id)
    if not known.issuperset([place.head, *place.redo]):
        raise ValueError("it stands at an event that is not in it")
