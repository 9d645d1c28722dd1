"""Styled text: how wide it is, spans with semantic roles, how they are drawn, and lines that are cut to a width."""

from __future__ import annotations

from enum import Enum
from unicodedata import category, east_asian_width

from tildone.base import TYPE_CHECKING, replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


ELLIPSIS = "…"

_WIDE = "WF"
_ZERO_WIDTH = {"Mn", "Me", "Cf"}
_EMOJI_SELECTOR = "\ufe0f"
_JOINER = "\u200d"


def display_width(text: str) -> int:
    """Return the maximum number of columns that a line of text takes.

    Terminals differ on joined emoji; this assumes one that draws every part.
    """
    return len(text) if text.isascii() else sum(map(_char_width, text))


def clip_text(text: str, columns: int) -> str:
    """Return the text or, if it is wider than `columns`, as much as fits, followed by an ellipsis."""
    if _fitting(text, columns) == len(text):
        return text
    if columns < 1:
        return ""
    return text[: _fitting(text, columns - 1)].rstrip(f" {_JOINER}") + ELLIPSIS


def wrap_text(text: str, columns: int) -> list[str]:
    """Return the text as lines of at most `columns`, broken at spaces where possible; always at least one line.

    A single character that is wider than `columns` gets a line of its own.
    """
    lines = []
    while (fitting := _fitting(text, columns)) < len(text):
        end = max(fitting, 1)
        line, space, _ = text[: end + 1].rpartition(" ")
        if not line.strip():
            line, space = text[:end], ""
        lines.append(line)
        text = text[len(line) + len(space) :]
    return [*lines, text] if text or not lines else lines


def _fitting(text: str, columns: int) -> int:
    if text.isascii():
        return min(len(text), max(0, columns))
    used = 0
    for count, char in enumerate(text):
        used += _char_width(char)
        if used > columns:
            return count
    return len(text)


def _char_width(char: str) -> int:
    if char.isascii() or char == _EMOJI_SELECTOR:
        return 1
    if category(char) in _ZERO_WIDTH:
        return 0
    return 2 if east_asian_width(char) in _WIDE else 1


class Role(Enum):
    TOOL_TITLE = "toolTitle"
    TOOL_OUTPUT = "toolOutput"
    ACCENT = "accent"
    MUTED = "muted"
    DIM = "dim"
    TEXT = "text"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


_COLOR_CODES = {
    Role.ACCENT: ("36",),
    # Faint, not bright black: that is the colour of the background in some themes of terminals, such as Solarized.
    Role.MUTED: ("2",),
    Role.DIM: ("2",),
    Role.SUCCESS: ("32",),
    Role.WARNING: ("33",),
    Role.ERROR: ("31",),
}


@value
class Span:
    """A piece of text, or nested spans that share its style.

    A line break in the text starts a new line only if `lines` is set; otherwise the code that draws the span must
    sanitize it.
    """

    text: str | tuple[Span, ...]
    role: Role | None = None
    bold: bool = False
    italic: bool = False
    strike: bool = False
    lines: bool = False


Styled = str | Span | tuple[str | Span, ...]
"""Text that may be styled. A tuple is parts that follow each other."""

LINE_BREAK = Span("\n", lines=True)

Line = tuple[Span, ...]
TextAndSuffix = tuple[Span, tuple[Span, ...]]


class Theme:
    """Styles text for renderers. Its styles nest: `theme.fg("accent", theme.bold("done"))`.

    A colour is a role or the name of one. What it looks like is decided when the text is drawn.
    """

    def fg(self, color: Role | str, text: Styled) -> Span:
        """Return the text in a colour; raise `ValueError` if no role has this name."""
        try:
            role = Role(color)
        except ValueError:
            known = ", ".join(role.value for role in Role)
            raise ValueError(f"Unknown theme color {color!r}; known are {known}") from None
        return Span(spans_of(text), role)

    def bold(self, text: Styled) -> Span:
        return Span(spans_of(text), bold=True)

    def italic(self, text: Styled) -> Span:
        return Span(spans_of(text), italic=True)

    def strikethrough(self, text: Styled) -> Span:
        return Span(spans_of(text), strike=True)


