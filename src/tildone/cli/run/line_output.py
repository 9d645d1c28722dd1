"""Writes rendered lines to a stream; written lines are never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from tildone.cli.output.screen import colored, columns, on_terminal
from tildone.kit.components.fitting import Line
from tildone.kit.theme import ansi

UNLIMITED_COLUMNS = 1_000_000
"""The width of a line in an output that is not a terminal."""


class LineOutput:
    """A stream. A terminal gets colours, and lines that fit its width, above the row in which a person types."""

    def __init__(self, stream: TextIO) -> None:
        self.prompt = ""
        """What begins the row in which the person types; empty if nothing was asked."""
        self._stream = stream
        self._color = colored(stream)

    @property
    def columns(self) -> int:
        """The width of the terminal, if the stream is one."""
        return columns(self._stream) or UNLIMITED_COLUMNS

    def put(self, lines: Sequence[Line]) -> None:
        """Write the lines, then the prompt again, and flush."""
        prompt = self.prompt
        self.end_row()
        self._write("".join(f"{ansi(line, color=self._color, safe=str)}\n" for line in lines))
        if prompt:
            self.ask(prompt)

    def ask(self, prompt: str) -> None:
        """Begin a row in which the person types."""
        self.end_row()
        self.prompt = prompt
        self._write(prompt)

    def entered(self) -> None:
        """The person has pressed Enter, which the terminal has echoed."""
        self.prompt = ""

    def end_row(self) -> None:
        """End the row in which the person could type, if there is one."""
        if self.prompt:
            self.prompt = ""
            self._write("\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            if not on_terminal(self._stream):
                raise  # a terminal that was closed sends SIGHUP, which ends the run
