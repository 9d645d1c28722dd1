"""What a SQLite store keeps beside the log. The methods are documented by `Records` in `tildone.log.store`.

Theory of operation. Claims are read, computed (`tildone.plan.claims`) and written in one transaction, which has the
write lock from its beginning. An event with a fence is inserted in the same transaction. Only the claims of the tasks
in question are read: those that an event changes, and those that the agent holds or has lost.

A question and its revision are written in one transaction: no reader sees one without the other. An answer is written
only where none is, so the first one wins. Presences and summaries are not flushed to disk: after a loss of power, the
next sign of life or the next reader writes them again. In WAL mode that leaves the file consistent.

What is computed with records is imported late: most hooks neither read nor write any.
"""

from __future__ import annotations

from time import time_ns

from tildone.base import TYPE_CHECKING, StoreError, UnknownNeed
from tildone.plan import codec
from tildone.stores.sqlite import schema as queries
from tildone.stores.sqlite.rows import change_in, insert_event
from tildone.stores.sqlite.schema import Transaction, from_sql, to_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    import apsw

    from tildone.log.kept import KeptSummary
    from tildone.log.needs import Need
    from tildone.log.presence import Presence
    from tildone.plan.claims import Claim, Claimant, ClaimFence
    from tildone.plan.events import Event, SessionChange
    from tildone.plan.runs import RunFence
    from tildone.stores.sqlite.file import SqliteFile


class SqliteRecords:
    """What the store in a file keeps beside the log. Claims change only while the lease of the `fence` is held."""

    def __init__(self, file: SqliteFile, fence: RunFence | None) -> None:
        self._file = file
        self._fence = fence

    def seen(self, session: str, reader: str) -> str | None:
        with self._file as connection:
            head = connection.execute(queries.SEEN, (to_sql(session), to_sql(reader))).get
        return None if head is None else from_sql(head)

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        with self._file as connection:
            self._file.record_stamp_once()
            row = {"session": to_sql(session), "reader": to_sql(reader), "head": to_sql(head)}
            connection.execute(queries.DELETE_SEEN if head is None else queries.SET_SEEN, row)

    def revision(self) -> int:
        with self._file as connection:
            return int(connection.execute(queries.REVISION).get)

    def changed(self, since: int) -> list[SessionChange]:
        with self._file as connection:
            rows: list[Any] = connection.execute(queries.CHANGED, {"since": since}).fetchall()
            return [change_in(row) for row in rows]

    def wait_any(self, revision: int, timeout: float) -> bool:
        # Late, because few callers wait.
        from tildone.stores.polling import wait_until

        return wait_until(self._file.changed, lambda: self.revision() != revision, timeout)

    def beat(self, presence: Presence) -> None:
        from tildone.log.presence import PRESENCE_LIFETIME_MS, encode_presence

        row = to_sql(presence.agent), to_sql(presence.session), presence.beat, encode_presence(presence)
        with self._file as connection:
            self._file.record_stamp_once()
            with _unflushed(connection):
                connection.execute(queries.SET_PRESENCE, row)
                connection.execute(queries.DELETE_OLD_PRESENCES, (presence.beat - PRESENCE_LIFETIME_MS,))

    def leave(self, agent: str) -> None:
        with self._file as connection:
            if connection.execute(queries.PRESENCE_EXISTS, (to_sql(agent),)).get:
                self._file.record_stamp_once()
                with _unflushed(connection):
                    connection.execute(queries.DELETE_PRESENCE, (to_sql(agent),))

    def presences(self) -> list[Presence]:
        from tildone.log.presence import decode_presences

        with self._file as connection:
            rows: list[Any] = connection.execute(queries.PRESENCES).fetchall()
            return decode_presences(body for (body,) in rows)

    def ask(self, need: Need) -> None:
        from tildone.log.needs import encode_need

        row = to_sql(need.id), to_sql(need.session), need.since, need.answered_at, encode_need(need)

        def add(connection: apsw.Connection) -> None:
            connection.execute(queries.ADD_NEED, row)
            if connection.changes():
                _revise(connection, need.session, need.since)

        self._file.write(add)

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        from tildone.log.needs import answered, decode_need, encode_need

        def give(connection: apsw.Connection) -> Need:
            asked = decode_need(connection.execute(queries.NEED, (to_sql(need),)).get)
            if asked is None:
                raise UnknownNeed(need)
            decided = answered(asked, answer, by, at)
            connection.execute(queries.ANSWER_NEED, (decided.answered_at, encode_need(decided), to_sql(need)))
            _revise(connection, decided.session, decided.answered_at)
            return decided

        return self._file.write(give)

    def withdraw(self, need: str) -> None:
        def remove(connection: apsw.Connection) -> None:
            session = connection.execute(queries.WITHDRAW_NEED, (to_sql(need),)).get
            if session is not None:
                connection.execute(queries.REVISE, (session,))

        self._file.write(remove)

    def need(self, need: str) -> Need | None:
        from tildone.log.needs import decode_need

        with self._file as connection:
            return decode_need(connection.execute(queries.NEED, (to_sql(need),)).get)

    def needs(self) -> list[Need]:
        from tildone.log.needs import decode_needs, open_needs

        with self._file as connection:
            rows: list[Any] = connection.execute(queries.OPEN_NEEDS).fetchall()
            return open_needs(decode_needs(body for (body,) in rows))

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> list[Claim]:
        from tildone.plan.claims import fenced, taken

        def append(connection: apsw.Connection) -> list[Claim]:
            insert_event(connection, session, event, seen_by)
            before, now = _claims_of(connection, session, fence.claimant.agent, fence.changes | fence.beside), _now()
            after = fenced(session, before, fence, now)
            _write_claims(connection, session, before, after)
            return taken(before, after, now)

        return self._file.write(append, self._fence)

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        from tildone.plan.claims import claimed, current

        def change(known: list[Claim], now: int) -> list[Claim]:
            return claimed(known, task, claimant, lease, now)

        after, now = self._change_claims(session, claimant.agent, [task], change)
        return next(claim for claim in current(after, now) if claim.task == task)

    def renew(self, session: str, agent: str, lease: int) -> list[Claim]:
        from tildone.plan.claims import lost_by, renewed

        after, now = self._change_claims(session, agent, (), lambda known, now: renewed(known, agent, lease, now))
        return lost_by(after, agent, now)

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        from tildone.plan.claims import released

        self._change_claims(session, agent, (), lambda known, _now: released(known, agent, tasks))

    def lapse(self, session: str, agent: str) -> None:
        from tildone.plan.claims import lapsed

        self._change_claims(session, agent, (), lambda known, _now: lapsed(known, agent))

    def claims(self, session: str) -> list[Claim]:
        with self._file as connection:
            rows: list[Any] = connection.execute(queries.CLAIMS, (to_sql(session),)).fetchall()
        return _decoded(rows, _now()) if rows else []

    def kept_summaries(self) -> dict[str, KeptSummary]:
        from tildone.log.kept import KeptSummary

        with self._file as connection:
            rows: list[Any] = connection.execute(queries.SUMMARIES).fetchall()
            return {
                from_sql(session): KeptSummary(None if head is None else from_sql(head), from_sql(body))
                for session, head, body in rows
            }

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        rows = [(to_sql(kept.head), to_sql(kept.text), to_sql(session)) for session, kept in summaries.items()]
        try:
            # It fails at once if another process holds the lock.
            after = f"busy_timeout = {int(self._file.timeout * 1000)}"
            with self._file as connection, _Setting(connection, "busy_timeout = 0", after):
                self._file.record_stamp_once()
                with _unflushed(connection), Transaction(connection):
                    connection.executemany(queries.KEEP_SUMMARY, rows)
        except StoreError:
            return

    def density(self, session: str, begin: int, end: int, buckets: int) -> list[int]:
        from tildone.log.kept import filled

        row = {"session": to_sql(session), "begin": begin, "end": end, "buckets": buckets}
        with self._file as connection:
            rows: list[Any] = connection.execute(queries.DENSITY, row).fetchall()
            return filled(rows, buckets)

    def _change_claims(
        self, session: str, agent: str, tasks: Iterable[int], change: Callable[[list[Claim], int], list[Claim]]
    ) -> tuple[list[Claim], int]:
        """Change the claims of an agent and of some tasks; return them, and the time at which it was done."""

        def work(connection: apsw.Connection) -> tuple[list[Claim], int]:
            before, now = _claims_of(connection, session, agent, tasks), _now()
            after = change(before, now)
            _write_claims(connection, session, before, after)
            return after, now

        with self._file as connection:
            has_claims = tasks or connection.execute(queries.HAS_CLAIMS, (to_sql(session), to_sql(agent))).get
        return self._file.write(work, self._fence) if has_claims else ([], 0)


