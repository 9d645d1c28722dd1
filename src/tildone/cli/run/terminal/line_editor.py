"""A one-line editor with history. The line may contain line breaks, which are shown as a symbol."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import commonprefix

from tildone.cli.run.terminal.keys import Key
from tildone.kit.text import display_width
from tildone.views.sanitize import printable

PROMPT = "> "
CONTINUATION = "\\"
"""Before Enter, it makes a line break and does not submit the line."""


class LineEditor:
    """Text with a cursor in it."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._history: list[str] = []
        self._at = 0
        self._draft = ""

    def press(self, key: Key) -> str | None:
        """Apply a key; return the text if the key was Enter."""
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        match key.name:
            case "":
                self._set(before + key.text + after, self.cursor + len(key.text))
            case "enter" if before.endswith(CONTINUATION):
                self._set(before.removesuffix(CONTINUATION) + "\n" + after, self.cursor)
            case "enter":
                return self._submit()
            case "backspace" if self.cursor:
                self._set(before[:-1] + after, self.cursor - 1)
            case "delete":
                self._set(before + after[1:], self.cursor)
            case "ctrl+u":
                self._set(after, 0)
            case "ctrl+k":
                self._set(before, self.cursor)
            case "ctrl+w":
                start = self._word_start()
                self._set(self.text[:start] + after, start)
            case "left" | "right" | "home" | "end" | "word left" | "word right":
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
        self._draft = ""

    def complete(self, words: Sequence[str]) -> list[str]:
        """Complete the line to what the matching words have in common; return them if several match."""
        matching = [word for word in words if word.startswith(self.text)]
        if not matching:
            return []
        completed = f"{matching[0]} " if len(matching) == 1 else commonprefix(matching)  # noqa: RUF071  words, not paths
        self._set(completed, len(completed))
        return matching if len(matching) > 1 else []

    def visible(self, columns: int, prompt: str = PROMPT) -> tuple[str, int]:
        """Return the part of the line around the cursor that fits, and the column of the cursor."""
        room = max(columns - display_width(prompt) - 1, 1)
        # No more characters than columns can be visible, apart from those without a width; a paste may be long.
        before = printable(self.text[max(self.cursor - 2 * room, 0) : self.cursor])
        after = printable(self.text[self.cursor : self.cursor + 2 * room])
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
        to = {
            "left": self.cursor - 1,
            "right": self.cursor + 1,
            "home": 0,
            "end": len(self.text),
            "word left": self._word_start(),
            "word right": self._word_end(),
        }[name]
        self.cursor = min(max(to, 0), len(self.text))

    def _word_start(self) -> int:
        kept = self.text[: self.cursor].rstrip().rpartition(" ")
        return len(kept[0] + kept[1])

    def _word_end(self) -> int:
        after = self.text[self.cursor :]
        spaces = len(after) - len(after.lstrip())
        return self.cursor + spaces + len(after.lstrip().partition(" ")[0])

    def _recall(self, step: int) -> None:
        """Show an earlier or later line of the history; after the last one, the line that was not submitted."""
        at = self._at + step
        if 0 <= at <= len(self._history):
            if self._at == len(self._history):
                self._draft = self.text
            text = self._history[at] if at < len(self._history) else self._draft
            self._set(text, len(text))
            self._at = at

    def _set(self, text: str, cursor: int) -> None:
        self.text, self.cursor = text, cursor
