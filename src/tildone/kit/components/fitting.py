"""Rows fitted to the width of a screen: wrapped, with sanitized text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from tildone.kit import theme
from tildone.kit.components.row import Row
from tildone.kit.text import clip_text, display_width, wrap_text
from tildone.kit.theme import Span
from tildone.value import value

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
