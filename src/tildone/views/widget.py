"""A plan at a glance: what a status bar says of it, and what a person waits for."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.core.query import progress
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from tildone.core.plan import Plan


def status_text(plan: Plan) -> str | None:
    """How far the plan has come; None without one."""
    far = progress(plan)
    if not far.total:
        return None
    return f"✓ Done ({far.total} items)" if far.finished else f"📋 {far.closed}/{far.total}"


def active_tasks(plan: Plan) -> str | None:
    """The tasks in progress, one a line; None when nothing is."""
    lines = [
        f"[{position}] {single_line(task.text)}"
        for position, task in enumerate(plan.tasks)
        if task.status is Status.IN_PROGRESS
    ]
    return "\n".join(lines) or None


def countdown_text(seconds: int) -> str:
    """What is shown while an agent is about to go on by itself."""
    return f"⏳ Auto-continuing in {seconds}s... (type anything to interrupt)"
