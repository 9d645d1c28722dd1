"""A store in memory, which ends with the process. Its methods are documented by `tildone.log.store`."""

from __future__ import annotations

from threading import Condition
from time import time_ns

from tildone.base import TYPE_CHECKING, HeadMoved, StoreError, UnknownEvent, UnknownNeed
from tildone.log.kept import Finding, KeptSummary, counts_of, with_seen
from tildone.log.needs import Need, answered, open_needs, without_old
from tildone.log.presence import Presence, with_presence
from tildone.plan import claims as claiming
from tildone.plan.events import Event, SessionChange, SessionHead, SessionInfo, ancestors, leaves
from tildone.stores.polling import Changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tildone.log.store import ProgressCallback
    from tildone.plan.claims import Claim, Claimant, ClaimFence


class MemoryStore:
    """A store for tests, experiments and agents that need no persistence. It has the contract of the durable ones."""

    durable = False
    user = ""

    def __init__(self) -> None:
        self._changed = Condition()
        self._events: dict[str, dict[str, Event]] = {}
        self._heads: dict[str, SessionHead] = {}
        self._by_last_write: dict[str, None] = {}
        self.records = MemoryRecords(self._changed, self._events, self._heads, self.append)

    def session_head(self, session: str) -> SessionHead:
        return self._heads.get(session, SessionHead())

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        events = self._events.get(session, {})
        newest = self.session_head(session).head if head is None else head
        if newest is not None and newest not in events:
            raise UnknownEvent(newest)
        return ancestors(events, newest)

    def events(self, session: str) -> Iterator[Event]:
        return iter(tuple(self._events.get(session, {}).values()))

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        with self._changed:
            if self.session_head(session).head != event.parent:
                raise HeadMoved(session)
            events = self._events.setdefault(session, {})
            if event.id in events:
                raise StoreError(f"{session!r} has an event {event.id!r} already")
            events[event.id] = event
            self._written(session, SessionHead(event.id))
            if seen_by:
                self.records.note_seen(session, seen_by, event.id)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        with self._changed:
            if self.session_head(session).head != expected:
                raise HeadMoved(session)
            events = self._events.get(session)
            if to.head is not None and to.head not in (events or {}):
                raise UnknownEvent(to.head)
            if events:
                self._set_head(session, to)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        with self._changed:
            known = self._events.get(session, {})
            new: dict[str, Event] = {}
            for event in events:
                if event.parent is not None and event.parent not in known and event.parent not in new:
                    raise UnknownEvent(event.parent)
                if (known.get(event.id) or new.setdefault(event.id, event)) != event:
                    raise StoreError(f"{session!r} has a different event {event.id!r}")
            if to.head is not None and to.head not in known and to.head not in new:
                raise UnknownEvent(to.head)
            if new:
                self._events.setdefault(session, {}).update(new)
                self._written(session, to)
            elif known:
                self._set_head(session, to)
            return len(new)

    def delete(self, session: str, *, expected: str | None) -> None:
        with self._changed:
            if self.session_head(session).head != expected:
                raise HeadMoved(session)
            if session in self._events:
                for table in (self._events, self._heads, self._by_last_write):
                    table.pop(session, None)
                self.records.forget(session)
                self.records.revise(session)

    def leaves(self, session: str) -> list[str]:
        return leaves(self.events(session))

    def sessions(self) -> list[SessionInfo]:
        with self._changed:
            return [_info(name, self._events[name]) for name in reversed(self._by_last_write)]

    def session_info(self, session: str) -> SessionInfo | None:
        with self._changed:
            return _info(session, self._events[session]) if session in self._events else None

    def unreadable(self) -> list[str]:
        return []

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.session_head(session).head != head, timeout)

    def check(self, _progress: ProgressCallback | None = None) -> Iterator[Finding]:
        return iter(())

    def compact(self) -> None:
        """Do nothing: there is no file to compact."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _written(self, session: str, to: SessionHead) -> None:
        self._heads[session] = to
        self._by_last_write.pop(session, None)
        self._by_last_write[session] = None
        self.records.revise(session)

    def _set_head(self, session: str, to: SessionHead) -> None:
        if self._heads[session] != to:
            self._heads[session] = to
            self.records.revise(session)


class ClaimsOfSessions:
    """Claims of a store that reads and writes all those of a session at once."""

    def change_claims(self, session: str, change: Callable[[list[Claim], int], list[Claim]]) -> tuple[list[Claim], int]:
        """Replace the claims of a session by what `change` makes of them; return those, and the time it was given."""
        raise NotImplementedError

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        after, now = self.change_claims(session, lambda known, now: claiming.claimed(known, task, claimant, lease, now))
        return next(claim for claim in claiming.current(after, now) if claim.task == task)

    def renew(self, session: str, agent: str, lease: int) -> list[Claim]:
        after, now = self.change_claims(session, lambda known, now: claiming.renewed(known, agent, lease, now))
        return claiming.lost_by(after, agent, now)

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        self.change_claims(session, lambda known, _now: claiming.released(known, agent, tasks))

    def lapse(self, session: str, agent: str) -> None:
        self.change_claims(session, lambda known, _now: claiming.lapsed(known, agent))


class MemoryRecords(ClaimsOfSessions):
    """What a store in memory keeps beside the log, whose events, heads and condition it shares."""

    def __init__(
        self,
        changed: Condition,
        events: Mapping[str, Mapping[str, Event]],
        heads: Mapping[str, SessionHead],
        append: Callable[[str, Event, str], None],
    ) -> None:
        self._changed = changed
        self._events = events
        self._heads = heads
        self._append = append
        self._changes = Changes()
        self._seen: dict[str, dict[str, str]] = {}
        self._presences: dict[str, Presence] = {}
        self._needs: dict[str, Need] = {}
        self._summaries: dict[str, KeptSummary] = {}
        self._claims: dict[str, list[Claim]] = {}

    def seen(self, session: str, reader: str) -> str | None:
        return self._seen.get(session, {}).get(reader)

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        with self._changed:
            self.note_seen(session, reader, head)

    def note_seen(self, session: str, reader: str, head: str | None) -> None:
        """Record what a reader has seen; the caller holds the condition."""
        if session in self._events:
            self._seen[session] = with_seen(self._seen.get(session, {}), reader, head)

    def revision(self) -> int:
        return self._changes.revision

    def changed(self, since: int) -> list[SessionChange]:
        with self._changed:
            return [
                SessionChange(name, self._heads.get(name, SessionHead()).head, revision, exists=name in self._events)
                for name, revision in self._changes.after(since)
            ]

    def wait_any(self, revision: int, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.revision() != revision, timeout)

    def beat(self, presence: Presence) -> None:
        with self._changed:
            self._presences = {each.agent: each for each in with_presence(self._presences.values(), presence)}

    def leave(self, agent: str) -> None:
        with self._changed:
            self._presences.pop(agent, None)

    def presences(self) -> list[Presence]:
        with self._changed:
            return sorted(self._presences.values(), key=lambda each: each.agent)

    def ask(self, need: Need) -> None:
        with self._changed:
            if need.id not in self._needs:
                self._set_needs([*self._needs.values(), need], need.since)
                self.revise(need.session)

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        with self._changed:
            if need not in self._needs:
                raise UnknownNeed(need)
            self._needs[need] = decided = answered(self._needs[need], answer, by, at)
            self._set_needs(self._needs.values(), at)
            self.revise(decided.session)
        return decided

    def withdraw(self, need: str) -> None:
        with self._changed:
            if need in self._needs and self._needs[need].is_open:
                self.revise(self._needs.pop(need).session)

    def need(self, need: str) -> Need | None:
        return self._needs.get(need)

    def needs(self) -> list[Need]:
        with self._changed:
            return open_needs(self._needs.values())

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> list[Claim]:
        with self._changed:
            before, now = self._claims.get(session, []), _now()
            after = claiming.fenced(session, before, fence, now)
            self._append(session, event, seen_by)
            self._claims[session] = after
            return claiming.taken(before, after, now)

    def claims(self, session: str) -> list[Claim]:
        with self._changed:
            return claiming.unreleased(self._claims.get(session, []), _now())

    def kept_summaries(self) -> dict[str, KeptSummary]:
        with self._changed:
            return dict(self._summaries)

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        with self._changed:
            self._summaries.update((name, kept) for name, kept in summaries.items() if name in self._events)

    def density(self, session: str, begin: int, end: int, buckets: int) -> list[int]:
        with self._changed:
            return counts_of((event.at for event in self._events.get(session, {}).values()), begin, end, buckets)

    def revise(self, session: str) -> None:
        self._changes.add(session)
        self._changed.notify_all()

    def forget(self, session: str) -> None:
        """Remove what is kept of a session that is deleted; the caller holds the condition."""
        self._seen.pop(session, None)
        self._summaries.pop(session, None)
        self._claims.pop(session, None)
        self._presences = {name: each for name, each in self._presences.items() if each.session != session}
        self._needs = {name: need for name, need in self._needs.items() if need.session != session}

    def change_claims(self, session: str, change: Callable[[list[Claim], int], list[Claim]]) -> tuple[list[Claim], int]:
        with self._changed:
            now = _now()
            self._claims[session] = change(self._claims.get(session, []), now)
            return self._claims[session], now

    def _set_needs(self, needs: Iterable[Need], now: int) -> None:
        self._needs = {need.id: need for need in without_old(needs, now)}


def _now() -> int:
    return time_ns() // 1_000_000


def _info(name: str, events: dict[str, Event]) -> SessionInfo:
    first, last = (events[next(ids)] for ids in (iter(events), reversed(events)))
    return SessionInfo(name, len(events), first.at, last.at)
