"""Elements of SVG pictures, with their texts made harmless, and the colours of both schemes.

A picture is one file without scripts, links or fonts of its own. Its colours follow the scheme of whoever looks at it.
"""

from __future__ import annotations

from tildone.kit.text import clip_text
from tildone.typing import TYPE_CHECKING
from tildone.views.limits import clipped
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    Attributes = Mapping[str, str | float]

MAX_TEXT_COLUMNS = 200
"""Longer texts are cut; those of titles and descriptions too."""

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\ufffe": "\ufffd", "\uffff": "\ufffd"}
)
"""Characters with a meaning in XML, and the two that XML does not allow and that have no symbol of their own."""

_PALETTE = {
    "bg": ("fill", "#FAF9F6", "#111213"),
    "sunken": ("fill", "#F1EFEA", "#0C0D0E"),
    "text": ("fill", "#1C1B18", "#EDECE8"),
    "text2": ("fill", "#514E47", "#B9B7B0"),
    "text3": ("fill", "#68645B", "#97958E"),
    "line": ("stroke", "#E3E0D8", "#2B2F32"),
    "edge": ("stroke", "#8A857A", "#767B80"),
    "accent": ("fill", "#0B62C1", "#74B3FF"),
    "accent-line": ("stroke", "#0B62C1", "#74B3FF"),
    "accent-soft": ("fill", "#E4EEFA", "#172A41"),
    "ok-line": ("stroke", "#1B7340", "#63CE90"),
    "ok-soft": ("fill", "#E2F1E7", "#15301F"),
    "warn": ("fill", "#8A5200", "#EDB656"),
    "warn-line": ("stroke", "#8A5200", "#EDB656"),
    "warn-soft": ("fill", "#FBEFD9", "#35280F"),
    "bad": ("fill", "#AE3218", "#FF8F75"),
}
"""The colour of each class: its property, and its values in the light and the dark scheme."""

_BASE = (
    "text{font-family:system-ui,sans-serif;font-size:13px;unicode-bidi:isolate;font-variant-numeric:tabular-nums}"
    ".title{font-size:20px;font-weight:650}.heading{font-weight:620}.small{font-size:12px}"
    ".end{text-anchor:end}.middle{text-anchor:middle}.struck{text-decoration:line-through}.outline{fill:none}"
)


def style() -> str:
    """Return the style sheet: the colours of the light scheme, and those of the dark one."""
    light, dark = (
        "".join(f".{name}{{{rule[0]}:{rule[index]}}}" for name, rule in _PALETTE.items()) for index in (1, 2)
    )
    return f"<style>{_BASE}{light}@media (prefers-color-scheme:dark){{{dark}}}</style>"


def element(name: str, attributes: Attributes, *children: str) -> str:
    """Return an element. The children are elements, or texts that `escaped` returned."""
    given = "".join(f' {key}="{_attribute(each)}"' for key, each in attributes.items())
    return f"<{name}{given}>{''.join(children)}</{name}>" if children else f"<{name}{given}/>"


def escaped(text: str, columns: int = MAX_TEXT_COLUMNS) -> str:
    """Return one line of text from elsewhere for an element: printable, cut to `columns`, and without markup."""
    return clip_text(printable(clipped(text, columns * 2)), columns).translate(_ESCAPES)


def label(x: float, y: float, classes: str, text: str, columns: int = MAX_TEXT_COLUMNS) -> str:
    return element("text", {"x": x, "y": y, "class": classes}, escaped(text, columns))


def _attribute(given: str | float) -> str:
    """An attribute that this program made; numbers are exact to a tenth of a pixel."""
    return given if isinstance(given, str) else f"{round(given, 1):g}"
