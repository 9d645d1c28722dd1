"""A one-line editor with history."""

from __future__ import annotations

from tildone.cli.run.terminal.keys import Key
from tildone.kit.text import display_width
from tildone.views.sanitize import printable

PROMPT = "> "


class LineEditor:
    """Text with a cursor in it."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._history: list[str] = []
        self._at = 0

    def press(self, key: Key) -> str | None:
        """Apply a key; return the text if the key was Enter."""
        match key.name:
            case "":
                self._set(self.text[: self.cursor] + key.text + self.text[self.cursor :], self.cursor + len(key.text))
            case "enter":
                return self._submit()
            case "backspace" if self.cursor:
                self._set(self.text[: self.cursor - 1] + self.text[self.cursor :], self.cursor - 1)
            case "delete":
                self._set(self.text[: self.cursor] + self.text[self.cursor + 1 :], self.cursor)
            case "ctrl+u":
                self._set(self.text[self.cursor :], 0)
            case "ctrl+k":
                self._set(self.text[: self.cursor], self.cursor)
            case "ctrl+w":
                kept = self.text[: self.cursor].rstrip().rpartition(" ")
                start = len(kept[0] + kept[1])
                self._set(self.text[:start] + self.text[self.cursor :], start)
            case "left" | "right" | "home" | "end":
                self._move(key.name)
            case "up" | "down":
                self._recall(-1 if key.name == "up" else 1)
            case _:
                pass
        return None

    def clear(self) -> None:
        """Empty the line."""
        self._set("", 0)
        self._at = len(self._history)

    def visible(self, columns: int, prompt: str = PROMPT) -> tuple[str, int]:
        """Return the part of the line around the cursor that fits, and the column of the cursor."""
        room = max(columns - display_width(prompt) - 1, 1)
        before, after = printable(self.text[: self.cursor]), printable(self.text[self.cursor :])
        while display_width(before) > room:
            before = before[1:]
        while display_width(before) + display_width(after) > room:
            after = after[:-1]
        return f"{prompt}{before}{after}", display_width(prompt) + display_width(before)

    def _submit(self) -> str:
        text = self.text
        if text.strip() and self._history[-1:] != [text]:
            self._history.append(text)
        self.clear()
        return text

    def _move(self, name: str) -> None:
        to = {"left": self.cursor - 1, "right": self.cursor + 1, "home": 0, "end": len(self.text)}[name]
        self.cursor = min(max(to, 0), len(self.text))

    def _recall(self, step: int) -> None:
        at = self._at + step
        if 0 <= at <= len(self._history):
            text = self._history[at] if at < len(self._history) else ""
            self._set(text, len(text))
            self._at = at

    def _set(self, text: str, cursor: int) -> None:
        self.text, self.cursor = text, cursor
