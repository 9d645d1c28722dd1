"""Leases as the columns of a table, the same in every store.

Whoever can write to the table can put anything into it. What breaks the rules of leases becomes no lease, but a
`BadRow`: nothing that makes paths, refs or commands of leases gets to see it.
"""

from __future__ import annotations

from tildone.errors import UsageError, shortened
from tildone.log.fleet.lease import Ask, Lease, LeaseState, Work
from tildone.log.fleet.workers import BadRow
from tildone.log.json_scanner import dump, parse
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Row = dict[str, Any]

WORK_COLUMNS = ("repo", "provider", "labels", "priority", "agent", "model", "allow", "ref", "protocol")
PLAIN_COLUMNS = ("epoch", "attempt", "until", "boot", "not_before", "fails", "losses", "task", "made", "since")
COLUMNS = (
    "run",
    "hand",
    "session",
    "state",
    "sent",
    "owner",
    "ask",
    "questions",
    "refused",
    *PLAIN_COLUMNS,
    *WORK_COLUMNS,
)
"""The columns in the order in which rows are read."""

CHANGING_COLUMNS = tuple(name for name in COLUMNS if name not in ("run", "hand", "session", "made", *WORK_COLUMNS))
"""The columns that differ before and after a change of a lease."""


def lease_row(lease: Lease) -> Row:
    """Return the columns of a lease. Lists are JSON; the session is as it is, and so are labels."""
    row: Row = {"session": lease.session, "made": lease.made}
    row |= {name: getattr(lease.work, name) for name in WORK_COLUMNS}
    # Without a repository, there is no limit of one run for each.
    row |= {"repo": lease.work.repo or None, "allow": dump(list(lease.work.allow))}
    return row | changed_row(lease)


def changed_row(lease: Lease) -> Row:
    """Return the columns of a lease that may have changed, and those that identify it."""
    row: Row = {name: getattr(lease, name) for name in ("run", "hand", "sent", *PLAIN_COLUMNS)}
    row |= {"state": lease.state.value, "ask": lease.ask.value, "owner": lease.owner or None}
    return row | {"questions": dump(list(lease.questions)), "refused": dump(list(lease.refused))}


def lease_in(values: Sequence[Any], from_sql: Callable[[Any], str]) -> Lease | BadRow:
    """Return the lease of the columns of a row. `from_sql` returns the session that a column stands for."""
    row: Row = dict(zip(COLUMNS, values, strict=True))
    work = {name: row[name] for name in WORK_COLUMNS if name not in ("labels", "allow", "repo")}
    if row["owner"] == "":
        # It would be held, but by nobody from whom it could be taken.
        return BadRow("leases", row["run"], "its owner has no name")
    try:
        return Lease(
            row["run"],
            row["hand"],
            from_sql(row["session"]),
            Work(repo=row["repo"] or "", labels=texts_in(row["labels"]), allow=texts_in(row["allow"]), **work),
            LeaseState(row["state"]),
            sent=bool(row["sent"]),
            owner=row["owner"] or "",
            ask=Ask(row["ask"]),
            questions=texts_in(row["questions"]),
            refused=texts_in(row["refused"]),
            **{name: row[name] for name in PLAIN_COLUMNS},
        )
    except (UsageError, ValueError) as error:
        return BadRow("leases", row["run"], str(error))


def texts_in(stored: str | list[str]) -> tuple[str, ...]:
    """Return the texts of a list that is stored as JSON, or as it is.

    Raises:
        ValueError: it is not JSON, or no list of texts.
    """
    texts = parse(stored) if isinstance(stored, str) else stored
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{shortened(str(stored))!r} is no list of texts")
    return tuple(texts)


def remaining(lease: Lease, clock: int) -> int:
    """Return for how many milliseconds a lease is still held."""
    return max(0, lease.until - clock) if lease.is_held else 0
