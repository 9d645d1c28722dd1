"""`tildone fleet ls`: list the runs."""

from __future__ import annotations

from tildone.cli.fleet.opening import Fleet, fleet_settings, open_existing_fleet
from tildone.cli.fleet.rows import as_data, recent, rows_of
from tildone.cli.output.data import put_data
from tildone.cli.output.left_out import exit_code_for
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import NotFound
from tildone.ids import now
from tildone.typing import TYPE_CHECKING
from tildone.views.fleet import run_lines
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.views.fleet import RunRow

EMPTY = "has no runs yet. Queue one with: tildone fleet add PLAN"
NONE_RECENT = "has no runs that have not ended, or ended within a day. To list the others: tildone fleet ls --all"


def run(args: ParsedArgs) -> int:
    """List the runs that have not ended, and those that ended within a day."""
    try:
        fleet = open_existing_fleet(args, read_only=True)
    except NotFound:
        # Without a store, there are no runs.
        return _put_nothing(args)
    left_out: list[str] = []
    rows, known = listed_rows(fleet, args, left_out)
    if args.has("json"):
        put_data(**listed_data(rows, left_out))
    elif rows:
        put_spans(run_lines(rows, now(), columns()))
    else:
        put(f"{printable(fleet.settings.store.redacted)} {NONE_RECENT if known else EMPTY}")
    return exit_code_for(left_out)


def listed_rows(fleet: Fleet, args: ParsedArgs, left_out: list[str]) -> tuple[list[RunRow], bool]:
    """Return the rows to list, and whether there are any runs."""
    views, at = fleet.leases.look(), now()
    return rows_of(fleet, views if args.has("all") else recent(views, at), at, left_out), bool(views)


def listed_data(rows: list[RunRow], left_out: list[str]) -> dict[str, object]:
    """Return the rows for JSON output."""
    at = now()
    return {"runs": [as_data(row, at) for row in rows], "left_out": left_out}


def _put_nothing(args: ParsedArgs) -> int:
    if args.has("json"):
        put_data(**listed_data([], []))
    else:
        put(f"{printable(fleet_settings(args).store.redacted)} {EMPTY}")
    return 0
