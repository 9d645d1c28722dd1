"""The operations on leases, the same in every store: what is read, decided and written in one transaction.

A store implements `LeaseTransaction` and `_change`. Whoever locks several things locks them in this order: the name of
a session or of a worker, leases, limits, the session. Whoever chooses among queued leases waits for none of them. So
operations that meet wait for each other, but never in a circle. If a store repeats a transaction whose answer was lost,
the second one finds what the first one did.
"""

from __future__ import annotations

from tildone.errors import NotFound, Refused, RunFenced
from tildone.log.events import Actor, Event
from tildone.log.fleet import rules
from tildone.log.fleet.facts import Asked
from tildone.log.fleet.lease import LeaseState, checked_run
from tildone.log.fleet.names import check_text
from tildone.log.fleet.rules import Step
from tildone.stores.repository_names import lock_repositories, with_known_repository, with_local_path
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from tildone.log.events import Fact
    from tildone.log.fleet.facts import Kept
    from tildone.log.fleet.lease import Ask, Claimer, Lease, NewRun, RunFence, WorkOutcome
    from tildone.stores.lease_transaction import LeaseTransaction
    from tildone.stores.scribe import Scribe

    T = TypeVar("T")

MAX_REAPED = 50
"""How many leases one call of `reap` takes at most."""


