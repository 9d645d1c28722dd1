"""`tildone fleet retry`: queue runs again that have failed or were cancelled."""

from __future__ import annotations

from tildone.cli.fleet.wishing import queue_again
from tildone.cli.parsing.table import ParsedArgs
from tildone.overview.run_wishes import RETRIABLE


def run(args: ParsedArgs) -> int:
    """Queue runs again that have failed or were cancelled."""
    return queue_again(args, RETRIABLE, "retry")
