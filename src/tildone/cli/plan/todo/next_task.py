"""`tildone todo next`: show the task to work on now."""

from __future__ import annotations

from tildone.cli.opening import open_for_reading, shows_positions
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.hints import no_tasks
from tildone.core.plan import Plan
from tildone.core.query import next_task, open_tasks
from tildone.views.plan_lines import task_lines
from tildone.views.sanitize import printable


def run(args: ParsedArgs) -> int:
    """Print the task in progress, else the first that can be worked on, with its notes."""
    session = open_for_reading(args)
    plan = session.plan
    upcoming = next_task(plan)
    if args.has("json"):
        # Only --json needs them.
        from tildone.cli.output.data import put_data  # noqa: PLC0415  see above
        from tildone.cli.plan.data import next_data  # noqa: PLC0415  see above

        put_data(**next_data(plan, session.name, positions=shows_positions(args, session)))
    elif upcoming is not None:
        position, task = upcoming
        put_spans(task_lines(task, columns(), position if shows_positions(args, session) else None))
    elif plan.tasks:
        put(_nothing_left(plan))
    else:
        put(no_tasks(session.name))
    return 0


def _nothing_left(plan: Plan) -> str:
    # Late, because most plans are not at an end.
    from tildone.commands.targets import label  # noqa: PLC0415  see above

    blocked = [task for _, task in open_tasks(plan)]
    if not blocked:
        return f"Nothing is left to do: all {len(plan.tasks)} tasks are closed."
    first = blocked[0]
    why = f" ({printable(first.notes[-1])})" if first.notes else ""
    verb = "is" if len(blocked) == 1 else f"and {len(blocked) - 1} more are"
    return f"Nothing can be done now: {printable(label(first))}{why} {verb} blocked."
