"""The lines of a block for a width, drawn by the components that plain output uses."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import pairwise
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tildone.base import replace, value
from tildone.base.keys import EXPAND, PAGER, THINKING, KeyBindings, key_of
from tildone.plan.text.amounts import format_count, stopwatch
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, Styled, display_width, plain, spans_of
from tildone.run.kit.components import Component, KeyHint, RenderOptions, Text, rows
from tildone.run.kit.definition import ToolResult, fitted
from tildone.run.kit.drawing import TAB, DrawnLine, Fence, MarkdownReader, Row, Safe, Table, fitted_row
from tildone.run.rendering import CallRow
from tildone.screens.widgets.keys import Palette


class CallState(Enum):
    RUNNING = "running"
    ASKING = "asking"
    """The call waits for an answer of the person."""

    DONE = "done"
    FAILED = "failed"


@value
class PersonMessage:
    text: str


@value
class AnswerBlock:
    """What the model answered, as Markdown. While it is streamed, `TranscriptPane.append_text` adds to it."""

    text: str = ""


@value
class Thinking:
    """What the model thought. It is folded unless the person shows thinking."""

    text: str = ""


@value
class CallBlock:
    """A call of a tool. While it runs, `result` is the partial one and `since` the time at which it began, in seconds.

    `seconds` is how long it took, without the time in which it waited for the person; None if that is not known.
    `path` is the file that it is about, as it was given. With `expanded`, it is not folded at first.
    """

    view: CallRow
    result: ToolResult = ToolResult((), {})
    state: CallState = CallState.RUNNING
    since: float | None = None
    seconds: float | None = None
    path: str = ""
    expanded: bool = False

    @property
    def is_open(self) -> bool:
        return self.state in (CallState.RUNNING, CallState.ASKING)


@value
class Separator:
    """A line across the transcript, such as `told to go on (1 of 20)`."""

    words: str


@value
class Remark:
    """Anything else that is said in the conversation: a component of an extension, or of the host."""

    component: Component


@value
class Offer:
    key: str
    words: str


@value
class NoticeBlock:
    """An error or a warning, where it happened, with the keys that are offered while it is the last block.

    An `aside` that changes by itself is a function of the time in seconds.
    """

    text: str
    aside: Styled | Callable[[float], str] = ""
    details: tuple[str, ...] = ()
    offers: tuple[Offer, ...] = ()
    role: Role = Role.ERROR

    @property
    def sign(self) -> str:
        return "✗" if self.role is Role.ERROR else "!"


DrawnAtOnce = PersonMessage | CallBlock | Separator | Remark | NoticeBlock
Block = DrawnAtOnce | AnswerBlock | Thinking


def source_text(block: Block) -> str:
    """Return the text of a block as it was written, without layout."""
    match block:
        case PersonMessage(text) | AnswerBlock(text) | Thinking(text) | NoticeBlock(text):
            return text
        case CallBlock():
            return block.result.text
        case Separator(words):
            return words
        case Remark():
            return ""


MAX_AT_ONCE = 4_096
"""Characters of code that are coloured at once; more than that, in a thread."""

MAX_CODE = 262_144
"""Characters of a block of code that is coloured."""

MAX_KNOWN = 512
"""Blocks of code whose colours are kept for another width."""

CodeLine = tuple[Span, ...]

# The first that a kind of token is part of: few colours, which can be told apart in every theme.
_ROLES = (
    ("Token.Comment", Role.DIM),
    ("Token.Keyword.Constant", Role.WARNING),
    ("Token.Keyword", Role.ACCENT),
    ("Token.Operator.Word", Role.ACCENT),
    ("Token.Name.Tag", Role.ACCENT),
    ("Token.Name.Decorator", Role.WARNING),
    ("Token.Literal.String", Role.SUCCESS),
    ("Token.Literal.Number", Role.WARNING),
    ("Token.Generic.Deleted", Role.ERROR),
    ("Token.Generic.Inserted", Role.SUCCESS),
    ("Token.Generic.Heading", Role.ACCENT),
    ("Token.Generic.Subheading", Role.ACCENT),
    ("Token.Generic.Prompt", Role.DIM),
    ("Token.Generic.Output", Role.MUTED),
)


class CodeColors:
    """The lines of blocks of code with their colours, by language and text. None is a block without colours."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[CodeLine, ...] | None] = {}
        self.loaded: set[str] = set()
        """Languages whose code has been coloured: the first time, much has to be imported."""

    def is_known(self, language: str, code: str) -> bool:
        return (language, code) in self._known

    def lines(self, language: str, code: str) -> tuple[CodeLine, ...] | None:
        """Return the lines of some code, which is printable. It may be called in a thread."""
        if (language, code) not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known = {}
            self._known[language, code] = _colored(language, code) if len(code) <= MAX_CODE else None
            self.loaded.add(language)
        return self._known.get((language, code))


