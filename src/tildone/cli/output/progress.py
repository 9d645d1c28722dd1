"""A progress line on standard error, rewritten in place; nothing if standard error is no terminal."""

from __future__ import annotations

import sys
from time import monotonic

from tildone.cli.output.screen import columns, on_terminal
from tildone.kit.text import clip_text
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

REDRAW_SECONDS = 0.1


class ProgressLine:
    """A callable for `(what, done, total)`. It redraws at most once per interval, and clears the line on exit."""

    def __init__(self) -> None:
        self._is_terminal = on_terminal(sys.stderr)
        # Work that ends within the first interval shows no progress.
        self._next_redraw = monotonic() + REDRAW_SECONDS
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.clear()

    def __call__(self, what: str, done: int, total: int, noun: str = "events") -> None:
        """Redraw the line unless it was drawn within the last interval."""
        if not self._is_terminal or monotonic() < self._next_redraw:
            return
        self._next_redraw = monotonic() + REDRAW_SECONDS
        part = f"{100 * done // total} %, " if total else ""
        self.say(f"{what}: {part}{done:,} of {total:,} {noun}")

    def say(self, text: str) -> None:
        """Show a text at once, for work whose progress cannot be measured."""
        if self._is_terminal:
            shown = clip_text(text, (columns(sys.stderr) or 80) - 1)
            sys.stderr.write(f"\r{shown.ljust(self._drawn)}")
            sys.stderr.flush()
            self._drawn = len(shown)

    def clear(self) -> None:
        """Clear the line, so that other output can follow."""
        self._next_redraw = monotonic() + REDRAW_SECONDS
        if self._drawn:
            sys.stderr.write(f"\r{' ' * self._drawn}\r")
            sys.stderr.flush()
            self._drawn = 0
