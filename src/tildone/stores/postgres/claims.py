"""The claims of a PostgreSQL store.

Theory of operation. Each operation is one call of a function of the schema, which first locks the claims of the session
and reads the clock of the server. An event with a fence is appended by the same function that checks the fence. After a
lost connection an operation is repeated: claims that were taken are the agent's own then, and an event that was
appended is in the database.
"""

from __future__ import annotations

from psycopg import errors

from tildone.errors import HeadMoved, RunFenced, StoreError
from tildone.log.claims import Fenced, decode_claim, encode_claimant
from tildone.log.json_scanner import parse
from tildone.stores.postgres.names import key
from tildone.stores.postgres.queries import query
from tildone.stores.postgres.rows import row_of, seen_row, session_row
from tildone.stores.postgres.verdicts import scalar
from tildone.stores.postgres.writing import PostgresWriting
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from psycopg import Connection

    from tildone.log.claims import Claim, Claimant, ClaimFence
    from tildone.log.events import Event


class PostgresClaims(PostgresWriting):
    """The part of a PostgreSQL store that has to do with claims."""

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> list[Claim]:
        """Append `event` if the fence allows it; return the claims that it takes.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
            Fenced: tasks that the event changes, or that the writer had, are those of other agents.
        """
        row = session_row(session) | row_of(event) | seen_row(seen_by, event.id) | _claimant_row(fence.claimant)
        row |= {"lease": fence.lease, "starts": sorted(fence.starts)}
        row |= {"changes": sorted(fence.changes), "active": sorted(fence.active), "beside": sorted(fence.beside)}

        def write(connection: Connection, attempts: int) -> tuple[str, int, str | None]:
            """Append; after an unacknowledged attempt, the event may already be in the database."""
            try:
                statement = query("append_fenced")
                found = self._in_run(connection, lambda: connection.execute(statement, row).fetchone())
            except errors.UniqueViolation as error:
                if attempts and scalar(connection, "body", row) == row["body"]:
                    return "done", 0, None
                raise StoreError(f"{session!r} has an event {event.id!r} already") from error
            except RunFenced:
                if attempts and scalar(connection, "body", row) == row["body"]:
                    return "done", 0, None
                raise
            verdict, now, claims = found or ("", 0, None)
            if attempts and verdict != "done" and scalar(connection, "body", row) == row["body"]:
                return "done", now, None
            return verdict, now, claims

        verdict, now, claims = self._connections.run(write)
        found = [(lost, _claim((*rest, now))) for lost, *rest in parse(claims or "[]")]
        if verdict == "fenced":
            raise Fenced(
                session, [claim for lost, claim in found if lost], [claim for lost, claim in found if not lost]
            )
        if verdict != "done":
            raise HeadMoved(session)
        return [claim for _, claim in found]

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        """Claim a task, and return its newest claim."""
        row = {"session": key(session), "task": task, "lease": lease} | _claimant_row(claimant)
        return _claim(self._claim_rows("claim", row)[0])

    def renew(self, session: str, agent: str, lease: int) -> list[Claim]:
        """Renew the leases of an agent; return the claims of tasks that it has lost."""
        row = {"session": key(session), "agent": key(agent), "lease": lease}
        return sorted(map(_claim, self._claim_rows("renew", row)), key=lambda claim: claim.task)

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        """Give back the tasks of an agent."""
        some = None if tasks is None else sorted(tasks)
        self._claim_rows("release", {"session": key(session), "agent": key(agent), "tasks": some})

    def lapse(self, session: str, agent: str) -> None:
        """End the leases of an agent."""
        row = {"session": key(session), "agent": key(agent)}

        def change(connection: Connection, _attempts: int) -> None:
            self._in_run(connection, lambda: connection.execute(query("lapse"), row))

        self._connections.run(change)

    def claims(self, session: str) -> list[Claim]:
        """Return the newest claim of each task that was not given back."""

        def read(connection: Connection, _attempts: int) -> list[tuple[Any, ...]]:
            try:
                return connection.execute(query("claims"), {"session": key(session)}).fetchall()
            except errors.UndefinedTable:
                # A database of an older schema that may only be read.
                return []

        return list(map(_claim, self._connections.run(read)))

    def _claim_rows(self, name: str, row: dict[str, Any]) -> list[tuple[Any, ...]]:
        def change(connection: Connection, _attempts: int) -> list[tuple[Any, ...]]:
            return self._in_run(connection, lambda: connection.execute(query(name), row).fetchall())

        return self._connections.run(change)


def _claimant_row(claimant: Claimant) -> dict[str, Any]:
    return {"agent": key(claimant.agent), "holder": encode_claimant(claimant)}


def _claim(row: Iterable[Any]) -> Claim:
    task, epoch, until, holder, before, now = row
    return decode_claim(task, epoch, until, (holder, before), now)
