"""Questions to the person during a run, answered with text or with a letter.

A letter counts only after Enter: a question that appears while the person is typing is not answered by accident.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from tildone.cli.run.terminal.keys import Key
from tildone.cli.run.terminal.line_editor import LineEditor
from tildone.host.tools.permissions import PermissionAnswer
from tildone.kit.components import Text
from tildone.kit.components.drawing import Line, draw
from tildone.kit.theme import Role, Span
from tildone.views.sanitize import printable

PERMISSION_LETTERS = {
    PermissionAnswer.ONCE.value: "y",
    PermissionAnswer.SESSION.value: "a",
    PermissionAnswer.NO.value: "n",
}
"""The letters for permissions: yes, always, no."""

SYNONYMS = {"yes": "y", "always": "a", "no": "n"}
YES, NO = "Yes", "No"


class Question:
    """One question. `answer` is the person's answer, or None if they declined."""

    def __init__(self, title: str, choices: Mapping[str, str] | None = None) -> None:
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.line = LineEditor()
        self._title = title
        self._choices = choices

    def press(self, key: Key) -> None:
        """Apply a key."""
        if key.name == "escape":
            self.set_answer(None)
            return
        typed = self.line.press(key)
        if typed is None:
            return
        if self._choices is None:
            self.set_answer(typed)
            return
        word = typed.strip().lower()
        chosen = self._choices.get(SYNONYMS.get(word, word))
        if chosen is not None:
            self.set_answer(chosen)

    def set_answer(self, answer: str | None) -> None:
        """Set the answer, unless it is already set."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def lines(self, columns: int) -> list[Line]:
        """Return the lines of the question and its choices."""
        first, *more = self._title.split("\n")
        rows = draw(Text(f"? {first}", Role.WARNING, bold=True), columns, safe=printable)
        rows += draw(Text("\n".join(f"  {line}" for line in more)), columns, safe=printable) if more else []
        for letter, choice in (self._choices or {}).items():
            spans = (Span(f"  {letter}", Role.ACCENT), Span(f"  {choice}", Role.MUTED))
            rows += draw(Text(spans), columns, safe=printable)
        return rows


def letters(options: Sequence[str]) -> dict[str, str]:
    """Return a key for each option: y, a and n for permissions, otherwise numbers."""
    if set(options) == set(PERMISSION_LETTERS):
        return {PERMISSION_LETTERS[option]: option for option in options}
    return {str(number): option for number, option in enumerate(options, start=1)}
