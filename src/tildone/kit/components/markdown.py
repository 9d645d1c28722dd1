"""Markdown as rows: the subset that models use in results. Every source line stays a line, tables excepted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy

from tildone.kit.components.row import Row, Spans, Table
from tildone.kit.components.table import alignments, cells_of
from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span
from tildone.value import value

MAX_TABLE_ROWS = 200
"""Rows of a table that are laid out together. A longer one continues below a header of its own."""

_BAR = Span("│ ", Role.DIM)
_CODE_INDENT = 2
_RULE = Span("─" * 8, Role.DIM)
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_BULLETS = ("• ", "◦ ", "▪ ")
_MIN_RULE_LENGTH = 3
_MAX_DEPTH = 3
_TAB_STOP = 4
_MAX_BLOCK_INDENT = 3
"""Spaces before the mark of a block. Outside a list, what is indented further is text."""

_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_LANGUAGE = re.compile(r"[\s{.]*(?P<name>[\w+#-]*)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*)")
_QUOTE = re.compile(r" {0,3}> ?(?P<text>.*)")
_BULLET = re.compile(r"[ \t]*[-*+][ \t]+(?P<box>\[[ xX]\] )?(?P<text>.*)")
_NUMBER = re.compile(r"[ \t]*(?P<number>[0-9]{1,9}[.)])[ \t]+(?P<text>.*)")

# The text between two delimiters is bounded, so that unpaired delimiters stay cheap on long lines.
_INLINE = re.compile(
    r"(?<!`)(?P<ticks>`{1,2})(?!`)(?P<code>.{1,500}?)(?<!`)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<bold>.{1,500}?)(?<=\S)\*\*"
    r"|(?<![\w*/])\*(?=[^\s*])(?P<italic>.{1,500}?)(?<=[^\s*])\*(?![\w*/])"
    r"|(?<!\w)__(?=\S)(?P<bold_>.{1,500}?)(?<=\S)__(?!\w)"
    r"|(?<![\w_])_(?=[^\s_])(?P<italic_>.{1,500}?)(?<=[^\s_])_(?![\w_])"
    r"|~~(?=\S)(?P<strike>.{1,500}?)(?<=\S)~~"
    r"|\[(?P<label>[^\[\]]{1,500})\]\((?P<url>[^()\s]{1,500})\)"
    r"|\\(?P<literal>[\\`*_~\[\]()#>+.!-])"
)


@value
class Fence:
    """The beginning of a block of code: its mark and indent, the language if one is named, and where the code is."""

    mark: str
    indent: int
    column: int
    language: str


def markdown_rows(text: str, role: Role) -> Iterator[Row | Table]:
    """Yield the rows of a text, with `role` as the default style."""
    reader = MarkdownReader(role)
    for line in text.replace("\r\n", "\n").split("\n"):
        yield from reader.read(line)
    yield from reader.end()


class MarkdownReader:
    """Reads Markdown line by line, as it arrives. What a line means depends only on the lines before it.

    Tables are the exception: the rows of a table are laid out together, when it has ended. `fence` is that of the block
    of code that is open.
    """

    def __init__(self, role: Role) -> None:
        self._role = role
        self.fence: Fence | None = None
        self._items: tuple[tuple[int, int], ...] = ()  # of each open item: its indent, and the column of its text
        self._table: tuple[str, ...] = ()

    def read(self, line: str) -> list[Row | Table]:
        """Return the rows that are complete with this line."""
        held = self._table
        if not held:
            return self._read(line)
        if len(held) == 1 and len(alignments(line)) != len(cells_of(held[0])):
            return [*self.end(), *self._read(line)]
        if len(held) > 1 and not cells_of(line):
            return [*self.end(), *self._read(line)]
        self._table = (*held, line)
        if len(held) <= MAX_TABLE_ROWS:
            return []
        full = self.end()
        self._table = held[:2]
        return full

    def end(self) -> list[Row | Table]:
        """Return the rows that have been waiting for the end of a table."""
        lines, self._table = self._table, ()
        match lines:
            case ():
                return []
            case (line,):
                return [self._text(line)]
        self._items = ()
        header, _, *body = map(cells_of, lines)
        filled = [[*cells, *[""] * len(header)][: len(header)] for cells in body]
        return [Table(self._cells(header), tuple(map(self._cells, filled)), alignments(lines[1]))]

    def rest(self, unfinished: str) -> list[Row | Table]:
        """Return the rows of what may still change: an open table, and a line that is not finished."""
        twin = copy(self)
        return [*(twin.read(unfinished) if unfinished else ()), *twin.end()]

    def closes(self, line: str) -> bool:
        """Return whether a line ends the block of code that is open."""
        mark = _FENCE.fullmatch(line) if self.fence else None
        return mark is not None and mark["mark"].startswith(self.fence.mark) and not mark["info"].strip()  # type: ignore[union-attr]  # there is one if there is a mark

    def _read(self, line: str) -> list[Row | Table]:
        if self.closes(line):
            self.fence = None
            return []
        if self.fence:
            return [self._code(line, self.fence)]
        mark, indent = _FENCE.fullmatch(line), _indent_of(line)
        if mark and (indent <= _MAX_BLOCK_INDENT or self._items):
            column = self._enclosing_column(indent) + _CODE_INDENT
            self.fence = Fence(mark["mark"], indent, column, _LANGUAGE.match(mark["info"])["name"])  # type: ignore[index]  # it matches every text
            return []
        if cells_of(line) and not any(kind.fullmatch(line) for kind in (_HEADING, _QUOTE, _BULLET, _NUMBER)):
            self._table = (line,)
            return []
        return [self._text(line)]

    def _code(self, line: str, fence: Fence) -> Row:
        margin = min(fence.indent, len(line) - len(line.lstrip(" ")))
        return Row((Span(line[margin:], self._role),), (Span(" " * fence.column),), wide=True)

    def _text(self, line: str) -> Row:
        if not line.strip():
            return Row()
        role, indent = self._role, _indent_of(line)
        if found := _HEADING.fullmatch(line):
            row = Row((Span(_inline(found["text"]), Role.ACCENT, bold=True),))
        elif _is_rule(line):
            row = Row((_RULE,))
        elif found := _QUOTE.fullmatch(line):
            row = Row((Span(_inline(found["text"]), role, italic=True),), (_BAR,), repeats=True)
        elif found := _BULLET.fullmatch(line):
            column = self._enclosing_column(indent)
            return self._item(found["text"], indent, column, _BOXES.get(found["box"]) or self._bullet())
        elif found := _NUMBER.fullmatch(line):
            return self._item(found["text"], indent, self._enclosing_column(indent), f"{found['number']} ")
        elif column := self._enclosing_column(indent):
            return Row((Span(_inline(line.strip()), role),), (Span(" " * column),))
        else:
            return Row((Span(_inline(line), role),))
        self._items = ()
        return row

    def _item(self, text: str, indent: int, column: int, sign: str) -> Row:
        self._items = (*self._items, (indent, column + display_width(sign)))
        return Row((Span(_inline(text), self._role),), (Span(" " * column), Span(sign, Role.ACCENT)))

    def _bullet(self) -> str:
        return _BULLETS[len(self._items) % len(_BULLETS)]

    def _enclosing_column(self, indent: int) -> int:
        """Close the items that a line with this indent is not part of; return the column of the text of the last."""
        self._items = tuple(item for item in self._items if item[0] < indent)
        return self._items[-1][1] if self._items else 0

    def _cells(self, texts: Sequence[str]) -> tuple[Spans, ...]:
        return tuple((Span(_inline(text), self._role),) for text in texts)


def _indent_of(line: str) -> int:
    space = line[: len(line) - len(line.lstrip(" \t"))]
    return len(space.expandtabs(_TAB_STOP))


def _is_rule(line: str) -> bool:
    marks = line.replace(" ", "")
    return len(marks) >= _MIN_RULE_LENGTH and marks[0] in "-*_" and not marks.strip(marks[0])


def _inline(text: str, depth: int = 0) -> Spans:
    """The text with its inline markup; delimiters nested deeper than `_MAX_DEPTH` are shown literally."""
    if depth == _MAX_DEPTH:
        return (Span(text),)
    spans: list[Span] = []
    end = 0
    for found in _INLINE.finditer(text):
        if found.start() > end:
            spans.append(Span(text[end : found.start()]))
        spans += _marked(found, depth + 1)
        end = found.end()
    if end < len(text):
        spans.append(Span(text[end:]))
    return tuple(spans)


def _marked(found: re.Match[str], depth: int) -> Spans:
    match found.lastgroup:
        case "code":
            return (Span(found["code"], Role.ACCENT),)
        case "bold" | "bold_" as name:
            return (Span(_inline(found[name], depth), bold=True),)
        case "italic" | "italic_" as name:
            return (Span(_inline(found[name], depth), italic=True),)
        case "strike":
            return (Span(_inline(found["strike"], depth), strike=True),)
        case "url":
            return Span(_inline(found["label"], depth)), Span(f" ({found['url']})", Role.MUTED)
        case _:
            return (Span(found["literal"]),)
