"""Event references: an id or a prefix of it, a label, or a position relative to another event (`head~2`)."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, NotFound, UnknownEvent
from tildone.plan.events import PlanChanged, labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

    from tildone.plan.events import Event

    class Head(Protocol):
        @property
        def head(self) -> str | None: ...

    class EventLog(Protocol):
        """What is read of a store to find an event."""

        def session_head(self, session: str, /) -> Head: ...
        def history(self, session: str, at: str | None = None, /) -> Iterator[Event]: ...
        def events(self, session: str, /) -> Iterator[Event]: ...


HEAD, ROOT, BACK = "head", "root", "~"
SHORT_ID_LENGTH = 10
"""How many characters of an id are shown; ids begin with their time in milliseconds, so these are usually unique."""

MAX_LISTED_MATCHES = 5
MAX_COUNT_DIGITS = 9


def resolve(store: EventLog, session: str, ref: str) -> str | None:
    """Return the id of the event that a reference names; None for `root`, which is before the first event.

    A reference is, in this order: `head` or `root`, an id, a label, or a prefix of an id. The suffix `~N` means N
    changes of the plan before that event; `~N` alone counts from the head. Only labels and prefixes require reading
    every event. Raises NotFound if the reference names no event, or more than one.
    """
    base, changes = _split_suffix(ref)
    if not ref.strip():
        raise NotFound("an empty name names no event")
    match base.lower():
        case "" | "head":
            return _before(store, session, store.session_head(session).head, changes, ref)
        case "root":
            return _before(store, session, None, changes, ref)
        case _:
            return _before(store, session, *_search(store, session, ref), ref)


def events_by_label(events: Iterable[Event]) -> dict[str, str]:
    """Return the event id of each label. If several events have a label, the one that got it last counts."""
    return {label: event for event, label in labels(events).items()}


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return a prefix for each id; all have the same length, and no two are equal."""
    unique = set(ids)
    length = SHORT_ID_LENGTH
    while len({event_id[:length] for event_id in unique}) < len(unique):
        length += 1
    return {event_id: event_id[:length] for event_id in unique}


def label_problem(name: str) -> str | None:
    """Return why `name` is not a valid label; None if it is. A label must not look like another kind of reference."""
    if not name.strip():
        return "a label must not be empty"
    if name.lower() in (HEAD, ROOT):
        return f"{name!r} is a reserved name"
    if BACK in name:
        return f"a label must not contain {BACK}, which counts changes back: {name!r}"
    return None


def _split_suffix(ref: str) -> tuple[str, int]:
    base, tilde, count = ref.rpartition(BACK)
    if not tilde or (count and not count.isdecimal()):
        return ref, 0
    return base, int(count[:MAX_COUNT_DIGITS] or 1)


def _search(store: EventLog, session: str, ref: str) -> tuple[str, int]:
    base, changes = _split_suffix(ref)
    if is_event(store, session, base):
        return base, changes
    events = list(store.events(session))
    ids = [event.id for event in events]
    labelled = events_by_label(events)
    for label, back in ((ref, 0), (base, changes)):
        if labelled.get(label) in ids:
            return labelled[label], back
    matches = [event_id for event_id in ids if event_id.startswith(base)]
    if len(matches) == 1:
        return matches[0], changes
    if not matches:
        raise NotFound(f"no event has the label or id {base!r}, and no id begins with it")
    short = short_ids(matches)
    listed = ", ".join(short[event_id] for event_id in matches[:MAX_LISTED_MATCHES])
    more = ", …" if len(matches) > MAX_LISTED_MATCHES else ""
    raise NotFound(f"{base!r} matches {len(matches)} events: {listed}{more}")


def is_event(store: EventLog, session: str, text: str) -> bool:
    try:
        store.history(session, text)
    except UnknownEvent:
        return False
    return True


def _before(store: EventLog, session: str, event_id: str | None, changes: int, ref: str) -> str | None:
    """The event before the newest `changes` changes on the branch of `event_id`."""
    if not changes:
        return event_id
    left = changes
    for event in store.history(session, event_id) if event_id is not None else ():
        if isinstance(event.fact, PlanChanged):
            left -= 1
            if not left:
                return event.parent
    available = changes - left
    raise NotFound(f"{ref!r} goes back too far: {available} change{' leads' if available == 1 else 's lead'} there")
