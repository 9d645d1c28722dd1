"""What is said about a call of `todo_write` that failed, to the person and to the model."""

from __future__ import annotations

from tildone.kit.definition import TextContent, ToolResult
from tildone.views.limits import clipped
from tildone.views.sanitize import printable
from tildone.views.sanitize import reminder as as_reminder

NEWLINE = "\n"


def first_text(result: ToolResult) -> str | None:
    return next((block.text for block in result.content if isinstance(block, TextContent)), None)


def failure_warning(result: ToolResult) -> str:
    """Return a one-line warning for the person that an update failed, with the reason."""
    texts = [block.text for block in result.content if isinstance(block, TextContent) and block.text]
    why = texts[0] if texts else "no reason given"
    return f"Todo update failed, the list may be out of date: {printable(why.partition(NEWLINE)[0])}"


def failure_reminder(why: str) -> str:
    """Return the reminder that tells the model, in its next turn, that its update failed."""
    failed = f"A todo_write failed: {clipped(why)}" if why else "A todo_write failed."
    return as_reminder(f"{failed}\nThe user does not see its progress until a call succeeds: put it right.")
