"""The state of a plan in one line, printed after every change."""

from __future__ import annotations

from tildone.core.guard import is_unproved
from tildone.core.plan import Status
from tildone.core.query import next_task, progress
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.core.plan import Plan


def plan_summary(plan: Plan) -> str:
    """How many tasks are closed, and which is next."""
    counts = progress(plan)
    if not counts.total:
        return "The plan is now empty."
    upcoming = next_task(plan)
    if upcoming is None:
        rest = "nothing is left to do" if counts.finished else "what is left is blocked"
        if is_unproved(plan):
            rest = "the check of the plan has not passed"
        return f"{counts.closed} of {counts.total} closed: {rest}."
    task = upcoming[1]
    word = "In progress" if task.status is Status.IN_PROGRESS else "Next"
    return f"{counts.closed} of {counts.total} closed. {word}: #{task.number} {printable(task.text)}"
