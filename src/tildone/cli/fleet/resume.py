"""`tildone fleet resume`: queue paused runs again."""

from __future__ import annotations

from tildone.cli.fleet.wishing import queue_again
from tildone.cli.parsing.table import ParsedArgs
from tildone.log.fleet.lease import LeaseState


def run(args: ParsedArgs) -> int:
    """Queue paused runs again."""
    return queue_again(args, (LeaseState.PAUSED,), "resume")
