"""What a PostgreSQL store keeps beside the log: presences, questions and summaries.

Theory of operation. Each change is one statement; triggers of the schema give the session of a question a new revision
and notify. An answer is an UPDATE of the row while it is open, so the first one wins. An operation may be repeated
after a lost connection: a question that exists is not asked again, and an answer that is there is the one given.
"""

from __future__ import annotations

from psycopg import errors

from tildone.errors import StoreError, UnknownNeed
from tildone.log.density import filled
from tildone.log.kept import KeptSummary
from tildone.log.needs import NeedAnswered, answered, bounds, decode_need, decode_needs, encode_need, open_needs
from tildone.log.presence import PRESENCE_LIFETIME_MS, decode_presences, encode_presence
from tildone.stores.postgres.names import from_sql, key, to_sql
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.rows import session_row
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from psycopg import Connection

    from tildone.log.needs import Need
    from tildone.log.presence import Presence
    from tildone.stores.postgres.connections import ConnectionPool


class PostgresRecords:
    """The part of a PostgreSQL store that is not the log."""

    _connections: ConnectionPool

    def beat(self, presence: Presence) -> None:
        """Record a sign of life of an agent."""
        row = {
            "agent": key(presence.agent),
            "session": key(presence.session),
            "beat": presence.beat,
            "body": encode_presence(presence),
            "oldest": presence.beat - PRESENCE_LIFETIME_MS,
        }
        self._write("beat", row)

    def leave(self, agent: str) -> None:
        """Remove the presence of an agent."""
        self._write("leave", {"agent": key(agent)})

    def presences(self) -> list[Presence]:
        """Return the presences of all agents."""
        return decode_presences(body for (body,) in self._read("presences"))

    def ask(self, need: Need) -> None:
        """Add an open question, unless there is one with its id."""
        row = {"id": key(need.id), "since": need.since, "answered_at": need.answered_at, "body": encode_need(need)}
        self._write("ask", row | session_row(need.session))
        self._forget_needs(need.since)

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        """Answer an open question; the first answer wins.

        Raises:
            NeedAnswered: there is an answer already.
            UnknownNeed: there is no such question.
        """

        def write(connection: Connection, attempts: int) -> Need:
            asked = _need_in(connection, need)
            if attempts and (asked.answer, asked.answered_by, asked.answered_at) == (answer, by, max(1, at)):
                return asked
            decided = answered(asked, answer, by, at)
            row = {"id": key(need), "answered_at": decided.answered_at, "body": encode_need(decided)}
            if connection.execute(query("answer"), row).fetchone() is None:
                raise NeedAnswered(_need_in(connection, need))
            return decided

        decided = self._connections.run(write)
        self._forget_needs(decided.answered_at)
        return decided

    def withdraw(self, need: str) -> None:
        """Remove a question if it is open."""
        self._write("withdraw", {"id": key(need)})

    def need(self, need: str) -> Need | None:
        """Return a question, open or answered."""
        return next(iter(decode_needs(body for (body,) in self._read("need", id=key(need)))), None)

    def needs(self) -> list[Need]:
        """Return the open questions, the oldest first."""
        return open_needs(decode_needs(body for (body,) in self._read("needs")))

    def kept_summaries(self) -> dict[str, KeptSummary]:
        """Return the kept summaries by session."""
        return {
            from_sql(session): KeptSummary(None if head is None else from_sql(head), from_sql(text))
            for session, head, text in self._read("kept_summaries")
        }

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        """Keep summaries of sessions that exist, if this user may write."""
        # All writers lock the rows in the same order.
        rows = sorted(((key(session), kept) for session, kept in summaries.items()), key=lambda row: row[0])
        row = {
            "names": [name for name, _ in rows],
            "heads": [None if kept.head is None else to_sql(kept.head) for _, kept in rows],
            "bodies": [to_sql(kept.text) for _, kept in rows],
        }
        try:
            self._write("keep_summaries", row)
        except StoreError:
            return

    def density(self, session: str, begin: int, end: int, buckets: int) -> list[int]:
        """Count the events of all branches in equal intervals of time."""
        return filled(self._read("density", session=key(session), begin=begin, end=end, buckets=buckets), buckets)

    def _forget_needs(self, now: int) -> None:
        kept = bounds(now)
        row = {"oldest": kept.oldest, "max_answered": kept.max_answered, "max_open": kept.max_open}
        self._write("forget_needs", row)

    def _write(self, name: str, row: dict[str, Any]) -> None:
        self._connections.run(lambda connection, _attempts: connection.execute(query(name), row))

    def _read(self, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
        def read(connection: Connection, _attempts: int) -> list[tuple[Any, ...]]:
            try:
                return connection.execute(query(name), parameters).fetchall()
            except errors.UndefinedTable:
                # A database of an older schema that may only be read.
                return []

        return self._connections.run(read)


def _need_in(connection: Connection, need: str) -> Need:
    row = connection.execute(query("need"), {"id": key(need)}).fetchone()
    asked = decode_need(row[0]) if row else None
    if asked is None:
        raise UnknownNeed(need)
    return asked