def _revise(connection: apsw.Connection, session: str, now: int) -> None:
    """Give the session a new revision, and remove old questions."""
    from tildone.log.needs import bounds

    kept = bounds(now)
    connection.execute(queries.REVISE, (to_sql(session),))
    connection.execute(queries.DELETE_OLD_ANSWERS, (kept.oldest, kept.max_answered))
    connection.execute(queries.DELETE_OLD_NEEDS, (kept.max_open,))


def _claims_of(connection: apsw.Connection, session: str, agent: str, tasks: Iterable[int]) -> list[Claim]:
    """Return all claims of these tasks, and of those that the agent holds or has lost."""
    row = {"session": to_sql(session), "agent": to_sql(agent), "tasks": codec.dump(sorted(tasks))}
    rows: list[Any] = connection.execute(queries.CLAIMS_OF, row).fetchall()
    return _decoded(rows, 0)


def _decoded(rows: Iterable[tuple[int, int, int, str, str]], now: int) -> list[Claim]:
    from tildone.plan.claims import decode_claim

    return [decode_claim(task, epoch, until, (holder, before), now) for task, epoch, until, holder, before in rows]


def _write_claims(connection: apsw.Connection, session: str, before: list[Claim], after: list[Claim]) -> None:
    from tildone.plan.claims import encode_claimant

    name, unchanged, kept = to_sql(session), set(before), {(claim.task, claim.epoch) for claim in after}
    for claim in before:
        if (claim.task, claim.epoch) not in kept:
            connection.execute(queries.DELETE_CLAIM, (name, claim.task, claim.epoch))
    for claim in after:
        if claim not in unchanged:
            bodies = encode_claimant(claim.holder), encode_claimant(claim.before)
            row = (name, claim.task, claim.epoch, to_sql(claim.agent), claim.until, *bodies)
            connection.execute(queries.SET_CLAIM, row)


def _now() -> int:
    return time_ns() // 1_000_000


class _Setting:
    """`with _Setting(connection, during, after)`: a setting of the connection has another value during the block."""

    def __init__(self, connection: apsw.Connection, during: str, after: str) -> None:
        self._connection, self._during, self._after = connection, during, after

    def __enter__(self) -> None:
        self._connection.execute(f"PRAGMA {self._during}")

    def __exit__(self, *_error: object) -> None:
        self._connection.execute(f"PRAGMA {self._after}")


def _unflushed(connection: apsw.Connection) -> _Setting:
    """Commits in the block are not flushed to disk before they are acknowledged."""
    return _Setting(connection, "synchronous = NORMAL", "synchronous = FULL")
