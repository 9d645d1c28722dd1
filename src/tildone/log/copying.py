"""Copy sessions from one store to another, and verify the copy.

Any two stores will do, because copying uses only the `Store` protocol. It only adds events: those that the target
already has are left as they are. Rerun an interrupted copy to resume it.

A session may be written to while it is copied. Its head and its events are therefore read as one snapshot, and sessions
that changed in the meantime are copied again, in at most `MAX_ROUNDS` rounds. Each copy is verified by comparing a
SHA-256 digest over the session's events and head in both stores.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import chain, islice

from tildone.base import NotFound, StoreBusy, StoreDamaged, StoreError, UnknownEvent, value
from tildone.log.store import Store
from tildone.plan import codec
from tildone.plan.events import Event, PlanChanged, SessionHead, SessionInfo
from tildone.plan.history.refs import is_event

CopyProgress = Callable[[str, int, int], None]

MAX_ROUNDS = 3
"""How many times a session is copied, at most, if it is written to during the copy."""

MAX_LATER_EVENTS = 1000
"""How many events other writers may append to a session of the target before it is verified."""

MAX_BATCH_EVENTS = 500
MAX_BATCH_TASKS = 5000

COPYING, COMPARING = "copying", "comparing"


@value
class CopyResult:
    """The result of a copy: how many sessions and events it holds, how many events were new, and the digest of it all.

    `changed_since` names the sessions that were written to after they were copied; the copy lacks their newest events.
    `left_out` says of each session that could not be read what is wrong with it.
    """

    sessions: int
    events: int
    new: int
    digest: str
    changed_since: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@value
class CopyPreview:
    """What a copy would do to a session: its events, how many are new to the target, and its head before and after."""

    name: str
    events: int
    new: int
    head_before: SessionHead
    head_after: SessionHead

    @property
    def changes(self) -> bool:
        """Whether the copy would change the session."""
        return bool(self.new) or self.head_before != self.head_after


@value
class _CopiedSession:
    """A session that was copied: the size and head of its snapshot, how many events were new, and its digest."""

    events: int
    session_head: SessionHead
    new: int
    digest: str


def copy(source: Store, target: Store, report: CopyProgress, only: str | None = None) -> CopyResult:
    """Copy every session, or `only` one, with all its branches and its head.

    Sessions are copied in the order of their last event, so that the target lists them in the same order. `report` is
    called with the current operation, the number of events processed, and their total. A session of the source that is
    damaged is left out, unless it is the `only` one.

    Raises:
        NotFound: there is no such session.
        StoreDamaged: the only session, or the target, is damaged.
        StoreBusy: the head of a session was moved in the target during the copy.
        StoreError: a session differs between the two stores.
    """
    copied: dict[str, _CopiedSession] = {}
    left_out: dict[str, str] = {}
    new = 0
    for _ in range(MAX_ROUNDS):
        readable = (info for info in _oldest_first(source, only) if info.name not in left_out)
        outdated = [info for info in readable if not _is_up_to_date(source, info, copied)]
        if not outdated:
            break
        counts = {info.name: info.events for info in target.sessions()}
        progress = _ProgressCounter(report, 2 * sum(info.events for info in outdated))
        for info in outdated:
            try:
                copied[info.name] = _copy_session(source, target, info, counts.get(info.name), progress)
            except _SourceDamaged as error:
                if only is not None:
                    raise error.reason from None
                left_out[info.name] = f"session {info.name!r}: {error.reason}"
                if info.name not in counts:
                    # A long session is copied in batches.
                    target.delete(info.name, expected=target.session_head(info.name).head)
            else:
                new += copied[info.name].new
    infos = [info for info in _oldest_first(source, only) if info.name not in left_out]
    changed_since = tuple(info.name for info in infos if not _is_up_to_date(source, info, copied))
    present = [(info.name, copied[info.name]) for info in infos if info.name in copied]
    events = sum(session.events for _, session in present)
    total = sha256()
    for name, session in present:
        total.update(f"{codec.dump(name)} {session.digest}\n".encode())
    lost = (*left_out.values(), *(source.unreadable() if only is None else ()))
    return CopyResult(len(present), events, new, total.hexdigest(), changed_since, lost)


def preview_copy(source: Store, target: Store, only: str | None = None) -> Iterator[CopyPreview]:
    """Yield what a copy would do to each session, without changing anything.

    Raises NotFound if there is no such session, StoreDamaged if a session of the source, or the target, is damaged.
    """
    for info in _oldest_first(source, only):
        new = count = 0
        try:
            head, events = _snapshot(source, info.name)
            for event in events:
                count += 1
                new += not is_event(target, info.name, event.id)
        except _SourceDamaged as error:
            raise error.reason from None
        yield CopyPreview(info.name, count, new, target.session_head(info.name), head)


class _SourceDamaged(Exception):
    """A session of the source cannot be read; the target would raise `StoreDamaged` itself."""

    def __init__(self, reason: StoreDamaged) -> None:
        self.reason = reason


class _ProgressCounter:
    """Counts the events of a copy and reports the count."""

    def __init__(self, report: CopyProgress, total: int) -> None:
        self._report = report
        self._total = total
        self._done = 0

    def add(self, operation: str, count: int) -> None:
        self._done += count
        # A session may grow while it is copied.
        self._total = max(self._total, self._done)
        self._report(operation, self._done, self._total)

    def count_each(self, operation: str, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events and count each."""
        for event in events:
            self.add(operation, 1)
            yield event


