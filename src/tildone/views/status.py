"""A plan as one line, for status bars."""

from __future__ import annotations

from tildone.core.query import next_task, progress
from tildone.log.events import Directive
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.log.state import State

MAX_TASK_CHARS = 60
ICON, SEPARATOR, NEEDS_YOU = "✓", " · ", "needs you"

DIRECTIVE_TEXTS = {Directive.GO: "", Directive.PAUSE: "paused", Directive.STOP: "stopped"}


def status_line(state: State, max_chars: int = MAX_TASK_CHARS, held_up: str = "") -> str:
    """Return the progress, the next task, and the directive unless it is GO; empty without a plan.

    `held_up` says which task with a check an agent has set aside, if any.
    """
    done = progress(state.plan)
    upcoming = next_task(state.plan)
    parts = [f"{ICON} {done.closed}/{done.total}"] if done.total else []
    if upcoming is not None:
        task = upcoming[1]
        text = printable(task.text)
        text = text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
        parts.append(f"#{task.number} {text}" if task.number else text)
    if DIRECTIVE_TEXTS[state.directive]:
        parts.append(DIRECTIVE_TEXTS[state.directive])
    if held_up:
        parts.append(f"{NEEDS_YOU}: {held_up}")
    return SEPARATOR.join(parts)
