"""Copy sessions from one store to another, and verify the copy.

It belongs to the log rather than to a store: it knows nothing but the `Store` protocol. Copying only adds: events that
the target has already stay as they are. Rerun an interrupted copy to resume it.

A session may be written to while it is copied. Its head and its events are read as one snapshot, and sessions that grew
since are copied again, up to `MAX_ROUNDS` times. Each session is then compared by a SHA-256 digest over its events and
its head, on both sides.
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
"""How often sessions that were written to during the copy are copied again."""

MAX_LOOK_BACK_EVENTS = 1000
"""How many events others may have appended in the target before it is compared."""

EVENTS_AT_ONCE = 500
TASKS_AT_ONCE = 5000

COPYING, COMPARING = "copying", "comparing"


@value
class CopyResult:
    """The result of a copy: sessions and events in the source, how many events were new, a digest of all of them.

    `changed_since` names the sessions that were written to after they were copied; those later events are missing.
    """

    sessions: int
    events: int
    new: int
    digest: str
    changed_since: tuple[str, ...] = ()


@value
class CopyPreview:
    """What a copy would do to a session: its events, how many are new to the target, its head before and after."""

    name: str
    events: int
    new: int
    now: SessionHead
    then: SessionHead

    @property
    def changes(self) -> bool:
        """Whether the copy would change the session."""
        return bool(self.new) or self.now != self.then


@value
class _CopiedSession:
    """A session that was copied: the snapshot, how many events were new, and its digest."""

    events: int
    session_head: SessionHead
    new: int
    digest: str


def copy(source: Store, target: Store, tell: Tell, only: str | None = None) -> CopyResult:
    """Copy every session, or `only` one, with all its branches and its head.

    Sessions are copied in the order of their last event, which the target keeps. `tell` is called with what is being
    done, how many events are done, and of how many.

    Raises:
        NotFound: there is no such session.
        StoreBusy: the head of a session was moved in the target during the copy.
        StoreError: a session differs between the two stores.
    """
    taken: dict[str, _CopiedSession] = {}
    new = 0
    for _ in range(MAX_ROUNDS):
        behind = [info for info in _oldest_first(source, only) if not _is_up_to_date(source, info, taken)]
        if not behind:
            break
        counts = {info.name: info.events for info in target.sessions()}
        progress = _Progress(tell, 2 * sum(info.events for info in behind))
        for info in behind:
            taken[info.name] = _copy_session(source, target, info, counts.get(info.name), progress)
            new += taken[info.name].new
    infos = _oldest_first(source, only)
    changed_since = tuple(info.name for info in infos if not _is_up_to_date(source, info, taken))
    arrived = [(info.name, taken[info.name]) for info in infos if info.name in taken]
    total = sha256()
    for name, session in arrived:
        total.update(f"{codec.dump(name)} {session.digest}\n".encode())
    return CopyResult(
        len(arrived), sum(session.events for _, session in arrived), new, total.hexdigest(), changed_since
    )


def preview_copy(source: Store, target: Store, only: str | None = None) -> Iterator[CopyPreview]:
    """Preview what a copy would do to each session. Nothing is changed.

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
    """Counts the events of a copy for `tell`."""

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
        """Yield the same events and count each."""
        for event in events:
            self.add(what, 1)
            yield event


def _oldest_first(source: Store, only: str | None) -> list[SessionInfo]:
    infos = source.sessions()[::-1]
    if only is None:
        return infos
    found = [info for info in infos if info.name == only]
    if not found:
        raise NotFound(f"there is no session {only!r} to copy")
    return found


def _is_up_to_date(source: Store, info: SessionInfo, taken: dict[str, _CopiedSession]) -> bool:
    copied = taken.get(info.name)
    return copied is not None and copied.events >= info.events and copied.session_head == source.session_head(info.name)


def _copy_session(
    source: Store, target: Store, info: SessionInfo, here: int | None, progress: _Progress
) -> _CopiedSession:
    name = info.name
    place, events = _snapshot(source, name)
    new = count = 0
    if here == info.events and target.session_head(name) == place:
        # Probably copied before: only compare.
        count = info.events
        progress.add(COPYING, count)
    else:
        for batch, is_last in _batches(events):
            # The head stays until the last batch.
            new += _import_batch(target, name, batch, place if is_last else target.session_head(name))
            count += len(batch)
            progress.add(COPYING, len(batch))
    return _CopiedSession(count, place, new, _verified_digest(source, target, name, count, place, progress))


def _snapshot(source: Store, name: str) -> tuple[SessionHead, Iterator[Event]]:
    """The head of a session, and its events when that was its head."""
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
    """Split events into batches, each with whether it is the last: a long session is never in memory as a whole."""
    batch: list[Event] = []
    weight = 0
    for event in events:
        if len(batch) >= EVENTS_AT_ONCE or weight >= TASKS_AT_ONCE:
            yield batch, False
            batch, weight = [], 0
        batch.append(event)
        weight += len(event.fact.plan.tasks) if isinstance(event.fact, PlanChanged) else 0
    yield batch, True


def _import_batch(target: Store, name: str, batch: list[Event], to: SessionHead) -> int:
    try:
        return target.import_events(name, batch, to)
    except (StoreError, UnknownEvent) as error:
        kind = type(error) if isinstance(error, StoreError) else StoreError
        raise kind(f"session {name!r} can't be copied: {error}") from error


def _verified_digest(
    source: Store, target: Store, name: str, count: int, place: SessionHead, progress: _Progress
) -> str:
    """The digest of the session, after checking that it is the same on both sides."""
    sent = _digest(progress.through(COMPARING, islice(source.events(name), count)), place)
    if not _stands_at(target, name, place):
        raise StoreBusy(f"session {name!r} was moved in the target while it was copied; run the copy again")
    if _digest(target.events(name), target.session_head(name)) == sent:
        return sent
    # The target may have more events, or another order: compare those of the source only.
    try:
        arrived = _digest((_event(target, name, event.id) for event in islice(source.events(name), count)), place)
    except UnknownEvent as error:
        raise StoreError(f"session {name!r} was not copied completely: event {error} is missing") from error
    if arrived != sent:
        raise StoreError(f"session {name!r} is not the same on both sides")
    return sent


def _stands_at(target: Store, name: str, place: SessionHead) -> bool:
    """Whether that is the head of the session in the target, or an ancestor of it: somebody may have appended since."""
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