def _colored(language: str, code: str) -> tuple[CodeLine, ...] | None:
    lines: list[list[Span]] = [[]]
    text = f"{code}\n"  # lexers expect that each line ends
    try:
        lexer = _lexer(language)
        # Not `get_tokens`, which changes the text.
        tokens = [(_role(kind), part) for _, kind, part in lexer.get_tokens_unprocessed(text)] if lexer else []
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None  # a lexer may fail on text that it was not made for
    if "".join(part for _, part in tokens) != text:
        return None
    for role, token in tokens:
        for number, part in enumerate(token.split("\n")):
            if number:
                lines.append([])
            if part and lines[-1] and lines[-1][-1].role is role:
                lines[-1][-1] = Span(f"{lines[-1][-1].text}{part}", role)
            elif part:
                lines[-1].append(Span(part, role))
    return tuple(map(tuple, lines[:-1]))


@cache
def _lexer(language: str) -> Any:
    """The lexer of a language; None if there is none. Plugins, which are code of others, are not looked for."""
    from pygments.lexers import find_lexer_class, get_all_lexers  # type: ignore[import-untyped]  # noqa: PLC0415  see the module

    wanted = language.lower()
    for name, aliases, _, _ in get_all_lexers(plugins=False):
        if wanted in aliases:
            found = find_lexer_class(name)
            return found() if found else None
    return None


@cache
def _role(kind: Any) -> Role:
    name = f"{kind}."
    return next((role for prefix, role in _ROLES if name.startswith(f"{prefix}.")), Role.TEXT)


PROSE_COLUMNS = 100
"""Columns that prose is wrapped at, however wide the screen is."""

LONG_LINE, LONG_LINE_GROWTH = 4_096, 1.125
"""A line without an end that is longer is drawn again only when it has grown by so much, or is finished."""


CHUNK_ROWS = 100
"""Rows that are fitted to another width together."""

Refitted = tuple[int, list[DrawnLine], list[DrawnLine]]
"""The number of a line, the lines that were there, and those that replace them."""


@value
class CodeBlock:
    language: str
    code: str
    rows: tuple[Row, ...]
    first: int
    end: int


