"""All blocks of a transcript with their lines for a width, and the rows that they take.

Blocks are drawn when their rows are wanted. Until then their height is estimated.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence

from textual import events

from tildone.base.keys import ALL_BINDINGS, KeyBindings
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, display_width
from tildone.run.kit.drawing import DrawnLine
from tildone.screens.transcript import blocks
from tildone.screens.widgets.keys import Line


class HeightIndex:
    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]  # of position n: the sum of the last `n & -n` heights up to n

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        return self.top(len(self._heights))

    def append(self, height: int) -> None:
        self._heights.append(height)
        position = len(self._heights)
        self._tree.append(height + self.top(position - 1) - self.top(position - (position & -position)))

    def set(self, index: int, height: int) -> None:
        growth = height - self._heights[index]
        self._heights[index] = height
        position = index + 1
        while growth and position < len(self._tree):
            self._tree[position] += growth
            position += position & -position

    def top(self, index: int) -> int:
        """Return the height of all blocks before this one."""
        total = 0
        while index:
            total += self._tree[index]
            index &= index - 1
        return total

    def find(self, row: int) -> int:
        """Return the block that a row is in; the last one for a row below all.

        A block without height is never returned, unless no block has one.
        """
        index, bit = 0, 1 << len(self._heights).bit_length()
        row = min(row, self.total - 1)
        while bit:
            reached = index + bit
            if reached < len(self._tree) and self._tree[reached] <= row:
                index = reached
                row -= self._tree[reached]
            bit >>= 1
        return min(index, max(0, len(self._heights) - 1))

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]  # it has no subclasses


MAX_FLUSH = 16_384
"""Characters of a text that are drawn at once, so that keys are handled in between."""

LONG_TEXT = 500
"""Lines of a text that is fitted to another width in parts."""


class Document:
    """Blocks from top to bottom. `now` returns the time in seconds, for running calls.

    `on_refit` is called with the id of a block, a line, the lines there, and those that replace them for another width.
    `uncolored` are blocks of code, with the text that they are part of, that it takes too long to colour at once.
    """

    def __init__(self, now: Callable[[], float], keys: KeyBindings = ALL_BINDINGS, columns: int = 80) -> None:
        self.entries: list[blocks.BlockEntry] = []
        self.heights = HeightIndex()
        self.columns = columns
        self.expanded = self.thinking = False
        self.drawn = 0
        self.colors = blocks.CodeColors()
        self.uncolored: list[tuple[blocks.StreamedMarkdown, blocks.CodeBlock]] = []
        self.on_refit: Callable[[int, int, list[DrawnLine], list[DrawnLine]], None] = lambda *_: None
        self.now, self._keys = now, keys
        self._next = 0
        self._index: dict[int, int] = {}
        self._waiting: dict[int, None] = {}
        self.dirty: dict[int, None] = {}
        """The blocks whose texts are not drawn as far as they have arrived."""

    @property
    def total(self) -> int:
        return self.heights.total

    @property
    def is_drawn(self) -> bool:
        """Whether no height is estimated."""
        return not self._waiting

    def index(self, number: int) -> int:
        return self._index[number]

    def add(self, block: blocks.Block) -> int:
        self._next += 1
        is_open = (
            self.thinking
            if isinstance(block, blocks.Thinking)
            else isinstance(block, blocks.CallBlock) and (self.expanded or block.expanded)
        )
        entry = blocks.BlockEntry(self._next, block, expanded=is_open)
        self._index[entry.id] = len(self.entries)
        self.entries.append(entry)
        self.heights.append(0)
        self._estimate(entry)
        return entry.id

    def replace(self, number: int, block: blocks.Block) -> None:
        """Exchange a block, which stays expanded or folded. It is drawn by `flush`."""
        entry = self.entries[self._index[number]]
        entry.block, entry.pieces, entry.pending, entry.stream = block, [], [], None
        entry.is_open = False
        self.dirty[number] = None

    def append(self, number: int, piece: str) -> None:
        entry = self.entries[self._index[number]]
        entry.pending.append(piece)
        entry.is_open = True
        self.dirty[number] = None

    def finish(self, number: int) -> None:
        entry = self.entries[self._index[number]]
        self.flush(limit=sys.maxsize)
        if entry.stream is not None:
            entry.stream.finish()
            self._measure(entry)
        entry.block = (blocks.Thinking if isinstance(entry.block, blocks.Thinking) else blocks.AnswerBlock)(entry.text)
        entry.pieces, entry.is_open = [], False

    def flush(self, limit: int = MAX_FLUSH) -> int:
        """Draw what has arrived, at most `limit` characters of each text; return the first row that has changed."""
        changed = sys.maxsize
        dirty, self.dirty = self.dirty, {}
        for number in dirty:
            entry = self.entries[self._index[number]]
            arrived = "".join(entry.pending)
            piece, left = arrived[:limit], arrived[limit:]
            entry.pieces += [piece] if piece else []
            entry.pending = [left] if left else []
            if left:
                self.dirty[number] = None
            top = self.top(self._index[number])
            if entry.stream is not None:
                before = entry.stream.drawn
                entry.stream.feed(piece)
                changed = min(changed, top + entry.stream.changed)
                self.drawn += entry.stream.drawn - before
                self._measure(entry)
                continue
            changed = min(changed, top)
            if entry.lines is not None:
                self._draw(entry)
        return changed

    def clear(self) -> None:
        self.entries.clear()
        self.heights.clear()
        for held in (self._index, self._waiting, self.dirty, self.uncolored):
            held.clear()

    def resize(self, columns: int) -> None:
        """Estimate all heights for another width; the blocks are drawn when they are wanted, long texts in parts."""
        before, self.columns = max(1, self.columns), columns
        for index, entry in enumerate(self.entries):
            if entry.lines is None:
                self._estimate(entry)
            elif self.is_long(index) and entry.stream is not None:
                entry.stream.resize(max(columns, blocks.MIN_COLUMNS))
                self._waiting[entry.id] = None
                self._measure(entry)
            else:
                self._forget(entry)
                entry.rows = -(
                    -entry.rows * min(before, blocks.PROSE_COLUMNS) // max(1, min(columns, blocks.PROSE_COLUMNS))
                )
                self._set_height(index)

    def set_expanded(self, number: int, *, expanded: bool) -> None:
        entry = self.entries[self._index[number]]
        if entry.expanded != expanded:
            entry.expanded = expanded
            self._draw(entry)

    def expand_all(self, *, expanded: bool) -> None:
        """Expand all calls, or fold them: those that are here, and those to come."""
        self.expanded = expanded
        self._refold(blocks.CallBlock, expanded=expanded)

    def show_thinking(self, *, shown: bool) -> None:
        """Show what the model thinks, or fold it, from now on."""
        self.thinking = shown
        self._refold(blocks.Thinking, expanded=shown)

    def invalidate(self, number: int) -> None:
        """Draw a block again when its rows are wanted."""
        entry = self.entries[self._index[number]]
        if entry.lines is not None:
            self._draw(entry)

    def top(self, index: int) -> int:
        """Return the first row of a block: the empty one above it, if there is one."""
        return self.heights.top(index)

    def row(self, index: int, number: int) -> int:
        return self.heights.top(index) + self.entries[index].gap + number

    def lines(self, index: int) -> list[DrawnLine]:
        """Return the lines of a block, which is drawn if it was not."""
        entry = self.entries[index]
        if entry.lines is None:
            self._draw(entry)
        return entry.lines or []

    def draw_rows(self, first: int, end: int) -> None:
        """Draw the blocks from the one that has the row `first` on, until their rows reach `end`."""
        index = self.heights.find(max(0, first))
        while index < len(self.entries) and self.top(index) < end:
            self.lines(index)
            top = self.row(index, 0)
            while self._refit(self.entries[index], first - top, end - top):
                pass
            index += 1

    def draw_waiting(self) -> bool:
        """Draw one block whose height is estimated, the newest first, or a part of it; return whether there was one."""
        if not self._waiting:
            return False
        number = next(reversed(self._waiting))
        entry = self.entries[self._index[number]]
        if entry.lines is None:
            self._draw(entry)
        elif not self._refit(entry):
            del self._waiting[number]
        return True

    def is_long(self, index: int) -> bool:
        """Return whether a block is a text that is fitted to another width in parts."""
        entry = self.entries[index]
        return entry.stream is not None and len(entry.lines or ()) > LONG_TEXT

    def locate(self, row: int) -> tuple[int, int]:
        """Return the block at a row, and which of its lines is there; a negative line is an empty row above it."""
        index = self.heights.find(row)
        return index, row - self.top(index) - self.entries[index].gap

    def header_rows(self, index: int) -> int:
        """Return how many lines of a block are the header of a call."""
        entry = self.entries[index]
        return (
            len(blocks.header_lines(entry.block, self._look(entry))) if isinstance(entry.block, blocks.CallBlock) else 0
        )

    def is_moving(self, index: int) -> bool:
        """Return whether a block is drawn otherwise as time passes."""
        block = self.entries[index].block
        if isinstance(block, blocks.NoticeBlock):
            return callable(block.aside)
        return isinstance(block, blocks.CallBlock) and block.state is blocks.CallState.RUNNING

    def _refit(self, entry: blocks.BlockEntry, first: int = 0, end: int = sys.maxsize) -> bool:
        """Draw some old lines of a text for the present width; return whether there were any."""
        refitted = entry.stream.refit(first, end) if entry.stream is not None and entry.stream.is_stale else None
        if refitted is None:
            return False
        self.drawn += len(refitted[2])
        self._measure(entry)
        self.on_refit(entry.id, *refitted)
        return True

    def _refold(self, kind: type[blocks.Block], *, expanded: bool) -> None:
        for entry in self.entries:
            if isinstance(entry.block, kind) and entry.expanded != expanded:
                entry.expanded = expanded
                self._estimate(entry)

    def _look(self, entry: blocks.BlockEntry) -> blocks.Look:
        return blocks.Look(self.columns, self._keys, expanded=entry.expanded, now=self.now())

    def _draw(self, entry: blocks.BlockEntry) -> None:
        block, entry.stream = entry.block, None
        text = blocks.source_text(block) + "".join(entry.pieces)
        if isinstance(block, blocks.AnswerBlock) or (isinstance(block, blocks.Thinking) and entry.expanded):
            role, colors = (Role.TEXT, self.colors) if isinstance(block, blocks.AnswerBlock) else (Role.MUTED, None)
            entry.stream = blocks.StreamedMarkdown(max(self.columns, blocks.MIN_COLUMNS), role, colors)
            entry.stream.feed(text)
            if not entry.is_open:
                entry.stream.finish()
            entry.lines = entry.stream.lines
        elif isinstance(block, blocks.Thinking):
            entry.lines = [blocks.folded_thinking(text, self._look(entry))]
        else:
            entry.lines = blocks.block_lines(block, self._look(entry))
        self.drawn += entry.stream.drawn if entry.stream else len(entry.lines)
        self._waiting.pop(entry.id, None)
        self._measure(entry)

    def _measure(self, entry: blocks.BlockEntry) -> None:
        if entry.stream is not None and entry.stream.waiting:
            self.uncolored += [(entry.stream, block) for block in entry.stream.waiting]
            entry.stream.waiting = []
        entry.rows = len(entry.lines or ())
        self._set_height(self._index[entry.id])

    def _estimate(self, entry: blocks.BlockEntry) -> None:
        self._forget(entry)
        entry.rows = blocks.estimated_rows(entry, self.columns)
        self._set_height(self._index[entry.id])

    def _set_height(self, index: int) -> None:
        for changed in (index, index + 1):  # the gap above the next block depends on this one
            if changed < len(self.entries):
                entry = self.entries[changed]
                entry.gap = blocks.gap_above(self.entries[changed - 1] if changed else None, entry)
                self.heights.set(changed, entry.gap + entry.rows)

    def _forget(self, entry: blocks.BlockEntry) -> None:
        entry.lines = entry.stream = None
        self._waiting[entry.id] = None


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
    path = block.path if isinstance(block, blocks.CallBlock) else ""
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


class Selection:
    """A part of the text, if any. With `by_keys`, keys move its end. `changed` is called when it is another one."""

    def __init__(self, document: Document, changed: Callable[[], object]) -> None:
        self.by_keys = False
        self._document, self._changed = document, changed
        self._from: Place | None = None
        self._to: Place = (0, 0, 0)

    @property
    def exists(self) -> bool:
        return self._from is not None

    @property
    def text(self) -> str:
        return selected_text(self._document, *self._ends()) if self.exists else ""

    def clear(self) -> None:
        self._from, self.by_keys = None, False
        self._changed()

    def select(self, first: Place, end: Place) -> None:
        self._from, self._to = first, end
        self._changed()

    def ends_in(self, block: int) -> bool:
        return self.exists and block == self._document.entries[self._to[0]].id

    def move_end(self, rows: int, characters: int = 0) -> int:
        """Move the end, and return the row where it is."""
        document, (index, number, character) = self._document, self._to
        lines = document.lines(index)
        character = min(max(0, character + characters), len(lines[number].text))
        row = document.row(index, number)
        step = 1 if rows > 0 else -1
        goal = min(max(0, row + rows), document.total - 1)
        index, number = document.locate(goal)
        while number < 0 and 0 < goal < document.total - 1:
            goal += step
            index, number = document.locate(goal)
        self._to = index, max(0, number), character
        return goal

    def move_word(self, motion: str) -> int:
        """Move the end to the `next` word, to the `previous` one or to the `end` of one, and return its row."""
        self._to = word_place(self._document, self._to, motion)
        return self._document.row(*self._to[:2])

    def marked(self, index: int, number: int, line: DrawnLine) -> list[blocks.Highlighted]:
        if not self.exists:
            return []
        start, end = piece_of(*self._ends(), index, number, line)
        return [(max(start, line.gutter), end, blocks.Highlight.SELECTED)] if start < end else []

    def _ends(self) -> tuple[Place, Place]:
        first, end = sorted((self._from or self._to, self._to))
        # Selecting by keys includes the character at the end.
        return first, (end[0], end[1], end[2] + 1) if self.by_keys else end


class TextSearch:
    """The `words` that are marked in a document. `typed` is what is being typed; None while nothing is.

    `match` is what was gone to: the id of its block, and which of the matches there it is. `failed` says that there is
    none.
    """

    def __init__(self, document: Document) -> None:
        self.words = ""
        self.typed: str | None = None
        self.match: tuple[int, int] | None = None
        self.failed = False
        self._document = document

    def type_key(self, event: events.Key) -> str | None:
        """Take a key while words are typed, and return the words to search for, if it was Enter."""
        typed, self.typed = self.typed or "", None
        match event.key:
            case "enter":
                return typed or self.words
            case "escape":
                pass
            case "backspace":
                self.typed = typed[:-1]
            case _:
                self.typed = typed + (event.character or "" if event.is_printable else "")
        return None

    def step(self, step: int, top: Place) -> tuple[int, int] | None:
        """Go to the match after the current one, or to the first one from `top` on; at the end, start over.

        Return its block and line; None if there is no match.
        """
        found = next(self._from(step, top), None) if self.words and self._document.entries else None
        self.failed = bool(self.words) and found is None
        if found is None:
            return None
        index, which, pieces = found
        self.match = self._document.entries[index].id, which
        return index, pieces[0][0]

    def line(self) -> Line | None:
        """Return what is typed, or that nothing was found; None if there is nothing to say."""
        if self.typed is not None:
            return Span("/", Role.ACCENT), Span(printable(self.typed)), Span("▍", Role.ACCENT)
        if self.failed and self.words:
            return Span(f"/{printable(self.words)}", Role.ACCENT), Span(" · not found · esc", Role.MUTED)
        return None

    def marked(self, index: int, number: int) -> list[blocks.Highlighted]:
        found: list[blocks.Highlighted] = []
        for which, pieces in enumerate(self._matches(index)):
            kind = (
                blocks.Highlight.CURRENT
                if self.match == (self._document.entries[index].id, which)
                else blocks.Highlight.FOUND
            )
            found += [(start, end, kind) for at, start, end in pieces if at == number]
        return found

    def _matches(self, index: int) -> list[list[Piece]]:
        return matches(self._document.lines(index), self.words) if self.words else []

    def _from(self, step: int, top: Place) -> Iterator[tuple[int, int, list[Piece]]]:
        count = len(self._document.entries)
        if self.match is not None:
            start, skipped = self._document.index(self.match[0]), self.match[1]
        else:
            start, line, _ = top
            skipped = sum(pieces[0][0] < line for pieces in self._matches(start)) - (1 if step > 0 else 0)
        for offset in range(count + 1):
            index = (start + step * offset) % count
            found = list(enumerate(self._matches(index)))
            for which, pieces in found[::step]:
                if offset == 0 and (which <= skipped if step > 0 else which >= skipped):
                    continue
                yield index, which, pieces


PAGES_AROUND = 2


class Viewport:
    """The place in a document that is shown. `follows` says whether it is its end, and stays there."""

    def __init__(self, document: Document) -> None:
        self.follows = True
        self._document = document
        self._anchor = (0, 0)
        self._seen = (0, 0)

    @property
    def new_lines(self) -> int:
        """How many lines were added at the end since it is not followed."""
        if self.follows or not self._document.entries:
            return 0
        number, rows = self._seen
        return max(0, self._document.total - self._document.row(self._document.index(number), rows))

    def unfollow(self) -> None:
        """Stop following the end; what is added from now on is new."""
        if self.follows and self._document.entries:
            last = self._document.entries[-1]
            self.follows, self._seen = False, (last.id, last.rows)

    def hold(self, row: int) -> None:
        if self._document.entries:
            index, line = self._document.locate(row)
            self._anchor = self._document.entries[index].id, line

    def first_row(self, height: int) -> int:
        """Return the first visible row of so many, after drawing the blocks in and near them."""
        row, before = self._held_row(height), -1
        while row != before:
            self._document.draw_rows(row - PAGES_AROUND * height, row + (PAGES_AROUND + 1) * height)
            row, before = self._held_row(height), row
        return row

    def resize(self, columns: int) -> None:
        """Draw for another width; the text at the top stays there, and new lines stay new."""
        document, (held, number), (last, rows) = self._document, self._anchor, self._seen
        if self.follows or not document.entries:
            document.resize(columns)
            return
        index, end = document.index(held), document.index(last)
        if document.is_long(index) and document.is_long(end):
            document.resize(columns)  # the lines stay as they are until they are fitted
            return
        before, seen = characters_before(document.lines(index), number), characters_before(document.lines(end), rows)
        document.resize(columns)
        self._anchor = held, line_with(document.lines(index), before) if number > 0 else number
        self._seen = last, line_with(document.lines(end), seen - 1) + 1

    def refitted(self, block: int, start: int, old: list[DrawnLine], new: list[DrawnLine]) -> None:
        """Begin with the same text after lines of a block were replaced; new lines stay new."""

        def moved(place: tuple[int, int]) -> tuple[int, int]:
            number, line = place
            if number != block or line < start:
                return place
            if line >= start + len(old):
                return number, line + len(new) - len(old)
            return number, start + line_with(new, characters_before(old, line - start))

        self._anchor, self._seen = moved(self._anchor), moved(self._seen)

    def folded(self, block: int, rows: int) -> None:
        """Take note of the rows that a block has now that it was expanded or folded: none of them is new."""
        if block == self._seen[0]:
            self._seen = block, rows

    def _held_row(self, height: int) -> int:
        document = self._document
        if self.follows or not document.entries:
            return max(0, document.total - height) if self.follows else 0
        index = document.index(self._anchor[0])
        return max(0, document.row(index, min(self._anchor[1], max(0, document.entries[index].rows - 1))))
