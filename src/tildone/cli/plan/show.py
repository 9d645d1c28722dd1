"""`tildone todo`: the plan as it stands."""

from __future__ import annotations

from tildone.cli.opening import named, reading
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.args import Typed
from tildone.views.themed import plan_lines


def show(typed: Typed) -> int:
    """Print the plan, or how to begin one."""
    session = reading(typed)
    plan = session.plan
    if plan.tasks:
        put_spans(plan_lines(plan, columns()))
    else:
        put(f"No tasks in {named(session.name)}. Add one with: tildone todo append TEXT")
    return 0
