"""`tildone pause`: let agents rest at the end of their turn."""

from __future__ import annotations

from tildone.cli.agents.steering import steer
from tildone.cli.parsing.table import ParsedArgs
from tildone.log.events import Directive


def run(args: ParsedArgs) -> int:
    """Let agents rest at the end of their turn."""
    return steer(args, Directive.PAUSE)
