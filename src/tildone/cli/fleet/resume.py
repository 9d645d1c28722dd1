"""`tildone fleet resume`: queue paused runs again."""

from __future__ import annotations

from tildone.cli.fleet.wishing import queue_again
from tildone.cli.parsing.table import ParsedArgs
from tildone.overview.run_wishes import RESUMABLE


def run(args: ParsedArgs) -> int:
    """Queue paused runs again."""
    return queue_again(args, RESUMABLE, "resume")
