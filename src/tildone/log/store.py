"""`Store`: what every store of sessions guarantees.

A store keeps events and moves heads. It never decides: a writer names the head that it saw, and the store refuses
the write with `HeadMoved` if the head is another (see `tildone.log.writer`). Each call is atomic: other threads and
processes see all of its effect or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from tildone.log.events import Event
from tildone.log.findings import Finding
from tildone.log.tree import SessionHead, SessionInfo

ProgressCallback = Callable[[int, int], None]
"""Called with how many events were checked so far, and how many there are."""


class Store(Protocol):
    """Sessions by name. Safe to use from several threads and, if `durable`, from several processes.

    A session comes into being with its first event; one that was never written to reads as empty.
    """

    durable: bool

    def session_head(self, session: str) -> SessionHead:
        """The session's head and redo stack."""

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """The events from `head` (the session's own, unless another is named) to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """

    def events(self, session: str) -> Iterator[Event]:
        """Every event of every branch, in the order they were written."""

    def append(self, session: str, event: Event) -> None:
        """Append `event` to the head, make it the head, and clear the redo stack; durable when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Set the head and the redo stack.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: `to` names an event that is not in this session.
        """

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Add events of another store, each after its parent, and set the head to `to`; how many were new.

        Events that the session already has are left as they are. Either everything is imported or nothing.

        Raises:
            UnknownEvent: the parent of an event, or an event of `to`, is in neither the session nor `events`.
            StoreError: the session has a different event of the same id.
        """

    def delete(self, session: str, *, expected: str | None) -> None:
        """Remove the session and all its events.

        Raises:
            HeadMoved: the head is not `expected`, so the session is in use.
        """

    def leaves(self, session: str) -> list[str]:
        """The ids of the events without children, in the order they were written."""

    def sessions(self) -> list[SessionInfo]:
        """Every session, the most recently written first."""

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; False when `timeout` seconds passed first."""

    def check(self, progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Check everything in the store, and yield each finding as soon as it is known."""

    def compact(self) -> int | None:
        """Return unused space to the system: how many bytes, or None if this store has no such space.

        Raises:
            StoreError: there is not enough room to do it. Nothing is lost.
        """

    def close(self) -> None:
        """Release files and connections. A closed store is not used again."""
