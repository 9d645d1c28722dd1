"""Forms of arguments that all ops share: task numbers, numbers followed by text, and the error of ambiguous ones."""

from __future__ import annotations

import re

ID_KEYS = ("id", "task", "taskId", "task_id", "number", "index")
NUMBER = "#?([0-9]{1,9})"
NUMBERS = f"{NUMBER}(?:[ ,;]+{NUMBER})*"
_NUMBER_AND_TEXT = rf"\s*{NUMBER}(?![0-9.])[\s:,)\-–—]*(.*)"


class AmbiguousArguments(ValueError):
    """The arguments have no interpretation, or several."""


def number_and_text(given: object) -> tuple[int, str] | None:
    """Return the task number and the text that follows it; None if this is no text with both."""
    parsed = re.fullmatch(_NUMBER_AND_TEXT, given, re.DOTALL) if isinstance(given, str) else None
    return (int(parsed[1]), parsed[2].strip()) if parsed is not None and parsed[2].strip() else None
