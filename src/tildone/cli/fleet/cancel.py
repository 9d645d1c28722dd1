"""`tildone fleet cancel`: end runs for good."""

from __future__ import annotations

from tildone.cli.fleet.wishing import wish
from tildone.cli.parsing.table import ParsedArgs
from tildone.log.fleet.lease import Ask


def run(args: ParsedArgs) -> int:
    """End runs for good."""
    return wish(args, Ask.CANCEL)
