"""How people name events: by an id or a prefix of it, by a label, or relative to another event (`head~2`)."""

from __future__ import annotations

from tildone.errors import NotFound, UnknownEvent
from tildone.log.events import PlanChanged
from tildone.log.tree import labels
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.log.events import Event
    from tildone.log.store import Store

HEAD, ROOT, BACK = "head", "root", "~"
SHORT_ID_LENGTH = 10
"""How many characters of an id are shown. Ids begin with their time in milliseconds, so this many tell them apart."""

MAX_LISTED_MATCHES = 5
MAX_COUNT_DIGITS = 9


def resolve(store: Store, session: str, word: str) -> str | None:
    """The id of the event that a word names; None for `root`, which is before the first event.

    A word is, in this order: `head` or `root`, an id, a label, or a prefix of an id. `~N` after it means N changes of
    the plan before that event; `~N` alone counts from the head. Only labels and prefixes require reading every event.

    Raises:
        NotFound: the word names no event, or more than one.
    """
    base, back = _parted(word)
    if not word.strip():
        raise NotFound("an empty name names no event")
    match base.lower():
        case "" | "head":
            return _before(store, session, store.session_head(session).head, back, word)
        case "root":
            return _before(store, session, None, back, word)
        case _:
            return _before(store, session, *_searched(store, session, word), word)


def events_by_label(events: Iterable[Event]) -> dict[str, str]:
    """The id of the event that has each label: the one that got it last."""
    return {label: event for event, label in labels(events).items()}


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """A prefix for each id, long enough to tell all of them apart."""
    every = set(ids)
    length = SHORT_ID_LENGTH
    while len({one[:length] for one in every}) < len(every):
        length += 1
    return {one: one[:length] for one in every}


def label_problem(name: str) -> str | None:
    """Why an event cannot be given this label; None if it can. A label must not be readable as another name."""
    if not name.strip():
        return "a label must not be empty"
    if name.lower() in (HEAD, ROOT):
        return f"{name!r} is a reserved name"
    if BACK in name:
        return f"a label must not contain {BACK}, which counts changes back: {name!r}"
    return None


def _parted(word: str) -> tuple[str, int]:
    """The name in front of `~N`, and N; 0 without it."""
    base, tilde, count = word.rpartition(BACK)
    if not tilde or (count and not count.isdecimal()):
        return word, 0
    return base, int(count[:MAX_COUNT_DIGITS] or 1)


def _searched(store: Store, session: str, word: str) -> tuple[str, int]:
    base, back = _parted(word)
    if _is_id(store, session, base):
        return base, back
    events = list(store.events(session))
    ids = [event.id for event in events]
    names = events_by_label(events)
    for name, steps in ((word, 0), (base, back)):
        if names.get(name) in ids:
            return names[name], steps
    begun = [one for one in ids if one.startswith(base)]
    if len(begun) == 1:
        return begun[0], back
    if not begun:
        raise NotFound(f"no event has the label or id {base!r}, and no id begins with it")
    shown = short_ids(begun)
    some = ", ".join(shown[one] for one in begun[:MAX_LISTED_MATCHES])
    raise NotFound(f"{base!r} matches {len(begun)} events: {some}{', …' if len(begun) > MAX_LISTED_MATCHES else ''}")


def _is_id(store: Store, session: str, word: str) -> bool:
    try:
        store.history(session, word)
    except UnknownEvent:
        return False
    return True


def _before(store: Store, session: str, event_id: str | None, back: int, word: str) -> str | None:
    """The event before the newest `back` changes on the branch of `event_id`."""
    if not back:
        return event_id
    left = back
    for event in store.history(session, event_id) if event_id is not None else ():
        if isinstance(event.fact, PlanChanged):
            left -= 1
            if not left:
                return event.parent
    made = back - left
    raise NotFound(f"{word!r} goes back too far: {made} change{' leads' if made == 1 else 's lead'} there")
