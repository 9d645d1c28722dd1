"""Drawing of components: wrapped to the terminal's width, with sanitized text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from unicodedata import category

from tildone.kit import theme
from tildone.kit.components import Component
from tildone.kit.components.layout import rows
from tildone.kit.components.row import Row
from tildone.kit.keys import DEFAULT_BINDINGS, KeyBindings
from tildone.kit.text import clip_text, display_width, wrap_text
from tildone.kit.theme import Span

Line = list[Span]

REPLACEMENT = "\ufffd"
TAB = "   "


def mask_unprintable(text: str) -> str:
    """Return the text with every unprintable character, line breaks included, replaced by U+FFFD."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or category(char) == "Zs" else REPLACEMENT for char in text)


def draw(
    component: Component,
    columns: int,
    *,
    safe: Callable[[str], str] = mask_unprintable,
    keys: KeyBindings = DEFAULT_BINDINGS,
) -> list[Line]:
    """Return the lines of a component, none wider than `columns`; no lines if `columns` is less than 1.

    `safe` sanitizes one line. It has been applied to all text of the result: applying it again could widen lines.
    """
    if columns < 1:
        return []
    return [line for row in rows(component, keys) for line in _fitted(row, columns, safe)]


def markup(component: Component, *, keys: KeyBindings = DEFAULT_BINDINGS) -> str:
    """Return the component with a tag for each style, one line per row; neither wrapped nor sanitized."""
    return "\n".join(theme.markup((*row.lead, *row.body)) for row in rows(component, keys))


def _fitted(row: Row, columns: int, safe: Callable[[str], str]) -> Iterator[Line]:
    [lead] = _lines(row.lead, safe)
    lines = _lines(row.body, safe)
    lead_width = display_width(theme.plain(lead))
    if lead_width > columns // 2:
        # Too narrow for a hanging indent: the lead is wrapped like other text.
        yield from _wrapped([*lead, *lines[0]], columns)
        for line in lines[1:]:
            yield from _wrapped(line, columns)
        return
    following = lead if row.repeats else [Span(" " * lead_width)] if lead_width else []
    before = lead
    for line in lines:
        for part in _wrapped(line, columns - lead_width):
            yield [*before, *part]
            before = following


def _lines(spans: Iterable[Span], safe: Callable[[str], str]) -> list[Line]:
    """The lines of these spans, sanitized, with flattened styles; at least one."""
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


def _wrapped(line: Line, columns: int) -> Iterator[Line]:
    texts = [theme.plain((span,)) for span in line]
    starts = list(accumulate(map(len, texts), initial=0))
    whole = "".join(texts)
    end = 0
    for part in wrap_text(whole, columns):
        start = whole.index(part, end)
        end = start + len(part)
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end)
        spans = zip(texts[first:last], line[first:last], starts[first:last], strict=True)
        cut = [_styled(text[max(start - at, 0) : end - at], span) for text, span, at in spans]
        # Only a single character that is wider than the terminal can still be too wide.
        yield cut if display_width(part) <= columns else [_styled(clip_text(part, columns), cut[0])]


def _styled(text: str, style: Span) -> Span:
    return Span(text, style.role, bold=style.bold, italic=style.italic, strike=style.strike)
