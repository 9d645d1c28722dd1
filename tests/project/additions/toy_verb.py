"""`tildone toy`: a verb that a test adds."""

from __future__ import annotations

from tildone.cli.output import put
from tildone.cli.table import ParsedArgs


def run(args: ParsedArgs) -> int:
    """Print its arguments in reverse order."""
    put(" ".join(reversed(args.positional)))
    return 0
