"""`tildone todo done`: mark tasks, a phase or all open tasks as completed."""

from __future__ import annotations

from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.todo.closing import close
from tildone.core.plan import Status


def run(args: ParsedArgs) -> int:
    """Mark the tasks as completed."""
    return close(args, Status.COMPLETED)
