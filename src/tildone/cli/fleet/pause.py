"""`tildone fleet pause`: let runs rest."""

from __future__ import annotations

from tildone.cli.fleet.wishing import wish
from tildone.cli.parsing.table import ParsedArgs
from tildone.log.fleet.lease import Ask


def run(args: ParsedArgs) -> int:
    """Let runs rest."""
    return wish(args, Ask.PAUSE)
