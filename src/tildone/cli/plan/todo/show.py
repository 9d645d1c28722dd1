"""`tildone todo` and `tildone todo show`: show the plan."""

from __future__ import annotations

from tildone.cli.opening import open_for_reading, session_title
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.views.plan_lines import plan_lines


def run(args: ParsedArgs) -> int:
    """Print the plan, or how to start one."""
    session = open_for_reading(args)
    plan = session.plan
    if plan.tasks:
        put_spans(plan_lines(plan, columns()))
    else:
        put(f"No tasks in {session_title(session.name)}. Add one with: tildone todo append TEXT")
    return 0
