"""How people name events: by an id or its beginning, by a label, by how far back they are."""

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
"""How much of an id is shown. Our own begin with the moment, down to the millisecond, so this much will do for good."""

LISTED = 5
FARTHEST = 9


def resolve(store: Store, session: str, word: str) -> str | None:
    """The id of the event that a word means; None for `root`, the place before the first.

    What is looked for, in this order: `head` and `root`, a whole id, a label, the beginning of an id. Any of them may
    be followed by `~N`: so many changes of the plan before it; with nothing in front of it, before the head. Only
    labels and beginnings of ids take a look at every event.

    Raises:
        NotFound: nothing is meant, or more than one event.
    """
    base, back = _parted(word)
    if not word.strip():
        raise NotFound("an empty word names no event")
    match base.lower():
        case "" | "head":
            return _before(store, session, store.session_head(session).head, back, word)
        case "root":
            return _before(store, session, None, back, word)
        case _:
            return _before(store, session, *_searched(store, session, word), word)


def events_by_label(events: Iterable[Event]) -> dict[str, str]:
    """The event that each label means now: the one that got it last."""
    return {label: event for event, label in labels(events).items()}


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id by its beginning, as much as tells all of them apart."""
    every = set(ids)
    length = SHORT_ID_LENGTH
    while len({one[:length] for one in every}) < len(every):
        length += 1
    return {one: one[:length] for one in every}


def label_problem(name: str) -> str | None:
    """Why an event cannot be given this name, if it cannot: it would mean something else, or nothing."""
    if not name.strip():
        return "a name needs a letter"
    if name.lower() in (HEAD, ROOT):
        return f"{name!r} means a place already"
    if BACK in name:
        return f"{name!r} would be taken for a way back: a name has no {BACK} in it"
    return None


def _parted(word: str) -> tuple[str, int]:
    """What the word names, and how many changes before that."""
    base, tilde, count = word.rpartition(BACK)
    if not tilde or (count and not count.isdecimal()):
        return word, 0
    return base, int(count[:FARTHEST] or 1)


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
        raise NotFound(f"no event is called {base!r}, and no id begins with it")
    shown = short_ids(begun)
    some = ", ".join(shown[one] for one in begun[:LISTED])
    raise NotFound(f"{base!r} fits {len(begun)} events: {some}{', …' if len(begun) > LISTED else ''}")


def _is_id(store: Store, session: str, word: str) -> bool:
    try:
        store.history(session, word)
    except UnknownEvent:
        return False
    return True


def _before(store: Store, session: str, event_id: str | None, back: int, word: str) -> str | None:
    """Where undoing so many changes from an event leads to."""
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
