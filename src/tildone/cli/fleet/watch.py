"""`tildone fleet watch`: list the runs whenever something has changed."""

from __future__ import annotations

import sys

from tildone.cli import INTERRUPTED
from tildone.cli.fleet.ls import listed_data, listed_rows
from tildone.cli.fleet.opening import open_existing_fleet
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import colored, columns, on_terminal
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import UsageError
from tildone.ids import now
from tildone.kit.theme import ansi
from tildone.typing import TYPE_CHECKING
from tildone.views.fleet import run_lines
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.views.fleet import RunRow

REFRESH_SECONDS = 2.0
"""How often the list is read even if no run has changed: the plans may have."""

HOME, CLEAR_LINE, CLEAR_REST = "\x1b[H", "\x1b[K", "\x1b[J"


def run(args: ParsedArgs) -> int:
    """List the runs until Ctrl-C.

    Raises:
        UsageError: there is neither a terminal nor --json.
    """
    if not args.has("json") and not on_terminal():
        raise UsageError("watch needs a terminal; elsewhere use: tildone fleet watch --json, tildone fleet ls")
    fleet, before = open_existing_fleet(args), dict[str, object]()
    try:
        while True:
            revision = fleet.leases.revision()
            left_out: list[str] = []
            rows, _ = listed_rows(fleet, args, left_out)
            shown = listed_data(rows, left_out)
            if not args.has("json"):
                sys.stdout.write(_screen(rows))
            elif shown != before:
                put_data(**shown)
            sys.stdout.flush()
            before = shown
            fleet.leases.wait(revision, REFRESH_SECONDS)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        fleet.store.close()


def _screen(rows: list[RunRow]) -> str:
    """Return what draws the list from the top of the terminal."""
    color = colored()
    lines = [ansi(line, color=color, safe=printable) for line in run_lines(rows, now(), columns())]
    drawn = "".join(f"{line}{CLEAR_LINE}\n" for line in lines or ["No runs. Press Ctrl-C to leave."])
    return f"{HOME}{drawn}{CLEAR_REST}"
