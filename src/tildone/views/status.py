"""A plan in one line, for status bars."""

from __future__ import annotations

from tildone.core.query import next_task, progress
from tildone.log.events import Course
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.log.state import State

LONGEST = 60
SIGN, BETWEEN = "✓", " · "

COURSES = {Course.GO: "", Course.PAUSE: "paused", Course.STOP: "stopped"}


def status_line(state: State, longest: int = LONGEST) -> str:
    """How far the plan has come, what is next, and whether the person wants the agent to wait; empty without a plan."""
    far = progress(state.plan)
    upcoming = next_task(state.plan)
    parts = [f"{SIGN} {far.closed}/{far.total}"] if far.total else []
    if upcoming is not None:
        task = upcoming[1]
        text = printable(task.text)
        text = text if len(text) <= longest else f"{text[: longest - 1]}…"
        parts.append(f"{task.number} {text}" if task.number else text)
    if COURSES[state.course]:
        parts.append(COURSES[state.course])
    return BETWEEN.join(parts)
