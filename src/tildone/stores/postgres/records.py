"""What a PostgreSQL store keeps beside the log. The methods are documented by `Records` in `tildone.log.store`.

Theory of operation. Each change is one statement; triggers of the schema give the session of a question a new revision
and notify. An answer is an UPDATE of the row while it is open, so the first one wins. An operation may be repeated
after a lost connection: a question that exists is not asked again, and an answer that is there is the one given.

Each operation on claims is one call of a function of the schema, which first locks the claims of the session and reads
the clock of the server. An event with a fence is appended by the same function that checks the fence. If one of them is
repeated after a lost connection, claims that were taken are the agent's own, and an event that was appended is in the
database.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from psycopg import Connection, errors

from tildone.base import HeadMoved, StoreError, UnknownNeed
from tildone.base.json import parse
from tildone.log.kept import KeptSummary, filled
from tildone.log.needs import Need, NeedAnswered, answered, bounds, decode_need, decode_needs, encode_need, open_needs
from tildone.log.presence import PRESENCE_LIFETIME_MS, Presence, decode_presences, encode_presence
from tildone.plan.claims import Claim, Claimant, ClaimFence, Fenced, decode_claim, encode_claimant
from tildone.plan.events import Event, SessionChange
from tildone.stores.postgres.connections import ANY_SESSION, Database, Listener, Verdict
from tildone.stores.postgres.rows import event_id, from_sql, key, query, row_of, seen_row, session_row, to_sql


class PostgresRecords:
    """What the store in a database keeps beside the log."""

    def __init__(self, database: Database, listener: Listener) -> None:
        self._database = database
        self._listener = listener

    def seen(self, session: str, reader: str) -> str | None:
        rows = self._database.rows_if_any("seen", session=key(session), **seen_row(reader, None))
        return next((from_sql(head) for (head,) in rows), None)

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        self._database.write("set_seen", session=key(session), **seen_row(reader, head))

    def revision(self) -> int:
        """Return the newest revision; triggers of the schema make one for every change."""
        [(revision,)] = self._feed("revision")
        return int(revision)

    def changed(self, since: int) -> list[SessionChange]:
        return [
            SessionChange(from_sql(name), None if head is None else event_id(head, body), revision, exists=exists)
            for name, head, body, revision, exists in self._feed("changed", since=since)
        ]

    def wait_any(self, revision: int, timeout: float) -> bool:
        return self._listener.wait(ANY_SESSION, lambda: self.revision() != revision, timeout)

    def beat(self, presence: Presence) -> None:
        row = {
            "agent": key(presence.agent),
            "session": key(presence.session),
            "beat": presence.beat,
            "body": encode_presence(presence),
            "oldest": presence.beat - PRESENCE_LIFETIME_MS,
        }
        self._database.write("beat", **row)

    def leave(self, agent: str) -> None:
        self._database.write("leave", agent=key(agent))

    def presences(self) -> list[Presence]:
        return decode_presences(body for (body,) in self._database.rows_if_any("presences"))

    def ask(self, need: Need) -> None:
        row = {"id": key(need.id), "since": need.since, "answered_at": need.answered_at, "body": encode_need(need)}
        self._database.write("ask", **row, **session_row(need.session))
        self._forget_needs(need.since)

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        def write(connection: Connection, attempts: int) -> Need:
            asked = _need_in(connection, need)
            if attempts and (asked.answer, asked.answered_by, asked.answered_at) == (answer, by, max(1, at)):
                return asked
            decided = answered(asked, answer, by, at)
            row = {"id": key(need), "answered_at": decided.answered_at, "body": encode_need(decided)}
            if connection.execute(query("answer"), row).fetchone() is None:
                raise NeedAnswered(_need_in(connection, need))
            return decided

        decided = self._database.run(write)
        self._forget_needs(decided.answered_at)
        return decided

    def withdraw(self, need: str) -> None:
        self._database.write("withdraw", id=key(need))

    def need(self, need: str) -> Need | None:
        return next(iter(decode_needs(body for (body,) in self._database.rows_if_any("need", id=key(need)))), None)

    def needs(self) -> list[Need]:
        return open_needs(decode_needs(body for (body,) in self._database.rows_if_any("needs")))

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> list[Claim]:
        row = session_row(session) | row_of(event) | seen_row(seen_by, event.id) | _claimant_row(fence.claimant)
        row |= {"lease": fence.lease, "starts": sorted(fence.starts)}
        row |= {"changes": sorted(fence.changes), "active": sorted(fence.active), "beside": sorted(fence.beside)}

        def write(connection: Connection) -> Verdict:
            cursor = self._database.in_run(connection, lambda: connection.execute(query("append_fenced"), row))
            return cursor.fetchone() or ("", 0, None)

        verdict, now, claims = self._database.append(session, row, write)
        found = [(lost, _claim((*rest, now))) for lost, *rest in parse(claims or "[]")]
        if verdict == "fenced":
            raise Fenced(
                session, [claim for lost, claim in found if lost], [claim for lost, claim in found if not lost]
            )
        if verdict != "done":
            raise HeadMoved(session)
        return [claim for _, claim in found]

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        row = {"session": key(session), "task": task, "lease": lease} | _claimant_row(claimant)
        return _claim(self._claim_rows("claim", row)[0])

    def renew(self, session: str, agent: str, lease: int) -> list[Claim]:
        row = {"session": key(session), "agent": key(agent), "lease": lease}
        return sorted(map(_claim, self._claim_rows("renew", row)), key=lambda claim: claim.task)

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        some = None if tasks is None else sorted(tasks)
        self._claim_rows("release", {"session": key(session), "agent": key(agent), "tasks": some})

    def lapse(self, session: str, agent: str) -> None:
        row = {"session": key(session), "agent": key(agent)}
        in_run = self._database.in_run
        self._database.run(lambda each, _: in_run(each, lambda: each.execute(query("lapse"), row)))

    def claims(self, session: str) -> list[Claim]:
        return list(map(_claim, self._database.rows_if_any("claims", session=key(session))))

    def kept_summaries(self) -> dict[str, KeptSummary]:
        return {
            from_sql(session): KeptSummary(None if head is None else from_sql(head), from_sql(text))
            for session, head, text in self._database.rows_if_any("kept_summaries")
        }

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        # All writers lock the rows in the same order.
        rows = sorted(((key(session), kept) for session, kept in summaries.items()), key=lambda row: row[0])
        row = {
            "names": [name for name, _ in rows],
            "heads": [None if kept.head is None else to_sql(kept.head) for _, kept in rows],
            "bodies": [to_sql(kept.text) for _, kept in rows],
        }
        try:
            self._database.write("keep_summaries", **row)
        except StoreError:
            return

    def density(self, session: str, begin: int, end: int, buckets: int) -> list[int]:
        row = {"session": key(session), "begin": begin, "end": end, "buckets": buckets}
        return filled(self._database.rows_if_any("density", **row), buckets)

    def _feed(self, name: str, **row: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; in a database of an older schema that may only be read, of the one for that."""

        def read(connection: Connection, _attempts: int) -> list[tuple[Any, ...]]:
            try:
                return connection.execute(query(name), row).fetchall()
            except errors.UndefinedTable:
                return connection.execute(query(f"{name}_before_schema_3"), row).fetchall()

        return self._database.run(read)

    def _forget_needs(self, now: int) -> None:
        kept = bounds(now)
        row = {"oldest": kept.oldest, "max_answered": kept.max_answered, "max_open": kept.max_open}
        self._database.write("forget_needs", **row)

    def _claim_rows(self, name: str, row: dict[str, Any]) -> list[tuple[Any, ...]]:
        def change(connection: Connection, _attempts: int) -> list[tuple[Any, ...]]:
            return self._database.in_run(connection, lambda: connection.execute(query(name), row).fetchall())

        return self._database.run(change)


def _need_in(connection: Connection, need: str) -> Need:
    row = connection.execute(query("need"), {"id": key(need)}).fetchone()
    asked = decode_need(row[0]) if row else None
    if asked is None:
        raise UnknownNeed(need)
    return asked


def _claimant_row(claimant: Claimant) -> dict[str, Any]:
    return {"agent": key(claimant.agent), "holder": encode_claimant(claimant)}


def _claim(row: Iterable[Any]) -> Claim:
    task, epoch, until, holder, before, now = row
    return decode_claim(task, epoch, until, (holder, before), now)
