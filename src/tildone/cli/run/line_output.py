"""A story told line by line into any stream: no line is ever taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from tildone.cli.output.screen import colored, columns
from tildone.kit.components.drawing import Line
from tildone.kit.theme import ansi

UNLIMITED_COLUMNS = 1_000_000
"""As wide as a line may be where nobody has to see it at once."""


class LineOutput:
    """A stream that is written to. A terminal gets colours and lines that fit."""

    live = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._color = colored(stream)

    @property
    def columns(self) -> int:
        """The width of the terminal, if it is one."""
        return columns(self._stream) or UNLIMITED_COLUMNS

    def put(self, lines: Sequence[Line]) -> None:
        """Write the lines, and let nobody wait for them."""
        self._stream.write("".join(f"{ansi(line, color=self._color, safe=str)}\n" for line in lines))
        self._stream.flush()

    def refresh(self) -> None:
        """Nothing that is under way is shown."""
