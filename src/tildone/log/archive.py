"""A session with its whole history as one JSON document, to keep or to import into another store.

The events are in it one a line, in their stored form. The current plan is included for programs that do not read
events.
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
    """A session: its name, its head, and its events in the order they were written.

    `edited` means that the plan in the document is not the one that the events lead to.
    """

    session: str
    session_head: SessionHead
    events: tuple[Event, ...]
    edited: bool = False


def is_archive(data: object) -> bool:
    """Whether parsed JSON is an archive, of any version."""
    return isinstance(data, dict) and data.get("format") == FORMAT


def write(archive: Archive) -> str:
    """The archive as JSON, in ASCII."""
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
    """The archive in a text that `write` wrote.

    Raises:
        ValueError: the text is not an archive, damaged, or of another version; the message says which.
    """
    data = codec.parse(text)
    if not isinstance(data, dict) or not is_archive(data):
        raise ValueError("not a session archive of tildone")
    if data.get("version") != VERSION:
        raise ValueError(
            f"the archive has version {codec.dump(data.get('version'))}; this tildone reads version {VERSION}"
        )
    session, place, raw = data.get("session"), _place(data.get("place")), data.get("events")
    if not isinstance(session, str) or not session or place is None or not isinstance(raw, list):
        raise ValueError("the fields session, place and events are missing or malformed")
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
    """An event that every store can hold.

    Raises:
        ValueError: the data is not an event, or has values that a store could not write or give back.
    """
    event = codec.event_from_json(data)
    try:
        sound = codec.decode(codec.encode(event)) == event
    except (TypeError, codec.UndecodableEvent):
        sound = False
    if not sound or not all(type(number) is int and 0 <= number < _LIMIT for number in _numbers(event)):
        raise ValueError(f"not an event of version {codec.VERSION}: {str(data)[:80]}")
    return event


def _numbers(record: object) -> Iterator[object]:
    """The values of all fields of type int in a record and in the records within it."""
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
    """Check that ids are unique, that every parent precedes its children, and that the head exists."""
    known: set[str | None] = {None}
    for event in events:
        if event.id in known:
            raise ValueError(f"event {event.id!r} occurs twice")
        if event.parent not in known:
            raise ValueError(f"the parent of event {event.id!r} is missing or comes after it")
        known.add(event.id)
    if not known.issuperset([place.head, *place.redo]):
        raise ValueError("the head is an event that is not in the archive")
