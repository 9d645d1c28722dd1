"""Texts of status bars and widgets: progress, active tasks, countdown."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.core.query import progress
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from tildone.core.plan import Plan


def status_text(plan: Plan) -> str | None:
    """Return the progress of the plan; None if it is empty."""
    done = progress(plan)
    if not done.total:
        return None
    return f"✓ Done ({done.total} items)" if done.finished else f"📋 {done.closed}/{done.total}"


def active_tasks(plan: Plan) -> str | None:
    """Return the tasks in progress, one per line; None if there are none."""
    lines = [
        f"[{position}] {single_line(task.text)}"
        for position, task in enumerate(plan.tasks)
        if task.status is Status.IN_PROGRESS
    ]
    return "\n".join(lines) or None


def countdown_text(seconds: int) -> str:
    """Return the text shown while an automatic continuation is pending."""
    return f"⏳ Auto-continuing in {seconds}s... (type anything to interrupt)"
