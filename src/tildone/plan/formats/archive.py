"""Archives: a session with its whole history as one JSON document, which any store can import.

The events are in their stored form, one per line. The current plan is included for programs that do not read events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tildone.base import value
from tildone.plan import codec
from tildone.plan.events import Event, PlanChanged, SessionHead, ancestors, by_id

FORMAT = "tildone session"
VERSION = 1

_MAX_INTEGER = 2**63 - 1
"""The largest integer that every store can represent."""


@value
class Archive:
    """A session with all its events. `edited` means that the plan in the document is not the one that they lead to."""

    session: str
    session_head: SessionHead
    events: tuple[Event, ...]
    edited: bool = False


def is_archive(data: object) -> bool:
    return isinstance(data, dict) and data.get("format") == FORMAT


def write(archive: Archive) -> str:
    header = {
        "format": FORMAT,
        "version": VERSION,
        "session": archive.session,
        "place": {"head": archive.session_head.head, "ahead": list(archive.session_head.redo)},
        "plan": _plan_at(archive.events, archive.session_head.head),
    }
    lines = [f"{codec.dump(name)}:{codec.dump(field)}" for name, field in header.items()]
    events = ",\n".join(map(codec.encode, archive.events))
    return "{" + ",\n".join(lines) + f',\n"events":[\n{events}\n]}}\n'


def read(text: str) -> Archive:
    """Return the archive in a text that `write` wrote; raise `ValueError`, which says what is wrong with any other."""
    data = codec.parse_strictly(text)
    if not isinstance(data, dict) or not is_archive(data):
        raise ValueError("not a session archive of tildone")
    if data.get("version") != VERSION:
        raise ValueError(
            f"the archive has version {codec.dump(data.get('version'))}; this tildone reads version {VERSION}"
        )
    session, head, raw_events = data.get("session"), _session_head(data.get("place")), data.get("events")
    if not isinstance(session, str) or not session or head is None or not isinstance(raw_events, list):
        raise ValueError("the fields session, place and events are missing or malformed")
    events = tuple(map(_event, raw_events))
    _check(events, head)
    edited = "plan" in data and data["plan"] != _plan_at(events, head.head)
    return Archive(session, head, events, edited)


def _plan_at(events: Iterable[Event], head: str | None) -> list[Any]:
    for event in ancestors(by_id(events), head):
        if isinstance(event.fact, PlanChanged):
            stored: list[Any] = codec.parse_strictly(codec.encode(event))["plan"]
            return stored
    return []


def _session_head(data: object) -> SessionHead | None:
    match data:
        case {"head": None | str() as head, "ahead": [*ahead]} if all(isinstance(event, str) for event in ahead):
            return SessionHead(head, tuple(map(str, ahead)))
        case _:
            return None


def _event(data: object) -> Event:
    """Decode an event; raise `ValueError` if it is none, or if a store would lose some of its values."""
    event = codec.event_from_json(data)
    try:
        survives = codec.decode(codec.encode(event)) == event
    except (TypeError, codec.UndecodableEvent):
        survives = False
    if not survives or not all(type(number) is int and 0 <= number <= _MAX_INTEGER for number in _numbers(event)):
        raise ValueError(f"not an event of version {codec.VERSION}: {str(data)[:80]}")
    return event


def _numbers(record: object) -> Iterator[object]:
    """The values of all fields of type int in a record and in the records within it."""
    if isinstance(record, tuple):
        for item in record:
            yield from _numbers(item)
    for name, kind in getattr(type(record), "__annotations__", {}).items():
        field = getattr(record, name)
        if kind == "int":
            yield field
        else:
            yield from _numbers(field)


def _check(events: Iterable[Event], head: SessionHead) -> None:
    """Check that ids are unique, that every parent precedes its children, and that the head exists."""
    known: set[str | None] = {None}
    for event in events:
        if event.id in known:
            raise ValueError(f"event {event.id!r} occurs twice")
        if event.parent not in known:
            raise ValueError(f"the parent of event {event.id!r} is missing or comes after it")
        known.add(event.id)
    if not known.issuperset([head.head, *head.redo]):
        raise ValueError("the head is an event that is not in the archive")
