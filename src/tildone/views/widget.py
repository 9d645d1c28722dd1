"""Texts of status bars and widgets: progress, active tasks, countdown."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.core.query import progress
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from tildone.core.plan import Plan


def status_text(plan: Plan) -> str | None:
    """The progress of the plan; None if it is empty."""
    far = progress(plan)
    if not far.total:
        return None
    return f"✓ Done ({far.total} items)" if far.finished else f"📋 {far.closed}/{far.total}"


def active_tasks(plan: Plan) -> str | None:
    """The tasks in progress, one per line; None if there are none."""
    lines = [
        f"[{position}] {single_line(task.text)}"
        for position, task in enumerate(plan.tasks)
        if task.status is Status.IN_PROGRESS
    ]
    return "\n".join(lines) or None


def countdown_text(seconds: int) -> str:
    """The text shown while an automatic continuation is pending."""
    return f"⏳ Auto-continuing in {seconds}s... (type anything to interrupt)"
