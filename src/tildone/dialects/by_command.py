"""Text for models that have no tool for the plan but may run commands: it names a command instead of a tool."""

from __future__ import annotations

from tildone.core.numbers import numbered
from tildone.core.query import next_task
from tildone.core.rules import Rules
from tildone.dialects.base import Dialect, Reply
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import clipped
from tildone.views.sanitize import safe_text, single_line

if TYPE_CHECKING:
    from tildone.core.plan import Plan

MAX_TASKS_LISTED = 5
MAX_TEXT_CHARACTERS = 200


def by_command(command: str, options: str = "") -> Dialect:
    """Return the dialect record whose nudge names `command`, which edits the plan, with its options at the end.

    Both are quoted for a shell.
    """
    return Dialect(
        name="by command",
        rules=Rules(),
        tools=(),
        refuse=lambda *_: Reply("", {}, is_error=True),
        context=lambda _: None,
        carry_on=lambda plan: _carry_on(plan, command, options),
    )


def _carry_on(plan: Plan, command: str, options: str) -> str:
    """Return the nudge, which begins with the next task. Task text appears in the list only."""
    plan = numbered(plan)
    upcoming = next_task(plan)
    first = upcoming[0] if upcoming else 0
    todo = [task for task in plan.tasks[first:] + plan.tasks[:first] if task.status.is_actionable]
    lines = [f"{task.number} {_shown(task.text)}" for task in todo[:MAX_TASKS_LISTED]]
    lines += [f"+{len(todo) - MAX_TASKS_LISTED} more"] if len(todo) > MAX_TASKS_LISTED else []
    listing = "\n".join(lines)
    return (
        f"Your plan is not done:\n{listing}\n"
        f"Go on. Report each task by its number, in a shell: {command} done N{options}\n"
        f"What is not needed: {command} drop N{options}"
    )


def _shown(text: str) -> str:
    return clipped(safe_text(single_line(text)), MAX_TEXT_CHARACTERS)
