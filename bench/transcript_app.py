"""A program that the benchmark of the transcript runs in a terminal: a transcript, and a field to type into.

`python -m bench.transcript_app LINES shown` opens a finished conversation of so many lines, with the keys in the
transcript; `idle` opens it with the keys in the field; `streamed` streams it in small pieces meanwhile.
"""

import sys
from collections.abc import Iterator

from textual.app import App, ComposeResult
from textual.widgets import Input

from tildone.screens.transcript.blocks import AnswerBlock, Block
from tildone.screens.transcript.widget import TranscriptPane
from tildone.screens.widgets.keys import PALETTES

PIECE, PIECES_AT_ONCE, SECONDS_BETWEEN = 24, 3, 0.01
LINES_OF_MESSAGE = 100


def line(number: int) -> str:
    """The text of a line, in small letters, so that a capital one on the screen was typed."""
    return f"line {number:05}"


def text(lines: int) -> str:
    """Markdown of so many lines, of the kinds that models write."""
    return "".join(map(_source, range(1, lines + 1)))


def _source(number: int) -> str:
    kinds = ("{} with *some* `code` in it", "- {} of a list", "", "```", "{} of code", "```", "| {} | b |", "|---|---|")
    return kinds[number % len(kinds)].format(line(number)) + "\n"


class BenchApp(App[None]):
    """The program."""

    def __init__(self, lines: int, mode: str) -> None:
        super().__init__()
        self.transcript, self.field = TranscriptPane(PALETTES["dark"]), Input()
        self._mode, self._lines = mode, lines
        self._pieces: Iterator[str] = iter(())
        self._number = 0

    def compose(self) -> ComposeResult:
        """Create the two widgets."""
        yield self.transcript
        yield self.field

    def on_mount(self) -> None:
        """Show the conversation, or begin to stream it."""
        if self._mode == "streamed":
            source = text(self._lines)
            self._pieces = (source[at : at + PIECE] for at in range(0, len(source), PIECE))
            self._number = self.transcript.add(AnswerBlock())
            self.set_interval(SECONDS_BETWEEN, self._stream)
        else:
            self.transcript.load(_blocks(self._lines))
        (self.transcript if self._mode == "shown" else self.field).focus()

    def _stream(self) -> None:
        for _, piece in zip(range(PIECES_AT_ONCE), self._pieces, strict=False):
            self.transcript.append_text(self._number, piece)


def _blocks(lines: int) -> Iterator[Block]:
    numbers = [*range(1, lines + 1)]
    for at in range(0, lines, LINES_OF_MESSAGE):
        yield AnswerBlock("\n".join(map(line, numbers[at : at + LINES_OF_MESSAGE])))


if __name__ == "__main__":
    BenchApp(int(sys.argv[1]), sys.argv[2]).run()
