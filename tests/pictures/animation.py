"""Draws frames of a terminal as one SVG file, for light and dark pages; several frames are an animation.

Colours of the recording, which is made in the dark theme, become the roles that they stand for, and the picture has the
colours of both schemes.

Rows that occur in several frames are drawn once. Readers who ask for less motion see the last frame.
"""

from collections.abc import Sequence
from html import escape

from tests.pictures.recording import Cell, Frame, Row
from tildone.plan.text.styles import display_width
from tildone.screens.widgets.keys import PALETTES

CELL_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 19, 14
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
DARK, LIGHT = PALETTES["dark"], PALETTES["light"]
ROLES = ("text", "muted", "dim", "accent", "success", "warning", "error", "background", "bar", "selected")


def animation(frames: Sequence[Frame], columns: int, label: str) -> str:
    """Return the picture. The last frame is the one that stays."""
    rows = list(dict.fromkeys(row for frame in frames for row in frame.rows if row))
    height = MARGIN * 2 + LINE_HEIGHT * max(len(frame.rows) for frame in frames)
    width = round(MARGIN * 2 + columns * CELL_WIDTH)
    total = sum(frame.seconds for frame in frames)
    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(label)}">',
            f"<style>{_style()}{_timing(frames, total)}</style>",
            f'<rect class="b-background" width="{width}" height="{height}" rx="8"/>',
            "<defs>",
            *(f'<g id="r{number}">{_drawn(row)}</g>' for number, row in enumerate(rows)),
            "</defs>",
            *(_frame(frame, number, rows) for number, frame in enumerate(frames)),
            "</svg>\n",
        ]
    )


def _style() -> str:
    def colors(palette: object) -> str:
        return "".join(f"--{role}:{getattr(palette, role)};" for role in ROLES)

    roles = "".join(f".{role}{{fill:var(--{role})}}.b-{role}{{fill:var(--{role})}}" for role in ROLES)
    return (
        f"svg{{{colors(LIGHT)}}}@media(prefers-color-scheme:dark){{svg{{{colors(DARK)}}}}}{roles}"
        f"text{{font:14px {FONT};white-space:pre}}.bold{{font-weight:700}}.italic{{font-style:italic}}"
        ".strike{text-decoration:line-through}.frame{visibility:hidden}"
    )


def _timing(frames: Sequence[Frame], total: float) -> str:
    rules, begin = [], 0.0
    for number, frame in enumerate(frames):
        start, end = 100 * begin / total, 100 * (begin + frame.seconds) / total
        hidden_first = "" if number == 0 else "0%{visibility:hidden}"
        hidden_last = "" if number == len(frames) - 1 else f"{end:.3f}%{{visibility:hidden}}"
        rules.append(f"@keyframes k{number}{{{hidden_first}{start:.3f}%{{visibility:visible}}{hidden_last}}}")
        rules.append(f"#f{number}{{animation:k{number} {total:g}s step-end infinite}}")
        begin += frame.seconds
    last = len(frames) - 1
    still = f".frame{{animation:none!important}}#f{last}{{visibility:visible}}"
    return f"{''.join(rules)}@media(prefers-reduced-motion:reduce){{{still}}}"


def _frame(frame: Frame, number: int, rows: Sequence[Row]) -> str:
    used = (
        f'<use href="#r{rows.index(row)}" x="{MARGIN}" y="{MARGIN + LINE_HEIGHT * line}"/>'
        for line, row in enumerate(frame.rows)
        if row
    )
    return f'<g id="f{number}" class="frame">{"".join(used)}</g>'


def _drawn(row: Row) -> str:
    parts, column = [], 0
    for text, look in row:
        width = display_width(text)
        x, length = round(column * CELL_WIDTH, 1), round(width * CELL_WIDTH, 1)
        ground = _role(look.background, "background")
        if ground != "background":
            parts.append(f'<rect class="b-{ground}" x="{x:g}" width="{length:g}" height="{LINE_HEIGHT}"/>')
        column += width
        if text.strip():
            parts.append(_text(text, look, x))
    return "".join(parts)


def _text(text: str, look: Cell, x: float) -> str:
    indent = len(text) - len(text.lstrip(" "))
    text = text.strip(" ")
    length = round(display_width(text) * CELL_WIDTH, 1)
    styles = [name for name in ("bold", "strike", "italic") if getattr(look, name)]
    classes = " ".join([_role(look.foreground, "text"), *styles])
    return (
        f'<text class="{classes}" x="{x + indent * CELL_WIDTH:g}" y="14" textLength="{length:g}">{escape(text)}</text>'
    )


_NAMED = {"ground": "background", "text": "text"}


def _role(color: str, default: str) -> str:
    """Return the role whose colour in the dark theme is nearest; the screen mixes some colours of its own."""
    if color == "default" or color in _NAMED:
        return _NAMED.get(color, default)
    return min(ROLES, key=lambda role: _distance(getattr(DARK, role).lstrip("#"), color))


def _distance(one: str, other: str) -> int:
    return sum((int(one[at : at + 2], 16) - int(other[at : at + 2], 16)) ** 2 for at in (0, 2, 4))