THEME = Theme()
"""The theme that renderers are given."""


def spans_of(text: Styled) -> tuple[Span, ...]:
    """Return the spans of a text. Line breaks in plain strings start new lines."""
    parts = text if isinstance(text, tuple) else (text,)
    return tuple(Span(part, lines=True) if isinstance(part, str) else part for part in parts)


def plain(spans: Iterable[Span]) -> str:
    return "".join(span.text if isinstance(span.text, str) else plain(span.text) for span in spans)


def markup(spans: Iterable[Span]) -> str:
    """Return the text with a tag for each style, the colour outermost. The text itself is not escaped.

    Bold and italic are closed at the end of each line and reopened on the next.
    """
    return "".join(map(_tagged, spans))


def ansi(spans: Iterable[Span], *, color: bool, safe: Callable[[str], str]) -> str:
    """Return the text for a terminal, with escape sequences only where `color` allows them.

    `safe` sanitizes one line and is applied to all text; the only line breaks in the output are those of spans with
    `lines`.
    """
    return "".join(_painted(span, (), color=color, safe=safe) for span in spans)


def _tagged(span: Span) -> str:
    inner = span.text if isinstance(span.text, str) else markup(span.text)
    if span.strike:
        inner = f"<strikethrough>{inner}</strikethrough>"
    if span.italic:
        inner = _by_line("italic", inner)
    if span.bold:
        inner = _by_line("bold", inner)
    return f"<{span.role.value}>{inner}</{span.role.value}>" if span.role else inner


def _by_line(tag: str, text: str) -> str:
    return f"<{tag}>" + text.replace("\n", f"</{tag}>\n<{tag}>") + f"</{tag}>"


def _painted(span: Span, outer: tuple[str, ...], *, color: bool, safe: Callable[[str], str]) -> str:
    styles = {"1": span.bold, "3": span.italic, "9": span.strike}
    colors = _COLOR_CODES.get(span.role, ()) if span.role else ()
    codes = (*outer, *colors, *(code for code, is_set in styles.items() if is_set))
    if not isinstance(span.text, str):
        return "".join(_painted(part, codes, color=color, safe=safe) for part in span.text)
    lines = [safe(line) for line in (span.text.split("\n") if span.lines else (span.text,))]
    if not (color and codes):
        return "\n".join(lines)
    return "\n".join(f"\x1b[{';'.join(codes)}m{line}\x1b[0m" if line else "" for line in lines)


MIN_TEXT_COLUMNS = 24
"""The columns that a text needs to be placed beside its lead."""

GAP, INDENT = "  ", "  "


def hanging_lines(lead: Line, texts: Sequence[TextAndSuffix], columns: int | None = None) -> list[Line]:
    """Return a lead with one line for each text, none wider than `columns`.

    When a text is clipped, its suffix is clipped.
    """
    words = plain(lead)
    lead_width = display_width(words) + len(GAP)
    beside = columns is None or columns - lead_width >= MIN_TEXT_COLUMNS
    margin = lead_width if beside else len(words) - len(words.lstrip(" ")) + len(INDENT)
    width = None if columns is None else columns - margin
    lines = [(Span(" " * margin), *_fitted(*each, width)) for each in texts]
    if beside:
        lines[0] = (*lead, Span(GAP), *lines[0][1:])
    else:
        lines.insert(0, lead)
    return lines if columns is None else [clip_line(line, columns) for line in lines]


def clip_line(line: Line, columns: int) -> Line:
    clipped: list[Span] = []
    for span in line:
        text = plain((span,))
        if display_width(text) > columns:
            return (*clipped, replace(span, text=clip_text(text, columns)))
        columns -= display_width(text)
        clipped.append(span)
    return tuple(clipped)


def _fitted(text: Span, suffix: Line, width: int | None) -> Line:
    words = plain((text,))
    if width is None or display_width(words) + display_width(plain(suffix)) <= width:
        return text, *suffix
    return replace(text, text=clip_text(words, max(width - display_width(plain(suffix)), 1))), *suffix
