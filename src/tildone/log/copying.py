"""What one store holds taken over by another, event by event, and proved to have arrived.

Nothing is ever lost by it: what the other store has already stays, and an event that is there is left as it is. So a
copy that was interrupted is gone on with by making it again.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import islice

from tildone.errors import NotFound, StoreBusy, StoreError, UnknownEvent
from tildone.log import codec
from tildone.log.events import PlanChanged
from tildone.log.tree import SessionHead
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tildone.log.events import Event
    from tildone.log.store import Store
    from tildone.log.tree import SessionInfo

    Tell = Callable[[str, int, int], None]

MAX_ROUNDS = 3
"""How often sessions that are written to meanwhile are gone after."""

MAX_LOOK_BACK_EVENTS = 1000
"""How many events somebody may have written in the target before it is compared."""

EVENTS_AT_ONCE = 500
TASKS_AT_ONCE = 5000

COPYING, COMPARING = "copying", "comparing"


@value
class CopyResult:
    """What a copy came to: how much there is, how much of it was new, and a digest that is the same on both sides.

    `went_on` names the sessions that were written to when they had been copied: what came then is not in the copy.
    """

    sessions: int
    events: int
    new: int
    digest: str
    went_on: tuple[str, ...] = ()


@value
class CopyPreview:
    """What a copy would do to a session: how many events it would bring, and where it would stand instead of now."""

    name: str
    events: int
    new: int
    now: SessionHead
    then: SessionHead

    @property
    def changes(self) -> bool:
        """Whether anything would be different."""
        return bool(self.new) or self.now != self.then


@value
class _Taken:
    """A session as it was at one moment, and as it arrived."""

    events: int
    session_head: SessionHead
    new: int
    digest: str


def copy(source: Store, target: Store, tell: Tell, only: str | None = None) -> CopyResult:
    """Take over every session, or `only` one, with all its branches; each then stands where it stands in the source.

    The one written to first comes first, so that they stand in the same order. `tell` hears what is being done, how
    many events are done, and of how many.

    Raises:
        NotFound: there is no such session.
        StoreBusy: a session was moved in the target while it was copied.
        StoreError: a session is not the same on both sides.
    """
    taken: dict[str, _Taken] = {}
    new = 0
    for _ in range(MAX_ROUNDS):
        behind = [info for info in _oldest_first(source, only) if not _is_up_to_date(source, info, taken)]
        if not behind:
            break
        counts = {info.name: info.events for info in target.sessions()}
        progress = _Progress(tell, 2 * sum(info.events for info in behind))
        for info in behind:
            taken[info.name] = _taken_over(source, target, info, counts.get(info.name), progress)
            new += taken[info.name].new
    infos = _oldest_first(source, only)
    went_on = tuple(info.name for info in infos if not _is_up_to_date(source, info, taken))
    arrived = [(info.name, taken[info.name]) for info in infos if info.name in taken]
    total = sha256()
    for name, session in arrived:
        total.update(f"{codec.dump(name)} {session.digest}\n".encode())
    return CopyResult(len(arrived), sum(session.events for _, session in arrived), new, total.hexdigest(), went_on)


def preview_copy(source: Store, target: Store, only: str | None = None) -> Iterator[CopyPreview]:
    """What a copy would do to each session; nothing is changed.

    Raises:
        NotFound: there is no such session.
    """
    for info in _oldest_first(source, only):
        place, events = _snapshot(source, info.name)
        new = count = 0
        for event in events:
            count += 1
            new += not _has(target, info.name, event.id)
        yield CopyPreview(info.name, count, new, target.session_head(info.name), place)


class _Progress:
    """How far a copy has come."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell = tell
        self._total = total
        self._done = 0

    def add(self, what: str, count: int) -> None:
        self._done += count
        # A session may grow while it is copied.
        self._total = max(self._total, self._done)
        self._tell(what, self._done, self._total)

    def through(self, what: str, events: Iterable[Event]) -> Iterator[Event]:
        """The same events, each counted as it passes."""
        for event in events:
            self.add(what, 1)
            yield event


