"""`tildone resume`: keep agents on their plan again."""

from __future__ import annotations

from tildone.cli.agents.steering import steer
from tildone.cli.parsing.table import ParsedArgs
from tildone.log.events import Directive


def run(args: ParsedArgs) -> int:
    """Keep agents on their plan again."""
    return steer(args, Directive.GO)