class StreamedMarkdown:
    """The lines of a text for a number of columns, without empty ones at its beginning and end.

    The first `complete` lines do not change any more, except for the colours of code. `changed` is the first line that
    the last piece has changed. `drawn` counts the lines that were drawn, so that a test can tell that complete ones are
    not drawn again. `waiting` are the blocks of code that have no colours yet.

    For another width, the rows that were read are fitted again, by and by: until then, the lines are the old ones.
    """

    def __init__(self, columns: int, role: Role, colors: CodeColors | None = None) -> None:
        self.lines: list[DrawnLine] = []
        self.drawn = self.complete = self.changed = 0
        self.waiting: list[CodeBlock] = []
        self._columns = columns
        self._reader = MarkdownReader(role)
        self._rows: list[tuple[Row | Table, Safe]] = []
        self._counts: list[int] = []  # how many lines each row has
        self._empty: list[Row | Table] = []
        self._stale: set[int] = set()  # the chunks of rows that are fitted to another width
        self._colors = colors
        self._code: list[Row] = []
        self._code_start = self._at_once = 0
        self._unfinished, self._shown = "", 0

    def feed(self, piece: str) -> None:
        *complete, self._unfinished = (self._unfinished + piece).split("\n")
        self.changed, self._at_once = self.complete, MAX_AT_ONCE
        if complete:
            del self.lines[self.complete :]
            for line in complete:
                self._read(line.removesuffix("\r"))
            self._shown = 0
        if len(self._unfinished) <= LONG_LINE or len(self._unfinished) > self._shown * LONG_LINE_GROWTH:
            self.draw_rest()

    def draw_rest(self) -> None:
        """Draw the unfinished line as far as it has arrived."""
        del self.lines[self.complete :]
        self._shown = len(self._unfinished)
        rows = [(row, self._fitted(row)) for row in self._reader.rest(self._unfinished.removesuffix("\r"))]
        filled = [at for at, (_, lines) in enumerate(rows) if _not_empty(lines)]
        if filled:
            before = [line for row in self._empty for line in self._fitted(row)]
            shown = rows[0 if self._rows else filled[0] : filled[-1] + 1]
            self.lines += (*before, *(line for _, lines in shown for line in lines))

    def finish(self) -> None:
        """Draw all of it: nothing will follow."""
        if self._shown != len(self._unfinished):
            self.draw_rest()
        fence = self._reader.fence
        if fence and self._reader.closes(self._unfinished.removesuffix("\r")):
            self._closed(fence)

    @property
    def is_stale(self) -> bool:
        """Whether there are lines for another width."""
        return bool(self._stale)

    def resize(self, columns: int) -> None:
        """Use another width. `refit` draws the lines for it."""
        self._columns = columns
        self._stale = set(range(-(-len(self._rows) // CHUNK_ROWS)))
        self.draw_rest()

    def refit(self, first: int = 0, end: int = sys.maxsize) -> Refitted | None:
        """Draw the last old lines among these for the new width; None if there are none."""
        stop = self.complete
        for chunk in range(-(-len(self._rows) // CHUNK_ROWS) - 1, -1, -1):
            rows = chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS
            start = stop - sum(self._counts[slice(*rows)])
            if chunk in self._stale and start < end and stop > first:
                self._stale.discard(chunk)
                old, after = self.lines[start:stop], len(self.lines) - stop
                self._refit(*rows)
                return start, old, self.lines[start : len(self.lines) - after]
            stop = start
        return None

    def color(self, block: CodeBlock) -> None:
        """Give the lines of a block of code their colours, unless the block has none."""
        colored = self._colors.lines(block.language, block.code) if self._colors else None
        if colored is None:
            return
        rows = {id(row): replace(row, body=line) for row, line in zip(block.rows, colored, strict=True)}
        for number in range(block.first, block.end):
            if id(self._rows[number][0]) in rows:
                # The text is printable already: what a character means may depend on its neighbours in another span.
                self._rows[number] = rows[id(self._rows[number][0])], str
        for start in range(block.first - block.first % CHUNK_ROWS, block.end, CHUNK_ROWS):
            if start // CHUNK_ROWS not in self._stale:
                first, end = max(start, block.first), min(start + CHUNK_ROWS, block.end)
                self.changed = min(self.changed, self._refit(first, end))

    def _refit(self, first: int, end: int) -> int:
        """Draw these rows again, and return the first line of them."""
        start = sum(self._counts[:first])
        stop = start + sum(self._counts[first:end])
        drawn = [self._fitted(row, safe) for row, safe in self._rows[first:end]]
        self._counts[first:end] = map(len, drawn)
        self.lines[start:stop] = [line for lines in drawn for line in lines]
        self.complete += sum(map(len, drawn)) - (stop - start)
        return start

    def _read(self, line: str) -> None:
        fence = self._reader.fence
        rows = self._reader.read(line)
        for row in rows:
            lines = self._fitted(row)
            if _not_empty(lines):
                for empty in self._empty:
                    self._append(empty, self._fitted(empty))
                self._empty = []
                self._append(row, lines)
            elif self._rows:
                self._empty.append(row)
        if fence is None:
            self._code, self._code_start = [], len(self._rows)
        elif self._reader.fence is fence:
            self._code += [row for row in rows if isinstance(row, Row)]
        else:
            self._closed(fence)

    def _closed(self, fence: Fence) -> None:
        """Colour a block of code, or let it wait."""
        if self._colors is None or not fence.language:
            return
        code = "\n".join(printable(plain(row.body).replace("\t", TAB)) for row in self._code)
        block = CodeBlock(fence.language, code, tuple(self._code), self._code_start, len(self._rows))
        is_known = self._colors.is_known(block.language, code)
        self._at_once -= 0 if is_known else len(code)
        if is_known or (self._at_once >= 0 and block.language in self._colors.loaded):
            self.color(block)
        else:
            self.waiting.append(block)

    def _append(self, row: Row | Table, lines: list[DrawnLine]) -> None:
        self._rows.append((row, printable))
        self._counts.append(len(lines))
        self.lines += lines
        self.complete = len(self.lines)

    def _fitted(self, row: Row | Table, safe: Safe = printable) -> list[DrawnLine]:
        lines = [*fitted((row,), self._columns, safe=safe, prose_columns=PROSE_COLUMNS)]
        self.drawn += len(lines)
        return lines


PREVIEW_LINES = 8
"""Lines shown of a folded message of a person."""

RUNNING_LINES = 5
"""Lines shown of the output of a running call: the last ones."""

MAX_EXPANDED_LINES = 2_000
"""Lines of a result that are shown in place. A longer one is for a pager."""

MIN_COLUMNS = 8
INDENT = Span("  ")
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@value
class Look:
    """How a block is drawn: its width, whether it is expanded, the keys of the screen, and the time in seconds."""

    columns: int
    keys: KeyBindings
    expanded: bool = False
    now: float = 0.0

    @property
    def frame(self) -> str:
        """The sign of work in progress at this time; it changes four times a second."""
        return FRAMES[int(self.now * 4) % len(FRAMES)]


def block_lines(block: DrawnAtOnce, look: Look) -> list[DrawnLine]:
    match block:
        case PersonMessage(text):
            row = Row((Span(text.strip(), Role.TEXT, bold=True, lines=True),), (Span("❯ ", Role.ACCENT, bold=True),))
            first, *others = fitted_row(row, max(min(look.columns, PROSE_COLUMNS), MIN_COLUMNS), printable)
            lines = [DrawnLine(first.spans, len("❯ ")), *others]
            hidden = len(lines) - PREVIEW_LINES
            if look.expanded or hidden <= 1:
                return lines
            more = Text((Span(f"… {format_count(hidden, 'more line')} · ", Role.DIM),))
            hint = _lines(KeyHint(EXPAND, "to expand"), look)
            spans = (INDENT, *_lines(more, look)[0].spans, *(hint[0].spans if hint else ()))
            return [*lines[:PREVIEW_LINES], DrawnLine(spans, len("  "))]
        case CallBlock():
            return [*header_lines(block, look), *_result_lines(block, look)]
        case Separator(words):
            text = f"── {printable(words)} "
            rule = "─" * max(2, min(look.columns, PROSE_COLUMNS) - display_width(text))
            return [DrawnLine((Span(text, Role.MUTED), Span(rule, Role.DIM)))]
        case Remark(component):
            return _lines(component, look)
        case NoticeBlock():
            return _notice_lines(block, look)


def header_lines(call: CallBlock, look: Look) -> list[DrawnLine]:
    """Return the lines of a call above its result: a click on them folds it."""
    if call.view.is_merged and not call.is_open:
        return []
    header = _lines(call.view.header(_options(call, look), call.result), look, prose_columns=None)
    is_told = call.state is CallState.DONE and call.view.tells and call.result.told
    status = () if is_told else _status(call, look)
    if header and status and display_width(header[0].text) + display_width(plain(status)) <= look.columns:
        header[0] = DrawnLine((*header[0].spans, *status))
    elif status:
        header.append(DrawnLine((INDENT, *status[1:]), len("  ")))
    return header


def _options(call: CallBlock, look: Look) -> RenderOptions:
    expanded = look.expanded and (call.is_open or not is_too_long(call))
    return RenderOptions(
        expanded=expanded,
        is_partial=call.is_open,
        is_error=call.result.is_error,
        is_timed=call.seconds is not None,
    )


def is_too_long(call: CallBlock) -> bool:
    """Return whether the result of a call has too many lines to be expanded in place."""
    return call.result.text.count("\n") >= MAX_EXPANDED_LINES


def _status(call: CallBlock, look: Look) -> tuple[Span, ...]:
    """The sign and the time behind a call, after a space; empty if neither is known."""
    match call.state:
        case CallState.RUNNING:
            passed = "" if call.since is None else f" {stopwatch(look.now - call.since)}"
            return Span(" "), Span(f"{look.frame}{passed}", Role.ACCENT)
        case CallState.ASKING:
            return Span(" "), Span("? asks you", Role.WARNING)
        case CallState.DONE if call.seconds is None:
            return ()
        case _:
            sign = Span("✗", Role.ERROR) if call.state is CallState.FAILED else Span("✓", Role.SUCCESS)
            return Span(" "), sign, Span(_took(call.seconds), Role.DIM)


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds >= 60:  # noqa: PLR2004  a minute
        return f" {stopwatch(seconds)}"
    return f" {seconds:.1f} s" if seconds < 10 else f" {seconds:.0f} s"  # noqa: PLR2004  tenths matter below it


def _result_lines(call: CallBlock, look: Look) -> list[DrawnLine]:
    if call.state is CallState.ASKING:
        return []
    if call.view.is_merged:
        return [] if call.is_open else _not_empty(_lines(call.view.result(call.result, _options(call, look)), look))
    shown = _below(call.view.result(call.result, _options(call, look)), look)
    if call.state is CallState.RUNNING:
        return [*shown, *_below(Text(_last_lines(call.result.text), Role.TOOL_OUTPUT), look)]
    if look.expanded and is_too_long(call):
        count = format_count(call.result.text.count("\n") + 1, "line")
        shown += _below(Text(f"{count} · {key_of(PAGER, look.keys)} opens them in a pager", Role.MUTED), look)
    return shown


def _last_lines(text: str) -> str:
    """The last lines of some output. Of a line that was written over and over, its last state."""
    lines = text.rstrip("\r\n").rsplit("\n", RUNNING_LINES)[-RUNNING_LINES:]
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


def _below(component: Component, look: Look) -> list[DrawnLine]:
    """The lines of a result below the line of its call: indented, without empty ones."""
    lines = _lines(component, look, columns=look.columns - len("  "), prose_columns=None)
    return [DrawnLine((INDENT, *line.spans), line.gutter + len("  "), line.joint) for line in _not_empty(lines)]


def _not_empty(lines: Iterable[DrawnLine]) -> list[DrawnLine]:
    return [line for line in lines if line.text.strip()]


def folded_thinking(text: str, look: Look) -> DrawnLine:
    hint = _lines(KeyHint(THINKING, "to show"), look)
    count = text.strip().count("\n") + 1
    words = Span(f"Thinking · {format_count(count, 'line')}", Role.DIM, italic=True)
    return DrawnLine((words, *((Span(" · ", Role.DIM), *hint[0].spans) if hint else ())))


def _notice_lines(notice: NoticeBlock, look: Look) -> list[DrawnLine]:
    said = notice.aside(look.now) if callable(notice.aside) else notice.aside
    aside = (Span(" "), Span(spans_of(said), Role.MUTED)) if said else ()
    title = Row((Span(notice.text, notice.role), *aside), (Span(f"{notice.sign} ", notice.role, bold=True),))
    below = [Row((Span(detail, Role.MUTED),), (INDENT,)) for detail in notice.details]
    columns = max(look.columns, MIN_COLUMNS)
    laid_out = (title, *below, *_offer_rows(notice.offers, min(columns, PROSE_COLUMNS) - len("  ")))
    return [*fitted(laid_out, columns, safe=printable, prose_columns=PROSE_COLUMNS)]


def _offer_rows(offers: Iterable[Offer], columns: int) -> Iterator[Row]:
    """The keys that are offered, as many on a line as fit."""
    line: tuple[Span, ...] = ()
    for offer in offers:
        words = Span(offer.key, bold=True), Span(f" {offer.words}", Role.MUTED)
        longer = (*line, Span("   "), *words) if line else words
        if line and display_width(plain(longer)) > columns:
            yield Row(line, (INDENT,))
            longer = words
        line = longer
    if line:
        yield Row(line, (INDENT,))


def _lines(
    component: Component, look: Look, *, columns: int | None = None, prose_columns: int | None = PROSE_COLUMNS
) -> list[DrawnLine]:
    width = max(look.columns if columns is None else columns, MIN_COLUMNS)
    return [*fitted(rows(component, look.keys), width, safe=printable, prose_columns=prose_columns)]


CALL_ROWS = 3
"""The estimated rows of a folded call."""


class BlockEntry:
    """A block in the document. `lines` is None until it is drawn; `is_open` is a text that is streamed."""

    def __init__(self, number: int, block: Block, *, expanded: bool) -> None:
        self.id = number
        self.block = block
        self.expanded = expanded
        self.lines: list[DrawnLine] | None = None
        self.pieces: list[str] = []
        self.pending: list[str] = []
        self.stream: StreamedMarkdown | None = None
        self.rows = self.gap = 0
        self.is_open = False

    @property
    def text(self) -> str:
        return source_text(self.block) + "".join(self.pieces) + "".join(self.pending)


def estimated_rows(entry: BlockEntry, columns: int) -> int:
    """Return about how many rows a block takes."""
    match entry.block:
        case Thinking() if not entry.expanded:
            return 1
        case CallBlock() if not entry.expanded:
            return CALL_ROWS
    text = entry.text
    rows = text.count("\n") + 1 + len(text) // max(1, min(columns, PROSE_COLUMNS))
    return min(rows, PREVIEW_LINES) if isinstance(entry.block, PersonMessage) else rows


def gap_above(before: BlockEntry | None, entry: BlockEntry) -> int:
    """Return how many empty rows are above a block: calls follow each other without one."""
    if before is None or not entry.rows:
        return 0
    return 0 if isinstance(before.block, CallBlock) and isinstance(entry.block, CallBlock) else 1


PADDING = 2
"""Columns left of a line: the first is for the cursor's mark."""

CURSOR = "▎"


class Highlight(Enum):
    """Why characters are marked."""

    SELECTED = "selected"
    FOUND = "found"
    CURRENT = "current"


Highlighted = tuple[int, int, Highlight]


def line_strip(
    spans: Sequence[Span], width: int, palette: Palette, *, cursor: bool = False, marked: Sequence[Highlighted] = ()
) -> Strip:
    """Return a line, whose text is printable already, as a row of cells."""
    ground = palette.style(None, palette.background)
    margin = Segment(CURSOR if cursor else " ", palette.style(Role.ACCENT, palette.background))
    segments = [margin, Segment(" " * (PADDING - 1), ground), *_segments(spans, palette, marked)]
    return Strip(segments).adjust_cell_length(width, ground)


def _segments(spans: Sequence[Span], palette: Palette, marked: Sequence[Highlighted]) -> Iterator[Segment]:
    at = 0
    for span in spans:
        text = plain((span,))
        edges = {min(max(edge - at, 0), len(text)) for start, end, _ in marked for edge in (start, end)}
        for start, end in pairwise(sorted({0, len(text), *edges})):
            yield Segment(
                text[start:end], _style(span, [mark for mark in marked if mark[0] <= at + start < mark[1]], palette)
            )
        at += len(text)


def _style(span: Span, marked: Sequence[Highlighted], palette: Palette) -> Style:
    # What a program has written is less important than what was said.
    role, background = Role.MUTED if span.role is Role.TOOL_OUTPUT else span.role, palette.background
    found = Style()
    for _, _, mark in marked:
        match mark:
            case Highlight.SELECTED:
                background = palette.selected
            case Highlight.FOUND:
                role, found = Role.WARNING, Style(reverse=True)
            case Highlight.CURRENT:
                role, found = Role.ACCENT, Style(reverse=True)
    shape = Style(bold=span.bold, italic=span.italic, strike=span.strike)
    return palette.style(role, background) + shape + found