def _oldest_first(source: Store, only: str | None) -> list[SessionInfo]:
    infos = source.sessions()[::-1]
    if only is None:
        return infos
    found = [info for info in infos if info.name == only]
    if not found:
        raise NotFound(f"there is no session {only!r} to be copied")
    return found


def _is_up_to_date(source: Store, info: SessionInfo, taken: dict[str, _Taken]) -> bool:
    copied = taken.get(info.name)
    return copied is not None and copied.events >= info.events and copied.session_head == source.session_head(info.name)


def _taken_over(source: Store, target: Store, info: SessionInfo, here: int | None, progress: _Progress) -> _Taken:
    name = info.name
    place, events = _snapshot(source, name)
    new = count = 0
    if here == info.events and target.session_head(name) == place:
        # What looks the same may be the same: then there is nothing to do but to compare.
        count = info.events
        progress.add(COPYING, count)
    else:
        for batch, is_last in _batches(events):
            # Until all is there, the session stands where it stood.
            new += _adopted(target, name, batch, place if is_last else target.session_head(name))
            count += len(batch)
            progress.add(COPYING, len(batch))
    return _Taken(count, place, new, _compared(source, target, name, count, place, progress))


def _snapshot(source: Store, name: str) -> tuple[SessionHead, Iterator[Event]]:
    """Where a session stands, and its events at that very moment."""
    while True:
        place = source.session_head(name)
        events = source.events(name)
        first = list(islice(events, 1))
        if source.session_head(name) == place:
            return place, _again(first, events)


def _again(first: list[Event], rest: Iterator[Event]) -> Iterator[Event]:
    yield from first
    yield from rest


def _batches(events: Iterator[Event]) -> Iterator[tuple[list[Event], bool]]:
    """The events a few at a time, and whether these are the last: a long session is never held as a whole."""
    batch: list[Event] = []
    weight = 0
    for event in events:
        if len(batch) >= EVENTS_AT_ONCE or weight >= TASKS_AT_ONCE:
            yield batch, False
            batch, weight = [], 0
        batch.append(event)
        weight += len(event.fact.plan.tasks) if isinstance(event.fact, PlanChanged) else 0
    yield batch, True


def _adopted(target: Store, name: str, batch: list[Event], to: SessionHead) -> int:
    try:
        return target.import_events(name, batch, to)
    except (StoreError, UnknownEvent) as error:
        kind = type(error) if isinstance(error, StoreError) else StoreError
        raise kind(f"session {name!r} can't be taken over: {error}") from error


def _compared(source: Store, target: Store, name: str, count: int, place: SessionHead, progress: _Progress) -> str:
    """The digest of the session, which is the same on both sides."""
    sent = _digest(progress.through(COMPARING, islice(source.events(name), count)), place)
    if not _stands_at(target, name, place):
        raise StoreBusy(f"session {name!r} was moved in the target while it was copied; do it again")
    if _digest(target.events(name), target.session_head(name)) == sent:
        return sent
    # The target may have more than that, or in another order: what counts is that it has these.
    try:
        arrived = _digest((_event(target, name, event.id) for event in islice(source.events(name), count)), place)
    except UnknownEvent as error:
        raise StoreError(f"session {name!r} has not arrived: {error} is missing") from error
    if arrived != sent:
        raise StoreError(f"session {name!r} is not the same on both sides")
    return sent


def _stands_at(target: Store, name: str, place: SessionHead) -> bool:
    """Whether the session stands there, or somebody has gone on from there already."""
    if target.session_head(name) == place or place.head is None:
        return True
    return any(event.id == place.head for event in islice(target.history(name), MAX_LOOK_BACK_EVENTS))


def _digest(events: Iterable[Event], place: SessionHead) -> str:
    total = sha256()
    for event in events:
        total.update(f"{codec.encode(event)}\n".encode())
    total.update(codec.dump([place.head, place.redo]).encode())
    return total.hexdigest()


def _event(store: Store, session: str, event_id: str) -> Event:
    return next(store.history(session, event_id))


def _has(store: Store, session: str, event_id: str) -> bool:
    try:
        store.history(session, event_id)
    except UnknownEvent:
        return False
    return True
