"""One line that says how far something is, rewritten in place; nothing where nobody watches."""

from __future__ import annotations

import sys
from time import monotonic

from tildone.cli.output.screen import columns, on_terminal
from tildone.kit.text import clip_text
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

OFTEN = 0.1


class Progress:
    """To be told `(what, done, total)` as often as one likes; it is gone from the terminal when the work is over."""

    def __init__(self) -> None:
        self._watched = on_terminal(sys.stderr)
        # What is over in a moment needs no word.
        self._again = monotonic() + OFTEN
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.clear()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show it, if it was not shown a moment ago."""
        if not self._watched or monotonic() < self._again:
            return
        self._again = monotonic() + OFTEN
        part = f"{100 * done // total} %, " if total else ""
        shown = clip_text(f"{what}: {part}{done:,} of {total:,} events", (columns(sys.stderr) or 80) - 1)
        sys.stderr.write(f"\r{shown.ljust(self._drawn)}")
        sys.stderr.flush()
        self._drawn = len(shown)

    def clear(self) -> None:
        """Take the line away, so that something else can be said."""
        self._again = monotonic() + OFTEN
        if self._drawn:
            sys.stderr.write(f"\r{' ' * self._drawn}\r")
            sys.stderr.flush()
            self._drawn = 0
