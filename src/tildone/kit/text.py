"""Display width of text in a terminal; clipping and wrapping."""

from __future__ import annotations

from unicodedata import category, east_asian_width

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
    """The length of the longest prefix that takes at most `columns`."""
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
