"""`LeaseTransaction`: what the operations on leases need of a store. It is imported only by type checkers."""

from __future__ import annotations

from typing import Protocol

from tildone.log.events import Event
from tildone.log.fleet.lease import Claimer, Lease
from tildone.log.fleet.rules import Moment
from tildone.log.fleet.settings import FleetSettings
from tildone.log.fleet.workers import RunSchedule
from tildone.log.tree import SessionHead


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

    def living(self, session: str) -> set[str]:
        """Return the runs of a session that have not ended, without a lock."""

    def owned(self, owner: str) -> Lease | None:
        """Return the lease that an owner has."""

    def claimable(self, who: Claimer, only: tuple[str, int] | None, *, unsent: bool = False) -> Lease | None:
        """Return the first lease that a worker may take; with `only`, that of a run and hand.

        With `unsent`, it is one that no engine has, and what an engine has counts for the limits.
        """

    def lapsed(self, settings: FleetSettings, *, by_time: bool) -> tuple[Lease, str] | None:
        """Return a lease that has lapsed, and why."""

    def insert(self, lease: Lease) -> None:
        """Add a lease."""

    def update(self, lease: Lease) -> None:
        """Change a lease."""

    def head(self, session: str) -> SessionHead:
        """Return the head and the redo stack of a session, which stays locked."""

    def has_event(self, session: str, event: str) -> bool:
        """Return whether a session has an event."""

    def append(self, session: str, event: Event, redo: tuple[str, ...]) -> None:
        """Append an event to the head, and set the redo stack."""

    def lapse_claims(self, session: str, lease: str) -> None:
        """End the claims of tasks that agents have under a lease, given as `run/hand`."""

    def task(self, session: str) -> int:
        """Return the number of the task to work on; 0 if there is none."""

    def announce(self) -> None:
        """Tell those who wait that leases may be free, or that a wish was added."""

    def requests(self, provider: str) -> tuple[int, int]:
        """Return how many requests a minute a provider may get, and when the next would be at equal intervals."""

    def set_next_request(self, provider: str, earliest: int) -> None:
        """Set when the next request would be at equal intervals."""

    def due(self) -> RunSchedule | None:
        """Return a schedule that is due."""

    def put_schedule(self, schedule: RunSchedule) -> None:
        """Add or replace a schedule."""
