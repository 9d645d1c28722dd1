"""A plan as one line, for status bars."""

from __future__ import annotations

from tildone.core.query import next_task, progress
from tildone.log.events import Directive
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.log.state import State

MAX_TASK_CHARS = 60
SIGN, BETWEEN = "✓", " · "

COURSES = {Directive.GO: "", Directive.PAUSE: "paused", Directive.STOP: "stopped"}


def status_line(state: State, max_chars: int = MAX_TASK_CHARS) -> str:
    """The progress, the next task, and the directive if it is not to go on; empty without a plan."""
    far = progress(state.plan)
    upcoming = next_task(state.plan)
    parts = [f"{SIGN} {far.closed}/{far.total}"] if far.total else []
    if upcoming is not None:
        task = upcoming[1]
        text = printable(task.text)
        text = text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"
        parts.append(f"{task.number} {text}" if task.number else text)
    if COURSES[state.directive]:
        parts.append(COURSES[state.directive])
    return BETWEEN.join(parts)