def _oldest_first(source: Store, only: str | None) -> list[SessionInfo]:
    infos = source.sessions()[::-1]
    if only is None:
        return infos
    selected = [info for info in infos if info.name == only]
    if not selected:
        raise NotFound(f"there is no session {only!r} to copy")
    return selected


def _is_up_to_date(source: Store, info: SessionInfo, copied: dict[str, _CopiedSession]) -> bool:
    session = copied.get(info.name)
    if session is None:
        return False
    return session.events >= info.events and session.session_head == source.session_head(info.name)


def _copy_session(
    source: Store, target: Store, info: SessionInfo, target_events: int | None, progress: _ProgressCounter
) -> _CopiedSession:
    name = info.name
    head, events = _snapshot(source, name)
    new = count = 0
    if target_events == info.events and target.session_head(name) == head:
        # Probably copied before, so it is only verified.
        count = info.events
        progress.add(COPYING, count)
    else:
        for batch, is_last in _batches(events):
            # The head moves with the last batch, so that an interrupted copy leaves the session as it was.
            new += _import_batch(target, name, batch, head if is_last else target.session_head(name))
            count += len(batch)
            progress.add(COPYING, len(batch))
    return _CopiedSession(count, head, new, _verified_digest(source, target, name, count, head, progress))


def _snapshot(source: Store, name: str) -> tuple[SessionHead, Iterator[Event]]:
    """The head of a session and its events, as of one moment.

    A store fixes the extent of `events` when the first event is read, or earlier. If the head is still the same after
    that, it belongs to these events.
    """
    while True:
        try:
            head = source.session_head(name)
            events = _events(source, name)
            first = list(islice(events, 1))
            if source.session_head(name) == head:
                return head, chain(first, events)
        except StoreDamaged as error:
            raise _SourceDamaged(error) from error


def _events(source: Store, name: str) -> Iterator[Event]:
    try:
        yield from source.events(name)
    except StoreDamaged as error:
        raise _SourceDamaged(error) from error


def _batches(events: Iterator[Event]) -> Iterator[tuple[list[Event], bool]]:
    """Split events into batches, each with whether it is the last, to limit the memory that a long session takes."""
    batch: list[Event] = []
    tasks = 0
    for event in events:
        if len(batch) >= MAX_BATCH_EVENTS or tasks >= MAX_BATCH_TASKS:
            yield batch, False
            batch, tasks = [], 0
        batch.append(event)
        tasks += len(event.fact.plan.tasks) if isinstance(event.fact, PlanChanged) else 0
    yield batch, True


def _import_batch(target: Store, name: str, batch: list[Event], to: SessionHead) -> int:
    try:
        return target.import_events(name, batch, to)
    except (StoreError, UnknownEvent) as error:
        kind = type(error) if isinstance(error, StoreError) else StoreError
        raise kind(f"session {name!r} can't be copied: {error}") from error


def _verified_digest(
    source: Store, target: Store, name: str, count: int, head: SessionHead, progress: _ProgressCounter
) -> str:
    """The digest of the session, after checking that both stores give the same."""
    expected = _digest(progress.count_each(COMPARING, islice(_events(source, name), count)), head)
    if not _is_at_or_after(target, name, head):
        raise StoreBusy(f"session {name!r} was moved in the target while it was copied; run the copy again")
    if _digest(target.events(name), target.session_head(name)) == expected:
        return expected
    # The target may have more events, or another order: compare only the events of the source, in their order.
    try:
        actual = _digest((next(target.history(name, event.id)) for event in islice(_events(source, name), count)), head)
    except UnknownEvent as error:
        raise StoreError(f"session {name!r} was not copied completely: event {error} is missing") from error
    if actual != expected:
        raise StoreError(f"session {name!r} is not the same on both sides")
    return expected


def _is_at_or_after(target: Store, name: str, head: SessionHead) -> bool:
    """Whether the session's head in the target is `head` or a descendant of it: others may have appended events."""
    if target.session_head(name) == head or head.head is None:
        return True
    return any(event.id == head.head for event in islice(target.history(name), MAX_LATER_EVENTS))


def _digest(events: Iterable[Event], head: SessionHead) -> str:
    total = sha256()
    for event in events:
        total.update(f"{codec.encode(event)}\n".encode())
    total.update(codec.dump([head.head, head.redo]).encode())
    return total.hexdigest()
