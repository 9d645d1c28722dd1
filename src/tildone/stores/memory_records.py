"""What a store in memory keeps beside the log: presences, questions, claims and summaries."""

from __future__ import annotations

from time import time_ns

from tildone.errors import UnknownNeed
from tildone.log import claims as claiming
from tildone.log.density import counts_of
from tildone.log.needs import answered, open_needs, without_old
from tildone.log.presence import with_presence
from tildone.stores.changes import Changes
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from threading import Condition

    from tildone.log.claims import Claim, Claimant, ClaimFence
    from tildone.log.events import Event
    from tildone.log.kept import KeptSummary
    from tildone.log.needs import Need
    from tildone.log.presence import Presence


class MemoryRecords:
    """The part of a store in memory that is not the log, and the revision, which both have in common."""

    def __init__(self, changed: Condition) -> None:
        self._changed = changed
        self._changes = Changes()
        self._events: dict[str, dict[str, Event]] = {}
        self._presences: dict[str, Presence] = {}
        self._needs: dict[str, Need] = {}
        self._summaries: dict[str, KeptSummary] = {}
        self._claims: dict[str, list[Claim]] = {}

    def beat(self, presence: Presence) -> None:
        """Record a sign of life of an agent."""
        with self._changed:
            self._presences = {each.agent: each for each in with_presence(self._presences.values(), presence)}

    def leave(self, agent: str) -> None:
        """Remove the presence of an agent."""
        with self._changed:
            self._presences.pop(agent, None)

    def presences(self) -> list[Presence]:
        """Return the presences of all agents."""
        with self._changed:
            return sorted(self._presences.values(), key=lambda each: each.agent)

    def ask(self, need: Need) -> None:
        """Add an open question, unless there is one with its id."""
        with self._changed:
            if need.id not in self._needs:
                self._set_needs([*self._needs.values(), need], need.since)
                self._revise(need.session)

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        """Answer an open question; the first answer wins.

        Raises:
            NeedAnswered: there is an answer already.
            UnknownNeed: there is no such question.
        """
        with self._changed:
            if need not in self._needs:
                raise UnknownNeed(need)
            self._needs[need] = decided = answered(self._needs[need], answer, by, at)
            self._set_needs(self._needs.values(), at)
            self._revise(decided.session)
        return decided

    def withdraw(self, need: str) -> None:
        """Remove a question if it is open."""
        with self._changed:
            if need in self._needs and self._needs[need].is_open:
                self._revise(self._needs.pop(need).session)

    def need(self, need: str) -> Need | None:
        """Return a question, open or answered."""
        return self._needs.get(need)

    def needs(self) -> list[Need]:
        """Return the open questions, the oldest first."""
        with self._changed:
            return open_needs(self._needs.values())

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        """Claim a task, and return its newest claim."""
        with self._changed:
            now, known = self._now(), self._claims.get(session, [])
            self._claims[session] = after = claiming.claimed(known, task, claimant, lease, now)
            return next(claim for claim in claiming.current(after, now) if claim.task == task)

    def renew(self, session: str, agent: str, lease: int) -> list[Claim]:
        """Renew the leases of an agent; return the claims of tasks that it has lost."""
        with self._changed:
            now, known = self._now(), self._claims.get(session, [])
            self._claims[session] = after = claiming.renewed(known, agent, lease, now)
            return claiming.lost_by(after, agent, now)

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        """Give back the tasks of an agent."""
        with self._changed:
            self._claims[session] = claiming.released(self._claims.get(session, []), agent, tasks)

    def lapse(self, session: str, agent: str) -> None:
        """End the leases of an agent."""
        with self._changed:
            self._claims[session] = claiming.lapsed(self._claims.get(session, []), agent)

    def claims(self, session: str) -> list[Claim]:
        """Return the newest claim of each task that was not given back."""
        with self._changed:
            return claiming.unreleased(self._claims.get(session, []), self._now())

    def kept_summaries(self) -> dict[str, KeptSummary]:
        """Return the kept summaries by session."""
        with self._changed:
            return dict(self._summaries)

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        """Keep summaries of sessions that exist."""
        with self._changed:
            self._summaries.update((name, kept) for name, kept in summaries.items() if name in self._events)

    def density(self, session: str, begin: int, end: int, buckets: int) -> list[int]:
        """Count the events of all branches in equal intervals of time."""
        with self._changed:
            return counts_of((event.at for event in self._events.get(session, {}).values()), begin, end, buckets)

    def _claims_after(self, session: str, fence: ClaimFence) -> list[Claim]:
        """Return the claims after an event with a fence."""
        return claiming.fenced(session, self._claims.get(session, []), fence, self._now())

    def _set_claims(self, session: str, after: list[Claim]) -> list[Claim]:
        """Set the claims of a session, and return those that are new."""
        before = self._claims.get(session, [])
        self._claims[session] = after
        return claiming.taken(before, after, self._now())

    def _now(self) -> int:
        return time_ns() // 1_000_000

    def _set_needs(self, needs: Iterable[Need], now: int) -> None:
        self._needs = {need.id: need for need in without_old(needs, now)}

    def _forget(self, session: str) -> None:
        """Remove what is kept of a session that is deleted."""
        self._summaries.pop(session, None)
        self._claims.pop(session, None)
        self._presences = {name: each for name, each in self._presences.items() if each.session != session}
        self._needs = {name: need for name, need in self._needs.items() if need.session != session}

    def _revise(self, session: str) -> None:
        self._changes.add(session)
        self._changed.notify_all()
