"""Styled text as spans with semantic roles; colours are chosen when it is drawn."""

from __future__ import annotations

from enum import Enum

from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Role(Enum):
    """The meaning of a colour."""

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
"""A line break."""


class Theme:
    """Styles text for renderers. Its styles nest: `theme.fg("accent", theme.bold("done"))`.

    A colour is a role or the name of one. What it looks like is decided when the text is drawn.
    """

    def fg(self, color: Role | str, text: Styled) -> Span:
        """Return the text in a colour.

        Raises:
            ValueError: no role has this name.
        """
        return Span(spans_of(text), _role(color))

    def bold(self, text: Styled) -> Span:
        return Span(spans_of(text), bold=True)

    def italic(self, text: Styled) -> Span:
        return Span(spans_of(text), italic=True)

    def strikethrough(self, text: Styled) -> Span:
        """Return the text struck through."""
        return Span(spans_of(text), strike=True)


THEME = Theme()
"""The theme that renderers are given."""


def spans_of(text: Styled) -> tuple[Span, ...]:
    """Return the spans of a text. Line breaks in plain strings start new lines."""
    parts = text if isinstance(text, tuple) else (text,)
    return tuple(Span(part, lines=True) if isinstance(part, str) else part for part in parts)


def plain(spans: Iterable[Span]) -> str:
    """Return the text without styles."""
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


def _role(color: Role | str) -> Role:
    try:
        return Role(color)
    except ValueError:
        known = ", ".join(role.value for role in Role)
        raise ValueError(f"Unknown theme color {color!r}; known are {known}") from None


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
    codes = outer + _codes(span)
    if not isinstance(span.text, str):
        return "".join(_painted(part, codes, color=color, safe=safe) for part in span.text)
    lines = [safe(line) for line in (span.text.split("\n") if span.lines else (span.text,))]
    if not (color and codes):
        return "\n".join(lines)
    return "\n".join(f"\x1b[{';'.join(codes)}m{line}\x1b[0m" if line else "" for line in lines)


def _codes(span: Span) -> tuple[str, ...]:
    colors = _COLOR_CODES.get(span.role, ()) if span.role else ()
    styles = {"1": span.bold, "3": span.italic, "9": span.strike}
    return (*colors, *(code for code, is_set in styles.items() if is_set))
