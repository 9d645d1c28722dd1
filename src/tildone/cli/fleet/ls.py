"""`tildone fleet ls`: list the runs."""

from __future__ import annotations

from tildone.cli.fleet.opening import Fleet, fleet_if_any, fleet_settings
from tildone.cli.fleet.rows import Rows, as_data, recent, rows_of
from tildone.cli.output.data import put_data
from tildone.cli.output.left_out import exit_code_for
from tildone.cli.output.screen import columns, put, put_notice, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.ids import now
from tildone.views.fleet import bad_row_text, run_lines, state_counts
from tildone.views.sanitize import printable

EMPTY = "has no runs yet. To queue one: tildone fleet add PLAN"
NONE_RECENT = "has no runs that have not ended, or ended within a day. To list the others: tildone fleet ls --all"

DEFAULT_LIMIT = 100


def run(args: ParsedArgs) -> int:
    """List the runs that have not ended, and those that ended within a day."""
    # A program gets all of them, unless it asks for fewer.
    limit = args.positive_int("limit", 0) or (None if args.has("json") else DEFAULT_LIMIT)
    fleet = fleet_if_any(args)
    if fleet is None:
        return _put_nothing(args)
    left_out: list[str] = []
    rows, known = listed_rows(fleet, args, left_out, limit)
    if args.has("json"):
        put_data(**listed_data(rows, left_out))
    elif rows.shown:
        put_spans(run_lines(rows.shown, now(), columns()))
        if rows.more:
            put(f"{more_text(rows)}. To list them: tildone fleet ls --limit {len(rows.shown) + len(rows.more)}")
    else:
        put(f"{printable(fleet.settings.store.redacted)} {NONE_RECENT if known else EMPTY}")
    for worker in fleet.leases.workers():
        if not worker.slots:
            put_notice(f"tildone: worker {printable(worker.id)} takes no run: its disk is nearly full")
    for row in fleet.bad_rows:
        put_notice(f"tildone: {bad_row_text(row)}; it is ignored. For what to do: tildone fleet doctor")
    return exit_code_for(left_out)


def listed_rows(fleet: Fleet, args: ParsedArgs, left_out: list[str], most: int | None) -> tuple[Rows, bool]:
    """Return the rows to list, and whether there are any runs."""
    views, at = fleet.leases.look(), now()
    return rows_of(fleet, views if args.has("all") else recent(views, at), at, left_out, most), bool(views)


def listed_data(rows: Rows, left_out: list[str]) -> dict[str, object]:
    """Return the rows for JSON output."""
    at = now()
    return {"runs": [as_data(row, at) for row in rows.shown], "more": len(rows.more), "left_out": left_out}


def more_text(rows: Rows) -> str:
    """Return how many runs are not listed, by state."""
    return f"{len(rows.more):,} more: {state_counts(rows.more, now())}"


def _put_nothing(args: ParsedArgs) -> int:
    if args.has("json"):
        put_data(**listed_data(Rows(()), []))
    else:
        put(f"{printable(fleet_settings(args).store.redacted)} {EMPTY}")
    return 0
