"""The prompts with which `tildone run` starts a model on a plan."""

from __future__ import annotations

from tildone.formats.markdown.writer import bounded_checklist
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import MAX_CONTEXT, MAX_FRAME, MAX_START, bounded_lines, clipped
from tildone.views.sanitize import reminder, safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.plan import Plan

CONTINUE = "Continue where you stopped."


def work_prompt(plan: Plan) -> str:
    """Return the prompt to work through a plan. Task text appears in the list only."""
    listed = safe_text(bounded_checklist(plan, MAX_START - MAX_FRAME).strip())
    return f"Work through this plan, task by task. It is in your todo list:\n\n{listed}"


def change_reminder(changes: Sequence[str], current: str) -> str:
    """Return the message that tells a model, in the middle of its turn, what others changed in its list."""
    listed = "\n".join(bounded_lines((f"- {clipped(change)}" for change in changes), MAX_CONTEXT))
    return reminder(f"Others changed your todo list:\n{listed}\nIt is now:\n\n{current.strip()}")
