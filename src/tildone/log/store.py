"""Where sessions are kept: what every store promises, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from tildone.log.events import Event
from tildone.log.health import Finding
from tildone.log.tree import SessionHead, SessionInfo

Progress = Callable[[int, int], None]
"""Called with how many events were checked so far, and how many there are."""


class Store(Protocol):
    """A keeper of sessions. Safe to use from several threads, and, if durable, from several processes.

    A session begins with its first event; reading one that was never written finds it empty.
    """

    durable: bool

    def session_head(self, session: str) -> SessionHead:
        """Where the session stands."""

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """The events from `head` (the session's own, unless another is named) to the root, newest first.

        Raises:
            UnknownEvent: `head` is not in this session.
        """

    def events(self, session: str) -> Iterator[Event]:
        """Every event of every branch, in the order they were written."""

    def append(self, session: str, event: Event) -> None:
        """Hang `event` under the head and make it the head; on disk, if durable, when this returns.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
        """

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Make another event the head.

        Raises:
            HeadMoved: the head is no longer `expected`.
            UnknownEvent: the place names an event that is not in this session.
        """

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Take over events as another store has them, wherever the head is, and stand at `to`: all of it or nothing.

        Each comes after its parent. Those that are here already are left as they are; how many were new is given.

        Raises:
            UnknownEvent: the parent of an event, or the head to stand at, is neither here nor among them.
            StoreError: another event of the same id is here.
        """

    def delete(self, session: str, *, expected: str | None) -> None:
        """Remove the session and all its events.

        Raises:
            HeadMoved: the head is not `expected`: somebody is at work on it.
        """

    def leaves(self, session: str) -> list[str]:
        """The ends of the session's branches, in the order they were written."""

    def sessions(self) -> list[SessionInfo]:
        """Every session, the one written to last first."""

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head is not `head`; False when `timeout` seconds passed first."""

    def check(self, progress: Progress | None = None) -> Iterator[Finding]:
        """What is to be said of the store's health, read from all that it holds, piece by piece as it is found."""

    def compact(self) -> int | None:
        """Return unused space to the system: how many bytes, or None if this store has no such space.

        Raises:
            StoreError: there is not enough room to do it. Nothing is lost.
        """

    def close(self) -> None:
        """Let go of what the store holds. A closed store is not used again."""
