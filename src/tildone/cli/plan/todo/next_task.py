"""`tildone todo next`: show the task to work on now."""

from __future__ import annotations

from tildone.cli.opening import open_for_reading, shows_positions
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.check_states import check_states
from tildone.cli.plan.hints import no_tasks
from tildone.core.guard import is_unproved
from tildone.core.order import waiting_tasks
from tildone.core.plan import Plan, Status
from tildone.core.query import next_task, open_tasks
from tildone.typing import TYPE_CHECKING
from tildone.views.plan_lines import task_lines
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.cli.plan.check_states import CheckStates

MAX_WAITING = 5


def run(args: ParsedArgs) -> int:
    """Print the task in progress, else the first that can be worked on, with its notes."""
    session = open_for_reading(args)
    plan = session.plan
    upcoming = next_task(plan)
    checks = check_states(session, plan)
    if args.has("json"):
        # Only --json needs them.
        from tildone.cli.output.data import put_data  # noqa: PLC0415  see above
        from tildone.cli.plan.data import next_data  # noqa: PLC0415  see above

        put_data(**next_data(plan, session.name, positions=shows_positions(args, session), checks=checks))
    elif upcoming is not None:
        position, task = upcoming
        place = position if shows_positions(args, session) else None
        put_spans(task_lines(task, columns(), place, proposed=checks.proposed))
        put_waiting(plan)
    elif plan.tasks:
        put(_nothing_left(plan, checks))
        put_waiting(plan)
    else:
        put(no_tasks(session.name))
    return 0


def put_waiting(plan: Plan) -> None:
    """Print which tasks wait for which others, a line each. One that is in progress does not wait."""
    waiting = [each for each in waiting_tasks(plan) if each[0].status is not Status.IN_PROGRESS]
    for task, others in waiting[:MAX_WAITING]:
        put(f"Waiting: #{task.number} {printable(task.text)} (after {', '.join(map(str, others))})")
    if len(waiting) > MAX_WAITING:
        put(f"Waiting: {len(waiting) - MAX_WAITING} more")


def _nothing_left(plan: Plan, checks: CheckStates) -> str:
    # Late, because most plans are not at an end.
    from tildone.commands.targets import label  # noqa: PLC0415  see above

    blocked = [task for _, task in open_tasks(plan) if not task.status.is_actionable]
    if not blocked and checks.stale:
        return f"Nothing is open, but proofs are stale: all {len(plan.tasks)} tasks are closed. Run: tildone verify"
    if not blocked and is_unproved(plan):
        return "All tasks are closed, but the check of the plan has not passed. Run: tildone verify"
    if not blocked:
        return f"Nothing is left to do: all {len(plan.tasks)} tasks are closed."
    first = blocked[0]
    why = f" ({printable(first.notes[-1])})" if first.notes else ""
    verb = "is" if len(blocked) == 1 else f"and {len(blocked) - 1} more are"
    return f"Nothing can be done now: {printable(label(first))}{why} {verb} blocked."
