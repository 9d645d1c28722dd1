"""Writes rendered lines to a stream; written lines are never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from tildone.cli.output.screen import colored, columns
from tildone.kit.components.fitting import Line
from tildone.kit.keys import NO_KEYS
from tildone.kit.theme import ansi

UNLIMITED_COLUMNS = 1_000_000
"""The width of a line in an output that is not a terminal."""


class LineOutput:
    """A stream. A terminal gets colours, and lines that fit its width."""

    live = False
    keys = NO_KEYS

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._color = colored(stream)

    @property
    def columns(self) -> int:
        """The width of the terminal, if the stream is one."""
        return columns(self._stream) or UNLIMITED_COLUMNS

    def put(self, lines: Sequence[Line]) -> None:
        """Write the lines and flush."""
        self._stream.write("".join(f"{ansi(line, color=self._color, safe=str)}\n" for line in lines))
        self._stream.flush()

    def refresh(self) -> None:
        """Nothing to do: work in progress is not shown."""
