"""What a SQLite store keeps beside the log: presences, questions, summaries, and runs to be listed.

Theory of operation. A question and its revision are written in one transaction: no reader sees one without the other.
An answer is written only where none is, so the first one wins. Presences and summaries are not flushed to disk: after a
loss of power, the next sign of life or the next reader writes them again. In WAL mode that leaves the file consistent.
"""

from __future__ import annotations

from tildone.errors import StoreError, UnknownNeed
from tildone.stores.sqlite import queries
from tildone.stores.sqlite.schema import Transaction, from_sql, to_sql
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import apsw

    from tildone.log.kept import KeptSummary
    from tildone.log.needs import Need
    from tildone.log.presence import Presence
    from tildone.stores.sqlite.file import SqliteFile
    from tildone.stores.sqlite.run_lists import SqliteRunLists


class SqliteRecords:
    """The part of a SQLite store that is not the log."""

    _file: SqliteFile

    def beat(self, presence: Presence) -> None:
        """Record a sign of life of an agent."""
        # Late, because most hooks neither read nor write records.
        from tildone.log.presence import PRESENCE_LIFETIME_MS, encode_presence  # noqa: PLC0415  see above

        row = to_sql(presence.agent), to_sql(presence.session), presence.beat, encode_presence(presence)
        with self._file as connection:
            self._file.record_stamp_once()
            with _Unflushed(connection):
                connection.execute(queries.SET_PRESENCE, row)
                connection.execute(queries.DELETE_OLD_PRESENCES, (presence.beat - PRESENCE_LIFETIME_MS,))

    def run_lists(self) -> SqliteRunLists:
        """Return the leases of runs, to be read in parts."""
        # Late, because only screens need them.
        from tildone.stores.sqlite.run_lists import SqliteRunLists  # noqa: PLC0415  see above

        return SqliteRunLists(self._file)

    def leave(self, agent: str) -> None:
        """Remove the presence of an agent."""
        with self._file as connection:
            if connection.execute(queries.PRESENCE_EXISTS, (to_sql(agent),)).get:
                self._file.record_stamp_once()
                with _Unflushed(connection):
                    connection.execute(queries.DELETE_PRESENCE, (to_sql(agent),))

    def presences(self) -> list[Presence]:
        """Return the presences of all agents."""
        from tildone.log.presence import decode_presences  # noqa: PLC0415  as in `beat`

        with self._file as connection:
            rows: list[Any] = connection.execute(queries.PRESENCES).fetchall()
            return decode_presences(body for (body,) in rows)

    def ask(self, need: Need) -> None:
        """Add an open question, unless there is one with its id."""
        from tildone.log.needs import encode_need  # noqa: PLC0415  as in `beat`

        row = to_sql(need.id), to_sql(need.session), need.since, need.answered_at, encode_need(need)
        with self._file as connection:
            self._file.record_stamp_once()
            with Transaction(connection):
                connection.execute(queries.ADD_NEED, row)
                if connection.changes():
                    self._revise(connection, need.session, need.since)
            self._file.notify()

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        """Answer an open question; the first answer wins.

        Raises:
            NeedAnswered: there is an answer already.
            UnknownNeed: there is no such question.
        """
        from tildone.log.needs import answered, decode_need, encode_need  # noqa: PLC0415  as in `beat`

        with self._file as connection:
            self._file.record_stamp_once()
            with Transaction(connection):
                asked = decode_need(connection.execute(queries.NEED, (to_sql(need),)).get)
                if asked is None:
                    raise UnknownNeed(need)
                decided = answered(asked, answer, by, at)
                connection.execute(queries.ANSWER_NEED, (decided.answered_at, encode_need(decided), to_sql(need)))
                self._revise(connection, decided.session, decided.answered_at)
            self._file.notify()
        return decided

    def withdraw(self, need: str) -> None:
        """Remove a question if it is open."""
        with self._file as connection:
            self._file.record_stamp_once()
            with Transaction(connection):
                session = connection.execute(queries.WITHDRAW_NEED, (to_sql(need),)).get
                if session is not None:
                    connection.execute(queries.REVISE, (session,))
            self._file.notify()

    def need(self, need: str) -> Need | None:
        """Return a question, open or answered."""
        from tildone.log.needs import decode_need  # noqa: PLC0415  as in `beat`

        with self._file as connection:
            return decode_need(connection.execute(queries.NEED, (to_sql(need),)).get)

    def needs(self) -> list[Need]:
        """Return the open questions, the oldest first."""
        from tildone.log.needs import decode_needs, open_needs  # noqa: PLC0415  as in `beat`

        with self._file as connection:
            rows: list[Any] = connection.execute(queries.OPEN_NEEDS).fetchall()
            return open_needs(decode_needs(body for (body,) in rows))

    def kept_summaries(self) -> dict[str, KeptSummary]:
        """Return the kept summaries by session."""
        from tildone.log.kept import KeptSummary  # noqa: PLC0415  as in `beat`

        with self._file as connection:
            rows: list[Any] = connection.execute(queries.SUMMARIES).fetchall()
            return {
                from_sql(session): KeptSummary(None if head is None else from_sql(head), from_sql(body))
                for session, head, body in rows
            }

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        """Keep summaries of sessions that exist, unless another process writes at this moment."""
        rows = [(to_sql(kept.head), to_sql(kept.text), to_sql(session)) for session, kept in summaries.items()]
        try:
            with self._file as connection, _Impatient(connection, self._file.timeout):
                self._file.record_stamp_once()
                with _Unflushed(connection), Transaction(connection):
                    connection.executemany(queries.KEEP_SUMMARY, rows)
        except StoreError:
            return

    def density(self, session: str, begin: int, end: int, buckets: int) -> list[int]:
        """Count the events of all branches in equal intervals of time."""
        from tildone.log.density import filled  # noqa: PLC0415  as in `beat`

        row = {"session": to_sql(session), "begin": begin, "end": end, "buckets": buckets}
        with self._file as connection:
            rows: list[Any] = connection.execute(queries.DENSITY, row).fetchall()
            return filled(rows, buckets)

    def _revise(self, connection: apsw.Connection, session: str, now: int) -> None:
        """Give the session a new revision, and remove old questions."""
        from tildone.log.needs import bounds  # noqa: PLC0415  as in `beat`

        kept = bounds(now)
        connection.execute(queries.REVISE, (to_sql(session),))
        connection.execute(queries.DELETE_OLD_ANSWERS, (kept.oldest, kept.max_answered))
        connection.execute(queries.DELETE_OLD_NEEDS, (kept.max_open,))


class _Unflushed:
    """`with _Unflushed(connection)`: commits are not flushed to disk before they are acknowledged."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("PRAGMA synchronous = NORMAL")

    def __exit__(self, *_error: object) -> None:
        self._connection.execute("PRAGMA synchronous = FULL")


class _Impatient:
    """`with _Impatient(connection, timeout)`: a statement fails at once if another process holds the lock."""

    def __init__(self, connection: apsw.Connection, timeout: float) -> None:
        self._connection = connection
        self._timeout = timeout

    def __enter__(self) -> None:
        self._connection.set_busy_timeout(0)

    def __exit__(self, *_error: object) -> None:
        self._connection.set_busy_timeout(int(self._timeout * 1000))
