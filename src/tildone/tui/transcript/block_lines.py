"""The lines of a block for a width, drawn by the components that plain output uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tildone.kit.components import Component, KeyHint, RenderOptions, Text
from tildone.kit.components.drawing import fitted
from tildone.kit.components.fitting import DrawnLine, fitted_row
from tildone.kit.components.layout import rows
from tildone.kit.components.row import Row
from tildone.kit.formatting import format_count
from tildone.kit.keys import EXPAND, PAGER, THINKING, KeyBindings, key_of
from tildone.kit.text import display_width
from tildone.kit.theme import Role, Span, plain, spans_of
from tildone.tui.transcript.blocks import (
    AnswerBlock,
    Block,
    CallBlock,
    CallState,
    NoticeBlock,
    Offer,
    PersonMessage,
    Remark,
    Separator,
    Thinking,
)
from tildone.tui.transcript.streamed import PROSE_COLUMNS, StreamedMarkdown
from tildone.value import value
from tildone.views.amounts import stopwatch
from tildone.views.sanitize import printable

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


def block_lines(block: Block, look: Look) -> list[DrawnLine]:
    match block:
        case PersonMessage(text):
            return _message_lines(text, look)
        case AnswerBlock(text):
            return markdown_lines(text, look.columns, Role.TEXT)
        case Thinking(text):
            return _thinking_lines(text, look)
        case CallBlock():
            return [*header_lines(block, look), *_result_lines(block, look)]
        case Separator(words):
            return [_separator(words, look.columns)]
        case Remark(component):
            return _lines(component, look)
        case NoticeBlock():
            return _notice_lines(block, look)


def markdown_lines(text: str, columns: int, role: Role) -> list[DrawnLine]:
    stream = StreamedMarkdown(max(columns, MIN_COLUMNS), role)
    stream.feed(text)
    return stream.lines


def header_lines(call: CallBlock, look: Look) -> list[DrawnLine]:
    """Return the lines of a call above its result: a click on them folds it."""
    if call.view.is_merged and call.state is not CallState.RUNNING:
        return []
    header = _lines(call.view.header(_options(call, look)), look, prose_columns=None)
    status = _status(call, look)
    if header and status and display_width(header[0].text) + display_width(plain(status)) <= look.columns:
        header[0] = DrawnLine((*header[0].spans, *status))
    elif status:
        header.append(DrawnLine((INDENT, *status[1:]), len("  ")))
    return header


def _options(call: CallBlock, look: Look) -> RenderOptions:
    is_partial = call.state is CallState.RUNNING
    expanded = look.expanded and (is_partial or not is_too_long(call))
    return RenderOptions(expanded=expanded, is_partial=is_partial, is_error=call.result.is_error)


def is_too_long(call: CallBlock) -> bool:
    """Return whether the result of a call has too many lines to be expanded in place."""
    return call.result.text.count("\n") >= MAX_EXPANDED_LINES


def _status(call: CallBlock, look: Look) -> tuple[Span, ...]:
    """The sign and the time behind a call, after a space; empty if neither is known."""
    match call.state:
        case CallState.RUNNING:
            passed = "" if call.since is None else f" {stopwatch(look.now - call.since)}"
            return Span(" "), Span(f"{look.frame}{passed}", Role.ACCENT)
        case CallState.FAILED:
            return Span(" "), Span("✗", Role.ERROR), Span(_took(call.seconds), Role.DIM)
        case CallState.DONE:
            if call.seconds is None:
                return ()
            return Span(" "), Span("✓", Role.SUCCESS), Span(_took(call.seconds), Role.DIM)


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds >= 60:  # noqa: PLR2004  a minute
        return f" {stopwatch(seconds)}"
    return f" {seconds:.1f} s" if seconds < 10 else f" {seconds:.0f} s"  # noqa: PLR2004  tenths matter below it


def _result_lines(call: CallBlock, look: Look) -> list[DrawnLine]:
    if call.view.is_merged:
        is_running = call.state is CallState.RUNNING
        return [] if is_running else _not_empty(_lines(call.view.result(call.result, _options(call, look)), look))
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


def _message_lines(text: str, look: Look) -> list[DrawnLine]:
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


def _thinking_lines(text: str, look: Look) -> list[DrawnLine]:
    if look.expanded:
        return markdown_lines(text, look.columns, Role.MUTED)
    return [folded_thinking(text.strip().count("\n") + 1, look)]


def folded_thinking(lines: int, look: Look) -> DrawnLine:
    """Return the line that stands for a thought."""
    hint = _lines(KeyHint(THINKING, "to show"), look)
    words = Span(f"Thinking · {format_count(lines, 'line')}", Role.DIM, italic=True)
    return DrawnLine((words, *((Span(" · ", Role.DIM), *hint[0].spans) if hint else ())))


def _separator(words: str, columns: int) -> DrawnLine:
    text = f"── {printable(words)} "
    rule = "─" * max(2, min(columns, PROSE_COLUMNS) - display_width(text))
    return DrawnLine((Span(text, Role.MUTED), Span(rule, Role.DIM)))


def _notice_lines(notice: NoticeBlock, look: Look) -> list[DrawnLine]:
    aside = (Span(" "), Span(spans_of(notice.aside), Role.MUTED)) if notice.aside else ()
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
