"""A terminal with a footer that is redrawn in place below lines that are final.

Theory of operation. Nothing uses the alternate screen: final lines scroll away as usual. Before each write the cursor
moves up to the first row of the footer and everything below is erased; then final lines and the new footer are written.
The width of every drawn row is remembered: a terminal that became narrower has wrapped rows, so the cursor must move up
further. While another program uses the terminal (`suspend`), final lines are collected and written afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TextIO

from tildone.cli.output.screen import colored
from tildone.cli.run.terminal.keys import SCREEN_KEYS
from tildone.kit.components.fitting import Line
from tildone.kit.text import display_width
from tildone.kit.theme import ansi, plain
from tildone.value import value

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
ERASE_BELOW = "\x1b[J"


@value
class Footer:
    """The rows at the bottom, none wider than the terminal; the cursor's column in the last row, if it is visible."""

    lines: tuple[Line, ...] = ()
    cursor: int | None = None


class LiveArea:
    """A terminal. `footer(columns, rows)` returns the current footer; `request_draw` schedules a redraw."""

    live = True
    keys = SCREEN_KEYS

    def __init__(self, stream: TextIO, footer: Callable[[int, int], Footer], request_draw: Callable[[], None]) -> None:
        self._stream = stream
        self._footer = footer
        self._request_draw = request_draw
        self._color = colored(stream)
        self._drawn_widths: list[int] = []
        self._open = True
        self._suspended = False
        self._pending_lines: list[Line] = []

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except OSError:
            return 80, 24
        return size.columns or 80, size.lines or 24

    @property
    def columns(self) -> int:
        """The width of a line."""
        return self.size[0]

    def put(self, lines: Sequence[Line]) -> None:
        """Write lines above the footer, or collect them while drawing is suspended."""
        if self._suspended:
            self._pending_lines += lines
        elif lines:
            self._draw(lines)

    def refresh(self) -> None:
        """Redraw the footer soon; many changes lead to one redraw."""
        self._request_draw()

    def draw(self) -> None:
        """Redraw the footer now."""
        if self._open and not self._suspended:
            self._draw(())

    def start_over(self) -> None:
        """Draw the footer at the cursor: another program has written to the terminal."""
        self._drawn_widths = []
        self.draw()

    def suspend(self) -> None:
        """Erase the footer and leave the terminal to another program."""
        self._erase()
        self._suspended = True

    def resume(self) -> None:
        """Resume drawing."""
        self._suspended = False
        lines, self._pending_lines = self._pending_lines, []
        self._draw(lines)

    def close(self) -> None:
        """Erase the footer and draw it no more."""
        self._open = False
        self._erase()

    def _draw(self, lines: Sequence[Line]) -> None:
        columns, rows = self.size
        footer = self._footer(columns, rows) if self._open else Footer()
        kept = footer.lines[-max(rows - 1, 1) :]
        above = "".join(f"{self._styled(line)}\n" for line in lines)
        below = "\n".join(map(self._styled, kept))
        cursor = "" if footer.cursor is None else f"\r\x1b[{footer.cursor}C{SHOW}" if footer.cursor else f"\r{SHOW}"
        hidden = HIDE if self._open else ""
        self._write(f"{hidden}{self._erase_sequence()}{above}{below}{cursor}")
        self._drawn_widths = [display_width(plain(line)) for line in kept]

    def _erase(self) -> None:
        self._write(f"{self._erase_sequence()}{SHOW}")
        self._drawn_widths = []

    def _write(self, text: str) -> None:
        with suppress(OSError):  # the terminal was closed; SIGHUP ends the run
            self._stream.write(text)
            self._stream.flush()

    def _erase_sequence(self) -> str:
        """Return the control sequence that erases the footer, including rows that the terminal has wrapped."""
        columns = self.columns
        rows = sum(max(-(-taken // columns), 1) for taken in self._drawn_widths)
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return f"\r{up}{ERASE_BELOW}"

    def _styled(self, line: Line) -> str:
        return ansi(line, color=self._color, safe=str)