class LeaseOperations:
    """The operations of `RunLeases` that change leases. See there."""

    _scribe: Scribe

    def _change(self, work: Callable[[LeaseTransaction], T]) -> T:
        """Do the work in a transaction, and return its result."""
        raise NotImplementedError

    def add(self, new: NewRun, first: Sequence[Fact] = ()) -> list[Lease]:
        """Queue a run, and return its leases."""
        return self.add_all([(new, first)])[0]

    def add_all(self, runs: Sequence[tuple[NewRun, Sequence[Fact]]]) -> list[list[Lease]]:
        """Queue several runs, or none of them, and return their leases."""
        checked = [(with_local_path(checked_run(new)), first) for new, first in runs]

        def work(tables: LeaseTransaction) -> list[list[Lease]]:
            # All before the first lease, and in one order, so that two callers do not wait for each other.
            for session in sorted({new.session for new, _ in checked}):
                tables.lock(session)
            lock_repositories(tables, [new for new, _ in checked])
            added = [self._add(tables, new, first) for new, first in checked]
            tables.announce()
            return added

        return self._change(work)

    def take(self, who: Claimer, owner: str, run: str, hand: int, attempt: int) -> Lease | None:
        """Take the lease that an engine has dispatched."""
        check_text(owner)

        def work(tables: LeaseTransaction) -> Lease | None:
            # After an answer that was lost, the first transaction may still be at work.
            tables.lock(who.worker)
            for held in tables.owned([owner]):
                return held if (held.run, held.hand, held.attempt) == (run, hand, attempt) else None
            lease = tables.takeable(who, run, hand)
            if lease is None or lease.attempt != attempt or not tables.within_limits([lease]):
                return None
            return self._taken(tables, lease, who, owner)

        return self._change(work)

    def claim(self, who: Claimer, owners: Sequence[str]) -> list[Lease]:
        """Take the first queued leases that the worker can run and no limit forbids."""
        for owner in owners:
            check_text(owner)

        def work(tables: LeaseTransaction) -> list[Lease]:
            tables.lock(who.worker)
            found = tables.owned(owners)
            free = [owner for owner in owners if owner not in {lease.owner for lease in found}]
            while free and (chosen := tables.within_limits(tables.claimable(who, len(free)))):
                found += [self._taken(tables, lease, who, free.pop(0)) for lease in chosen]
            return found

        return self._change(work) if owners else []

    def reap(self, seen_for: int) -> list[Lease]:
        """Take lapsed leases from their owners, and return them."""

        def work(tables: LeaseTransaction) -> Lease | None:
            settings = tables.settings()
            found = tables.lapsed(settings, by_time=seen_for >= settings.grace)
            if found is None:
                return None
            return self._lost(tables, *found)

        reaped: list[Lease] = []
        # Each in a transaction of its own, so that no other worker waits for long.
        while len(reaped) < MAX_REAPED and (lease := self._change(work)) is not None:
            reaped.append(lease)
        return reaped

    def release(self, held: RunFence, why: str, delay: int = 0) -> Lease | None:
        """Give a lease back."""
        return self._give_back(held, lambda lease, now: rules.released(lease, held, why, now, delay))

    def lose(self, held: RunFence, why: str) -> Lease | None:
        """Take a lease from a worker that has ended."""

        def work(tables: LeaseTransaction) -> Lease | None:
            lease = tables.lease(held.run, held.hand)
            return self._lost(tables, lease, why) if lease and rules.is_holder(lease, held) else None

        return self._change(work)

    def close(self, held: RunFence, outcome: WorkOutcome, why: str = "") -> Lease | None:
        """End the work under a lease, and return the lease after it."""
        return self._give_back(held, lambda lease, now: rules.closed(lease, held, outcome, why, now))

    def request_stop(self, run: str, ask: Ask, why: str = "") -> list[Lease]:
        """Ask the holders of a run to stop, and return its leases."""

        def work(tables: LeaseTransaction) -> list[Lease]:
            steps = [(lease, rules.stop_requested(lease, ask, why, tables.at.now)) for lease in _known(tables, run)]
            changed = [self._record(tables, lease, step, Actor.USER) for lease, step in steps]
            tables.announce()
            return changed

        return self._change(work)

    def requeue(self, run: str) -> list[Lease]:
        """Resume or retry a run, and return its leases."""

        def work(tables: LeaseTransaction) -> list[Lease]:
            session = tables.session_of(run)
            if session is not None:
                tables.lock(session)
            known = _known(tables, run)
            # A hand that is done needs nothing more. If all are, the rule says why the run is refused.
            unfinished = [lease for lease in known if lease.state is not LeaseState.DONE] or known
            steps = [(lease, rules.resumed(lease, tables.at.now)) for lease in unfinished]
            _check_no_other(tables, known[0].session, run)
            changed = {lease.hand: self._record(tables, lease, step, Actor.USER) for lease, step in steps}
            tables.announce()
            return [changed.get(lease.hand, lease) for lease in known]

        return self._change(work)

    def append(self, held: RunFence, fact: Asked | Kept, event: str) -> None:
        """Append a fact under a lease, as the event of that id."""

        def work(tables: LeaseTransaction) -> None:
            lease = tables.lease(held.run, held.hand)
            if lease is not None and tables.has_event(lease.session, event):
                return
            if lease is None or not rules.is_holder(lease, held):
                raise RunFenced(held.run)
            step = rules.asked(lease, fact) if isinstance(fact, Asked) else Step(lease, (fact,))
            self._record(tables, lease, step, Actor.AGENT, event)

        self._change(work)

    def answer(self, run: str, question: str, text: str, who: str, event: str) -> Lease:
        """Answer a question of a run, and return the lease of the hand that asked."""

        def work(tables: LeaseTransaction) -> Lease:
            known = _known(tables, run)
            if tables.has_event(known[0].session, event):
                return known[0]
            for lease in known:
                step = rules.answered(lease, question, text, who, tables.at.now)
                if step is not None:
                    after = self._record(tables, lease, step, Actor.USER, event)
                    tables.announce()
                    return after
            raise Refused(f"run {run} has no open question {question!r}")

        return self._change(work)

    def dispatch(self, who: Claimer, most: int) -> list[Lease]:
        """Mark the first queued leases that the worker can run as sent, and return them."""

        def work(tables: LeaseTransaction) -> list[Lease]:
            found: list[Lease] = []
            while len(found) < most:
                candidates = tables.claimable(who, most - len(found), unsent=True)
                chosen = tables.within_limits(candidates, sent=True)
                if not chosen:
                    break
                tables.mark_sent(chosen)
                found += [replace(lease, sent=True) for lease in chosen]
            return found

        return self._change(work)

    def resend(self, run: str, hand: int, attempt: int) -> Lease | None:
        """Let an attempt that has not begun be sent again."""

        def work(tables: LeaseTransaction) -> Lease | None:
            lease = tables.lease(run, hand)
            after = None if lease is None else rules.resent(lease, attempt)
            if after is not None:
                tables.update(after)
                tables.announce()
            return after

        return self._change(work)

    def _add(self, tables: LeaseTransaction, new: NewRun, first: Sequence[Fact]) -> list[Lease]:
        """Queue a run whose session is locked."""
        known = tables.leases(new.run)
        if known:
            if known[0].session != new.session:
                raise Refused(f"run {new.run} is that of another plan")
            return known
        _check_no_other(tables, new.session, new.run)
        new = with_known_repository(tables, new)
        steps = [rules.queued(new, hand, tables.at.now) for hand in range(new.hands)]
        for step in steps:
            tables.insert(step.lease)
        for fact in first:
            self._append(tables, new.session, fact, Actor.USER)
        if tables.head(new.session) is None:
            raise NotFound(f"there is no plan {new.session!r}")
        return [self._record(tables, step.lease, step, Actor.USER) for step in steps]

    def _taken(self, tables: LeaseTransaction, lease: Lease, who: Claimer, owner: str) -> Lease:
        step = rules.taken(lease, owner, who.version, tables.at, tables.settings().lease)
        return self._record(tables, lease, step)

    def _lost(self, tables: LeaseTransaction, lease: Lease, why: str) -> Lease:
        after = self._record(tables, lease, rules.lost(lease, why, tables.task(lease.session), tables.at.now))
        tables.announce()
        return after

    def _give_back(self, held: RunFence, decide: Callable[[Lease, int], Step | None]) -> Lease | None:
        def work(tables: LeaseTransaction) -> Lease | None:
            lease = tables.lease(held.run, held.hand)
            step = None if lease is None else decide(lease, tables.at.now)
            if lease is None or step is None:
                return None
            after = self._record(tables, lease, step)
            tables.announce()
            return after

        return self._change(work)

    def _record(
        self, tables: LeaseTransaction, before: Lease, step: Step, actor: Actor = Actor.TIMER, event: str = ""
    ) -> Lease:
        """Write a changed lease, then its facts, of which the first becomes the event of that id, if one is given."""
        if step.lease != before:
            tables.update(step.lease)
        if before.is_held and not step.lease.is_held:
            # The successor, or another hand of the run, need not wait until they have lapsed by themselves.
            tables.lapse_claims(before.session, f"{before.run}/{before.hand}")
        for fact in step.facts:
            self._append(tables, step.lease.session, fact, actor, event)
            event = ""
        return step.lease

    def _append(self, tables: LeaseTransaction, session: str, fact: Fact, actor: Actor, event: str = "") -> None:
        scribe = self._scribe
        new = Event(event or scribe.new_id(), tables.head(session), scribe.now(), actor, fact, scribe.author)
        tables.append(session, new)


def _known(tables: LeaseTransaction, run: str) -> list[Lease]:
    found = tables.leases(run)
    if not found:
        raise NotFound(f"there is no run {run!r}")
    return found


def _check_no_other(tables: LeaseTransaction, session: str, run: str) -> None:
    others = sorted(tables.active(session) - {run})
    if others:
        raise Refused(f"run {others[0]} of this plan has not ended: wait for it, or cancel it first")
