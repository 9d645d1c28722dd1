"""`LeaseTransaction`: what the operations on leases need of a store. It is imported only by type checkers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tildone.log.events import Event
from tildone.log.fleet.lease import Claimer, Lease
from tildone.log.fleet.rules import Moment
from tildone.log.fleet.settings import FleetSettings
from tildone.log.fleet.workers import RunSchedule


class LeaseTransaction(Protocol):
    """A transaction on leases and on the log. Leases that are read stay locked until it ends."""

    @property
    def at(self) -> Moment:
        """The time at which it began."""

    def lock(self, name: str) -> None:
        """Let no other transaction lock that name until this one ends."""

    def settings(self) -> FleetSettings:
        """Return the settings of the fleet."""

    def leases(self, run: str) -> list[Lease]:
        """Return the leases of a run, by hand."""

    def lease(self, run: str, hand: int) -> Lease | None:
        """Return the lease of a hand."""

    def session_of(self, run: str) -> str | None:
        """Return the session of a run, without a lock."""

    def active(self, session: str) -> set[str]:
        """Return the runs of a session that have not ended, without a lock."""

    def owned(self, owners: Sequence[str]) -> list[Lease]:
        """Return the leases that owners have."""

    def takeable(self, who: Claimer, run: str, hand: int) -> Lease | None:
        """Return the lease of a hand if it is queued and a worker may take it. Its limits may be unchecked."""

    def claimable(self, who: Claimer, most: int, *, unsent: bool = False) -> list[Lease]:
        """Return the first leases that a worker may take, at least one if there are any, at most `most`.

        With `unsent`, they are such that no engine has, and what an engine has counts for the limits. Their limits may
        not have been checked together.
        """

    def within_limits(self, leases: Sequence[Lease], *, sent: bool = False) -> list[Lease]:
        """Return those of queued leases that limits permit to be held together, in their order.

        Until the transaction ends, no other one takes what they leave. With `sent`, what an engine has counts as held.
        """

    def lapsed(self, settings: FleetSettings, *, by_time: bool) -> tuple[Lease, str] | None:
        """Return a lease that has lapsed, and why."""

    def insert(self, lease: Lease) -> None:
        """Add a lease."""

    def update(self, lease: Lease) -> None:
        """Change a lease."""

    def mark_sent(self, leases: Sequence[Lease]) -> None:
        """Record that an engine has leases."""

    def head(self, session: str) -> str | None:
        """Return the head of a session."""

    def has_event(self, session: str, event: str) -> bool:
        """Return whether a session has an event."""

    def append(self, session: str, event: Event) -> None:
        """Append an event to the head. The redo stack stays, unless the event contains a plan."""

    def lapse_claims(self, session: str, lease: str) -> None:
        """End the claims of tasks that agents have under a lease, given as `run/hand`."""

    def task(self, session: str) -> int:
        """Return the number of the task to work on; 0 if there is none."""

    def announce(self) -> None:
        """Tell those who wait that leases may be free, or that a stop was requested."""

    def has_repository(self, repo: str) -> bool:
        """Return whether a lease, of whatever state, has a repository of exactly that name."""

    def repositories(self) -> list[str]:
        """Return the names of the repositories of all leases, each once."""

    def requests(self, provider: str) -> tuple[int, int]:
        """Return how many requests a minute a provider may get, and when the next would be at equal intervals."""

    def set_next_request(self, provider: str, earliest: int) -> None:
        """Set when the next request would be at equal intervals."""

    def due(self) -> RunSchedule | None:
        """Return a schedule that is due."""

    def put_schedule(self, schedule: RunSchedule) -> None:
        """Add or replace a schedule."""
