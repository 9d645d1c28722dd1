"""Markdown as rows: the subset that models use in results. Every source line stays a line, tables excepted."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import accumulate

from tildone.base import replace, value
from tildone.plan.text import styles as theme
from tildone.plan.text.styles import Role, Span, clip_text, display_width, plain, wrap_text

Spans = tuple[Span, ...]


@value
class Row:
    """One or more lines.

    `lead` precedes the first line; the following lines are indented to its width or, if it `repeats`, preceded by it.
    `wide` text, such as code, is read in columns: it uses the whole width, where prose is kept narrow.
    """

    body: Spans = ()
    lead: Spans = ()
    repeats: bool = False
    wide: bool = False


@value
class Table:
    """A table. Every row has as many cells as the header; `aligns` has `<`, `>` or `^` for each column."""

    header: tuple[Spans, ...]
    body: tuple[tuple[Spans, ...], ...]
    aligns: str


Line = list[Span]
Safe = Callable[[str], str]

TAB = "   "


@value
class DrawnLine:
    """A line on a screen, and what it takes to copy its text.

    Its first `gutter` characters are layout. `joint` is the text that wrapping removed between the line before and
    this one; it is None for a line that is not the continuation of another.
    """

    spans: tuple[Span, ...] = ()
    gutter: int = 0
    joint: str | None = None

    @property
    def text(self) -> str:
        """The characters of the line."""
        return theme.plain(self.spans)


def fitted_row(row: Row, columns: int, safe: Safe) -> Iterator[DrawnLine]:
    """Yield the lines of a row, none wider than `columns`."""
    [lead] = lines_of(row.lead, safe)
    lines = lines_of(row.body, safe)
    lead_text = theme.plain(lead)
    lead_width = display_width(lead_text)
    if lead_width > columns // 2:
        # Too narrow for a hanging indent: the lead is wrapped like other text.
        for line in ([*lead, *lines[0]], *lines[1:]):
            yield from (DrawnLine(tuple(part), 0, joint) for part, joint in wrapped(line, columns))
        return
    following = lead if row.repeats else [Span(" " * lead_width)] if lead_width else []
    before, gutter = lead, len(lead_text) if row.repeats or not lead_text.strip() else 0
    for line in lines:
        for part, joint in wrapped(line, columns - lead_width):
            yield DrawnLine((*before, *part), gutter, joint)
            before, gutter = following, len(theme.plain(following))


def lines_of(spans: Iterable[Span], safe: Safe) -> list[Line]:
    """Return the lines of these spans, sanitized, with flattened styles; at least one."""
    lines: list[Line] = [[]]
    for text, style in _leaves(spans, Span("")):
        texts = text.replace("\r\n", "\n").split("\n") if style.lines else [text]
        for number, part in enumerate(texts):
            if number:
                lines.append([])
            shown = safe(part.replace("\t", TAB))
            if shown:
                lines[-1].append(_styled(shown, style))
    return lines


def wrapped(line: Line, columns: int) -> Iterator[tuple[Line, str | None]]:
    """Yield a line in parts of at most `columns`, each with the text removed before it; None for the first."""
    texts = [theme.plain((span,)) for span in line]
    whole = "".join(texts)
    if display_width(whole) <= columns:
        yield line, None
        return
    starts = list(accumulate(map(len, texts), initial=0))
    end, joint = 0, None
    for part in wrap_text(whole, columns):
        start = whole.index(part, end)
        joint = whole[end:start] if joint is not None else None
        end = start + len(part)
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end)
        spans = zip(texts[first:last], line[first:last], starts[first:last], strict=True)
        cut = [_styled(text[max(start - at, 0) : end - at], span) for text, span, at in spans]
        # Only a single character that is wider than the terminal can still be too wide.
        yield cut if display_width(part) <= columns else [_styled(clip_text(part, columns), cut[0])], joint
        joint = ""


def _leaves(spans: Iterable[Span], around: Span) -> Iterator[tuple[str, Span]]:
    """Every text with its effective style, inherited from enclosing spans."""
    for span in spans:
        style = Span(
            "",
            span.role or around.role,
            bold=span.bold or around.bold,
            italic=span.italic or around.italic,
            strike=span.strike or around.strike,
            lines=span.lines,
        )
        if isinstance(span.text, str):
            yield span.text, style
        else:
            yield from _leaves(span.text, style)


def _styled(text: str, style: Span) -> Span:
    return Span(text, style.role, bold=style.bold, italic=style.italic, strike=style.strike)


MIN_CELL_COLUMNS = 5
"""Columns that a cell needs. A table with less room is shown as a list."""

_EDGE = " │ "
_DASHES = re.compile(r":?-+:?")
_PIPE = re.compile(r"(?<!\\)\|")


def cells_of(line: str) -> list[str]:
    """Return the cells of a line of a table; none if the line has no pipe."""
    cells = _PIPE.split(line.strip())
    if len(cells) == 1:
        return []
    first, last = int(not cells[0]), len(cells) - int(not cells[-1])
    return [cell.strip().replace(r"\|", "|") for cell in cells[first:last]]


def alignments(line: str) -> str:
    """Return the alignment of each column of a table, if this is the line below a header; else an empty string."""
    cells = cells_of(line)
    if not all(map(_DASHES.fullmatch, cells)):
        return ""
    return "".join("^" if cell[0] == cell[-1] == ":" else ">" if cell[-1] == ":" else "<" for cell in cells)


def table_rows(table: Table) -> Iterator[Row]:
    """Yield a table with every cell on one line."""
    widths = _natural_widths(table)
    for cells in (_bold(table.header), None, *table.body):
        yield Row(tuple(_rule(widths) if cells is None else _joined(cells, widths, table.aligns)), wide=True)


def fitted_table(table: Table, columns: int, safe: Safe) -> Iterator[DrawnLine]:
    """Yield the lines of a table: its widest columns are wrapped; where that is not enough, it becomes a list."""
    sanitized = _sanitized(table, safe)
    widths = _fitting_widths(_natural_widths(sanitized), columns)
    if not widths:
        yield from _as_list(sanitized, columns, safe)
        return
    for cells in (_bold(sanitized.header), None, *sanitized.body):
        if cells is None:
            yield DrawnLine(tuple(_rule(widths)))
        else:
            yield from (DrawnLine(tuple(line)) for line in _wrapped_cells(cells, widths, table.aligns))


def _natural_widths(table: Table) -> list[int]:
    columns = zip(table.header, *table.body, strict=True)
    return [max(1, *(display_width(plain(cell)) for cell in column)) for column in columns]


def _fitting_widths(natural: Sequence[int], columns: int) -> list[int]:
    """The widths of the columns, of which the widest are made equally narrow; empty if they do not fit."""
    room = columns - len(_EDGE) * (len(natural) - 1)
    widths = list(natural)
    for done, width in enumerate(sorted(natural)):
        cap = room // (len(natural) - done)
        if width > cap:
            return [min(each, cap) for each in natural] if cap >= MIN_CELL_COLUMNS else []
        room -= width
    return widths


def _sanitized(table: Table, safe: Safe) -> Table:
    header, *body = [tuple(tuple(lines_of(cell, safe)[0]) for cell in row) for row in (table.header, *table.body)]
    return replace(table, header=header, body=tuple(body))


def _as_list(table: Table, columns: int, safe: Safe) -> Iterator[DrawnLine]:
    for number, cells in enumerate(table.body):
        if number:
            yield DrawnLine()
        for name, cell in zip(table.header, cells, strict=True):
            yield from fitted_row(Row(cell, (Span((*name, Span(": ")), Role.MUTED),)), columns, safe)


def _wrapped_cells(cells: Sequence[Spans], widths: Sequence[int], aligns: str) -> Iterator[Line]:
    parts = [[line for line, _ in wrapped([*cell], width)] for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, parts))):
        yield _joined([tuple(part[number]) if number < len(part) else () for part in parts], widths, aligns)


def _joined(cells: Sequence[Spans], widths: Sequence[int], aligns: str) -> Line:
    line: Line = []
    for number, (cell, width, align) in enumerate(zip(cells, widths, aligns, strict=True)):
        if number:
            line.append(Span(_EDGE, Role.DIM))
        room = width - display_width(plain(cell))
        before = {"<": 0, ">": room, "^": room // 2}[align]
        after = 0 if number == len(widths) - 1 else room - before
        line += [part for part in (Span(" " * before), *cell, Span(" " * after)) if part.text]
    return line


def _rule(widths: Sequence[int]) -> Line:
    return [Span("─┼─".join("─" * width for width in widths), Role.DIM)]


def _bold(cells: Sequence[Spans]) -> list[Spans]:
    return [tuple(replace(span, bold=True) for span in cell) for cell in cells]


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
