"""Places in a document: what is selected, what is found, and the text between two places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tildone.kit.components.fitting import DrawnLine
from tildone.kit.text import display_width
from tildone.tui.transcript.blocks import CallBlock
from tildone.tui.transcript.document import Document
from tildone.views.sanitize import printable

Place = tuple[int, int, int]
"""A block, one of its lines, and a character of that line."""

Piece = tuple[int, int, int]
"""A line of a block, and the characters of it from the first to the one after the last."""

_WORD = re.compile(r"\w+|[^\w\s]+|\s+")


def character_at(text: str, column: int) -> int:
    """Return the character that is drawn at a column; the length of the text for a column behind it."""
    used = 0
    for number, char in enumerate(text):
        used += display_width(char)
        if used > column:
            return number
    return len(text)


def word_at(text: str, character: int) -> tuple[int, int]:
    """Return the word at a character: where it begins and ends."""
    for found in _WORD.finditer(text):
        if found.start() <= character < found.end():
            return found.span()
    return len(text), len(text)


def path_at(document: Document, index: int, number: int, character: int) -> str:
    """Return the path of a call, if it is shown at this place; else, nothing."""
    block = document.entries[index].block
    path = block.path if isinstance(block, CallBlock) else ""
    shown = re.compile(rf"(?<!\S){re.escape(printable(path))}(?!\S)").search(document.lines(index)[number].text)
    return path if path and shown and shown.start() <= character < shown.end() else ""


def word_place(document: Document, place: Place, motion: str) -> Place:
    """Return the place of the `next` word, of the `previous` one, or of the next `end` of one; else, the same place."""
    index, number, _ = place
    step = -1 if motion == "previous" else 1
    while 0 <= index < len(document.entries):
        lines = document.lines(index)
        while 0 <= number < len(lines):
            line = lines[number]
            words = [found.span() for found in _WORD.finditer(line.text) if found.end() > line.gutter]
            ends = [
                (index, number, end - 1 if motion == "end" else max(start, line.gutter))
                for start, end in words
                if not line.text[start:end].isspace()
            ]
            for end in ends[::step]:
                if (end > place) if step > 0 else (end < place):
                    return end
            number += step
        index += step
        number = 0 if step > 0 or index < 0 else len(document.lines(index)) - 1
    return place


def characters_before(lines: Sequence[DrawnLine], number: int) -> int:
    """Return how many characters of the text are before a line. It is the same for every width."""
    return sum(map(_length, lines[:number]))


def line_with(lines: Sequence[DrawnLine], characters: int) -> int:
    """Return the line that has the character with so many others before it."""
    for number, line in enumerate(lines):
        characters -= _length(line)
        if characters < 0:
            return number
    return max(0, len(lines) - 1)


def _length(line: DrawnLine) -> int:
    return len(line.text) - line.gutter + len("\n" if line.joint is None else line.joint)


def selected_text(document: Document, first: Place, end: Place) -> str:
    """Return the text from one place to another: without layout, and with wrapped lines joined."""
    texts: list[str] = []
    for index in range(first[0], end[0] + 1):
        if texts and document.entries[index].gap:
            texts.append("")
        begins = True
        for number, line in enumerate(document.lines(index)):
            if not first <= (index, number, len(line.text)) or (index, number, 0) > end:
                continue
            start, stop = piece_of(first, end, index, number, line)
            part = line.text[max(start, line.gutter) : stop]
            if begins or line.joint is None:
                texts.append(part)
            else:
                texts[-1] += line.joint + part
            begins = False
    return "\n".join(text.rstrip() for text in texts)


def piece_of(first: Place, end: Place, index: int, number: int, line: DrawnLine) -> tuple[int, int]:
    """Return the characters of a line that lie between two places; equal numbers if there are none."""
    length = len(line.text)
    start = first[2] if first[:2] == (index, number) else 0 if first[:2] < (index, number) else length
    stop = end[2] if end[:2] == (index, number) else length if end[:2] > (index, number) else 0
    return start, max(start, stop)


def matches(lines: Sequence[DrawnLine], words: str) -> list[list[Piece]]:
    """Return where words occur; each match as pieces, of which there are several if the text is wrapped within it.

    Words without capital letters match both cases.
    """
    pattern = re.compile(re.escape(words), re.NOFLAG if words != words.lower() else re.IGNORECASE)
    return [found for logical in _logical_lines(lines) for found in _found(logical, lines, pattern)]


def _logical_lines(lines: Sequence[DrawnLine]) -> Iterator[list[int]]:
    """The numbers of the lines that are parts of the same line of text."""
    numbers: list[int] = []
    for number, line in enumerate(lines):
        if line.joint is None and numbers:
            yield numbers
            numbers = []
        numbers.append(number)
    if numbers:
        yield numbers


def _found(numbers: Sequence[int], lines: Sequence[DrawnLine], pattern: re.Pattern[str]) -> Iterator[list[Piece]]:
    text = ""
    starts: list[int] = []
    for number in numbers:
        line = lines[number]
        text += (line.joint or "") if starts else ""
        starts.append(len(text))
        text += line.text[line.gutter :]
    for found in pattern.finditer(text):
        pieces: list[Piece] = []
        for number, begin in zip(numbers, starts, strict=True):
            line = lines[number]
            start = max(found.start() - begin, 0) + line.gutter
            stop = min(found.end() - begin + line.gutter, len(line.text))
            if start < stop:
                pieces.append((number, start, stop))
        yield pieces
