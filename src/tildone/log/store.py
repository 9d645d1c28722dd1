"""The ports of a store: `Store`, the log of its sessions, and `Records`, what it keeps beside the log.

A store keeps events and moves heads. Writers state the head that they read, and the store refuses the write with
`HeadMoved` if the head has changed since (see `tildone.log.session`). Each call is atomic: other threads and processes
see all of its effect or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from tildone.log.kept import Finding, KeptSummary
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.plan.claims import Claim, Claimant, ClaimFence
from tildone.plan.events import Event, SessionChange, SessionHead, SessionInfo

ProgressCallback = Callable[[int, int], None]
"""Called with the number of events that were checked so far, and the number of all events."""


class Store(Protocol):
    """Sessions by name. Safe to use from several threads and, if `durable`, from several processes.

    The first event creates its session; a session that does not exist reads as empty.
    """

    durable: bool

    @property
    def records(self) -> Records:
        """What the store keeps beside the log."""

    @property
    def user(self) -> str:
        """The name under which this process is logged in to the store; empty if the store has no users."""

    def session_head(self, session: str) -> SessionHead:
        """Return the session's head and redo stack."""

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        """Return the events from `head` (by default, the session's head) to the root, newest first.

        Raises UnknownEvent if `head` is not in this session.
        """

    def events(self, session: str) -> Iterator[Event]:
        """Return the events of all branches, in the order they were written."""

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        """Append `event` to the head, make it the head, and clear the redo stack. It is durable when this returns.

        If `seen_by` names a reader, the event becomes the head that this reader has seen, in the same transaction.
        Raises HeadMoved if `event.parent` is no longer the head.
        """

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        """Set the head and the redo stack.

        Raises HeadMoved if the head is no longer `expected`, UnknownEvent if `to` names an event that is not in this
        session.
        """

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        """Add events of another store, parents before children, and set the head to `to`. Return how many were new.

        Events that the session already has are left as they are. Either everything is imported or nothing. Raises
        UnknownEvent if the parent of an event, or an event of `to`, is in neither the session nor `events`, StoreError
        if the session has a different event with the same id.
        """

    def delete(self, session: str, *, expected: str | None) -> None:
        """Remove the session, all its events, and what the store keeps beside them.

        Raises HeadMoved if the head is no longer `expected`, so the session is in use.
        """

    def leaves(self, session: str) -> list[str]:
        """Return the ids of the events without children, in the order they were written."""

    def sessions(self) -> list[SessionInfo]:
        """Return all sessions, the most recently written first."""

    def session_info(self, session: str) -> SessionInfo | None:
        """Return the entry of one session in the list of all; None if it does not exist."""

    def unreadable(self) -> list[str]:
        """Return what `sessions` leaves out because it cannot be read, each as a sentence."""

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        """Wait until the head differs from `head`. Return False if `timeout` seconds passed first."""

    def check(self, progress: ProgressCallback | None = None) -> Iterator[Finding]:
        """Check everything in the store and yield each finding as soon as it is known."""

    def compact(self) -> int | None:
        """Free unused disk space. Return the number of bytes, or None if this store has nothing to compact.

        Raises StoreError if there is not enough disk space to do it. Nothing is lost.
        """

    def close(self) -> None:
        """Release files and connections. The store must not be used afterwards."""


class Records(Protocol):
    """What a store keeps beside the log: it belongs to this store and is not copied with events.

    That is what readers have seen, what has changed, presences, questions, claims and summaries.
    """

    def seen(self, session: str, reader: str) -> str | None:
        """Return the head that a reader has seen; None if nothing is recorded.

        A reader is the model of an agent, under the name that `Agent.reader` gives it.
        """

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        """Record the head that a reader has seen; None removes the record.

        A session keeps the newest MAX_READERS records (`tildone.log.store`). One that does not exist keeps none.
        """

    def revision(self) -> int:
        """Return a number that grows with every change of any session: by events, by a move of the head, by deletion.

        A question counts, and so does its answer or withdrawal. Presences, summaries, and what readers have seen do
        not. A reader that follows a store asks for the revision first, then for what changed after the last one it
        knows: a change between the two calls is told twice, and none is missed.
        """

    def changed(self, since: int) -> Sequence[SessionChange]:
        """Return the sessions that changed after a revision, each once, the oldest change first.

        The head is not checked for damage. A deletion may be missing if 10,000 changes followed it. All sessions are
        returned for 0, and for a revision that the store has not reached: a backup has taken its place.
        """

    def wait_any(self, revision: int, timeout: float) -> bool:
        """Wait until the revision differs from `revision`. Return False if `timeout` seconds passed first."""

    def beat(self, presence: Presence) -> None:
        """Record a sign of life of an agent, in place of its last one. Presences of more than a day ago are removed.

        It need not survive a loss of power.
        """

    def leave(self, agent: str) -> None:
        """Remove the presence of an agent, if there is one."""

    def presences(self) -> Sequence[Presence]:
        """Return the presences of all agents, ordered by agent."""

    def ask(self, need: Need) -> None:
        """Add an open question, unless there is one with its id. Answers of more than an hour ago are removed."""

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        """Answer an open question, and return it with the answer. Of several answers, the first one wins.

        Raises NeedAnswered if there is an answer already; the error has it, UnknownNeed if there is no such question,
        or it was withdrawn.
        """

    def withdraw(self, need: str) -> None:
        """Remove a question if it is open. One that is answered stays."""

    def need(self, need: str) -> Need | None:
        """Return a question, open or answered; None if there is none with that id."""

    def needs(self) -> Sequence[Need]:
        """Return the open questions of all sessions, the oldest first."""

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        """Claim a task for `lease` milliseconds, and return its newest claim, which is another agent's if it is held.

        A task that is free, or whose lease has lapsed, gets the next epoch. The same agent keeps its epoch.
        """

    def renew(self, session: str, agent: str, lease: int) -> Sequence[Claim]:
        """Renew the leases of an agent for `lease` milliseconds. A lapsed one is its own unless it was passed on.

        Return the newest claims of the tasks that have passed from this agent to others, until it releases them.
        """

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        """Give back the tasks of an agent, or those of `tasks`. Claims that it has lost are forgotten, too."""

    def lapse(self, session: str, agent: str) -> None:
        """End the leases of an agent that has ended without giving its tasks back. If it goes on, it is fenced."""

    def claims(self, session: str) -> Sequence[Claim]:
        """Return the newest claim of each task that was not given back, also if its lease has lapsed, by task."""

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> Sequence[Claim]:
        """Append an event of an agent as `append` does, and change its claims in the same transaction.

        Return the claims of the tasks that the event starts or takes over (see `tildone.plan.claims`). Raises HeadMoved
        if `event.parent` is no longer the head, Fenced if tasks of the agent have passed to others, or the event
        changes tasks that others hold.
        """

    def kept_summaries(self) -> Mapping[str, KeptSummary]:
        """Return the kept summaries by session. Some may name a head that the session no longer has."""

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        """Keep summaries for the next reader. Sessions that do not exist are left out.

        It waits for nobody and raises no StoreError: a store that is busy, full or read-only keeps what it has.
        """

    def density(self, session: str, begin: int, end: int, buckets: int) -> Sequence[int]:
        """Count the events of all branches in `buckets` equal intervals of time, from `begin` to before `end`."""
