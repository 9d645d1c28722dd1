"""The prompts with which `tildone run` starts a model on a plan."""

from __future__ import annotations

from tildone.formats.markdown.writer import portable_checklist
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import escape_reminder_tags

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan

CONTINUE = "Continue where you stopped."


def work_prompt(plan: Plan) -> str:
    """Return the prompt to work through a plan. Task text appears in the list only."""
    return f"Work through this plan, task by task. It is in your todo list:\n\n{portable_checklist(plan).strip()}"


def change_reminder(changes: Sequence[str], current: str) -> str:
    """Return the message that tells a model, in the middle of its turn, what others changed in its list."""
    listed = "\n".join(f"- {change}" for change in changes)
    body = escape_reminder_tags(f"Others changed your todo list:\n{listed}\nIt is now:\n\n{current.strip()}")
    return f"<system-reminder>\n{body}\n</system-reminder>"
