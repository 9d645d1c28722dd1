"""`RunLeases`: what a store with leases of runs can do.

Each call is one transaction, in which the lease changes and the facts about it are appended to the log of its plan. A
call whose answer was lost may be repeated: `add` recognises the run, `take` and `claim` the owner, `append` and
`answer` the id of the event; the others do nothing the second time, or say that the lease is no longer the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tildone.log.kept import Finding
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.events import Fact
from tildone.plan.lists import RunSchedule, RunView, WorkerInfo
from tildone.plan.runs import Ask, Asked, Claimer, Kept, Lease, NewRun, Renewed, RunFence, WorkOutcome

NextTime = Callable[[RunSchedule, int], int]
"""Returns when a schedule is next due after a time. Times are in milliseconds since 1970."""


class RunLeases(Protocol):
    """The leases of a store, its workers, schedules, settings and limits. Safe to use from several threads."""

    def add(self, new: NewRun, first: Sequence[Fact] = ()) -> list[Lease]:
        """Queue a run, and return its leases, by hand. `first` is appended to the log before, such as a new plan.

        Raises:
            UsageError: the run has an invalid name, or contains a password.
            Refused: another run of the plan has not ended.
            NotFound: there is no such plan.
        """

    def add_all(self, runs: Sequence[tuple[NewRun, Sequence[Fact]]]) -> list[list[Lease]]:
        """Queue several runs, as `add` does, or none of them.

        Raises:
            UsageError: a run has an invalid name, or contains a password.
            Refused: another run of a plan has not ended.
            NotFound: there is no such plan.
        """

    def take(self, who: Claimer, owner: str, run: str, hand: int, attempt: int) -> Lease | None:
        """Take the lease that an engine has dispatched. None if it is not this attempt's, or if a limit forbids it."""

    def claim(self, who: Claimer, owners: Sequence[str]) -> list[Lease]:
        """Take the first queued leases that the worker can run and no limit forbids: at most one for each owner.

        Owners are executions of the worker: `host/pid/nonce/execution`. Leases that they have already are returned.
        """

    def renew(self, held: Sequence[RunFence]) -> list[Renewed]:
        """Renew leases, and return those that are still held. The others have been lost."""

    def reap(self, seen_for: int) -> list[Lease]:
        """Take lapsed leases from their owners, and return them. Call it again if there are `MAX_REAPED`.

        `seen_for` is for how many milliseconds the caller has seen the store without a gap. After an outage, owners get
        time to renew first.
        """

    def release(self, held: RunFence, why: str, delay: int = 0) -> Lease | None:
        """Give a lease back; nobody takes it before `delay` milliseconds have passed. None if it was not held."""

    def lose(self, held: RunFence, why: str) -> Lease | None:
        """Take a lease from a worker that has ended: it counts as a loss of the run. None if it was not held."""

    def close(self, held: RunFence, outcome: WorkOutcome, why: str = "") -> Lease | None:
        """End the work under a lease, and return the lease after it. None if it was not held."""

    def request_stop(self, run: str, ask: Ask, why: str = "") -> list[Lease]:
        """Ask the holders of a run to stop, and return its leases. Those that nobody holds change at once.

        Raises:
            NotFound: there is no such run.
        """

    def requeue(self, run: str) -> list[Lease]:
        """Resume or retry a run, and return its leases.

        Raises:
            NotFound: there is no such run.
            Refused: the run is done, or another run of its plan has not ended.
        """

    def append(self, held: RunFence, fact: Asked | Kept, event: str) -> None:
        """Append a fact under a lease, as the event of that id.

        Raises:
            RunFenced: the lease is no longer held.
        """

    def answer(self, run: str, question: str, text: str, who: str, event: str) -> Lease:
        """Answer a question of a run, as the event of that id, and return the lease of the hand that asked.

        A run that waits for this answer only is queued again.

        Raises:
            NotFound: there is no such run.
            Refused: the question is not open.
        """

    def look(self, run: str | None = None) -> list[RunView]:
        """Return all leases, or those of a run, with their sessions and workers, by run and hand."""

    def active(self) -> list[Lease]:
        """Return the leases of hands that have not ended, by run and hand."""

    def size(self) -> int:
        """Return how many bytes the store takes up on disk."""

    def dispatch(self, who: Claimer, most: int) -> list[Lease]:
        """Mark queued leases as sent, and return them: the first that the worker can run and no limit forbids.

        None is sent twice. A lease that is sent is not taken, but it counts for the limits of those sent later.
        """

    def sent(self) -> list[Lease]:
        """Return the queued leases that an engine has, by run and hand."""

    def resend(self, run: str, hand: int, attempt: int) -> Lease | None:
        """Let an attempt that has not begun be sent again, as the next one. None if it does not count, or has begun."""

    def skip_delay(self, run: str) -> None:
        """Let queued leases of a run be taken at once, although they have a delay, unless an agent has failed."""

    def reconsider(self, run: str, hand: int, worker: str) -> None:
        """Let a worker take a queued lease that it has refused."""

    def forget(self, run: str) -> bool:
        """Remove the leases of a run that has ended. Return False if it has not, or if there is none."""

    def rebuild(self) -> int:
        """Add the leases that the logs of all plans tell of and that are missing; return how many.

        Leases that were held then are held again, for the time of a lease.
        """

    def revision(self) -> int:
        """Return a number that grows whenever a lease may have become free, or a stop was requested."""

    def wait(self, revision: int, timeout: float) -> bool:
        """Wait until the revision differs from `revision`. Return False if `timeout` seconds passed first."""

    def settings(self) -> FleetSettings:
        """Return the settings of the fleet."""

    def configure(self, settings: FleetSettings) -> None:
        """Set the settings of the fleet.

        Raises:
            UsageError: the times contradict each other.
        """

    def findings(self) -> list[Finding]:
        """Check what workers need of the store, such as encryption, rights and a clock."""

    def limits(self) -> list[ProviderLimit]:
        """Return the limits of providers, by name."""

    def set_limit(self, limit: ProviderLimit) -> None:
        """Set the limits of a provider; without any, it is removed."""

    def request(self, provider: str) -> int:
        """Take one of the requests of this minute. Return 0, or how many milliseconds to wait before trying again."""

    def beat(self, worker: WorkerInfo) -> Ask:
        """Record a sign of life of a worker, and return what a person asks of it."""

    def leave(self, worker: str) -> None:
        """Remove a worker that has ended."""

    def workers(self) -> list[WorkerInfo]:
        """Return the workers, by id."""

    def drain(self, worker: str) -> bool:
        """Ask a worker to take nothing more. Return False if there is none of that id."""

    def set_schedule(self, schedule: RunSchedule) -> None:
        """Add a schedule, or replace the one of its name."""

    def unschedule(self, name: str) -> bool:
        """Remove a schedule. Return False if there is none of that name."""

    def schedules(self) -> list[RunSchedule]:
        """Return the schedules, by name."""

    def tick(self, next_time: NextTime) -> Mapping[str, str]:
        """Queue a run of each schedule that is due, however often it was missed. Return the runs by schedule.

        A schedule whose last run has not ended, or that cannot be read, is skipped this time; its run is empty then.
        """
