"""Colours: what each role looks like in each theme, and lines in these colours. No other module names a colour."""

from collections.abc import Iterator, Mapping

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES, Theme

from tildone.base import replace, value
from tildone.plan.text.safe import printable
from tildone.plan.text.styles import Role, Span, clip_line, display_width, plain


@value
class Palette:
    """The colours of a theme. `selected` is the background of the row with the cursor, `bar` that of titles.

    A palette that `is_ansi` has the colours of the terminal: its background is never painted, dim text is faint, and
    what would have the background `selected` is reversed. Only `style` knows that, so everything is drawn through it.
    """

    background: str
    bar: str
    selected: str
    text: str
    muted: str
    dim: str
    accent: str
    success: str
    warning: str
    error: str
    is_dark: bool = True
    is_ansi: bool = False

    def style(self, role: Role | None, background: str) -> Style:
        field = role.value if role else "text"
        color = getattr(self, field, self.text)
        if self.is_ansi and background == self.selected:
            # One colour for the whole row: each part reversed on its own would be a patchwork.
            return Style(color=self.text, reverse=True)
        if self.is_ansi:
            return Style(color=color, dim=field in ("muted", "dim"))
        return Style(color=color, bgcolor=background)

    @property
    def theme(self) -> Theme:
        prefix = "ansi_" if self.is_ansi else ""
        return Theme(
            "tildone",
            primary=f"{prefix}{self.accent}",
            accent=f"{prefix}{self.accent}",
            foreground=f"{prefix}{self.text}",
            background=f"{prefix}{self.background}",
            surface=f"{prefix}{self.bar}",
            panel=f"{prefix}{self.selected}",
            dark=self.is_dark,
            ansi=self.is_ansi,
            variables=BUILTIN_THEMES["ansi-dark"].variables if self.is_ansi else {},
        )


_DARK = Palette(
    "#111213",
    "#181A1B",
    "#172A41",
    text="#EDECE8",
    muted="#B9B7B0",
    dim="#97958E",
    accent="#74B3FF",
    success="#63CE90",
    warning="#EDB656",
    error="#FF8F75",
)
_LIGHT = Palette(
    "#FAF9F6",
    "#FFFFFF",
    "#E4EEFA",
    text="#1C1B18",
    muted="#514E47",
    dim="#68645B",
    accent="#0B62C1",
    success="#1B7340",
    warning="#8A5200",
    error="#AE3218",
    is_dark=False,
)

PALETTES = {
    "dark": _DARK,
    "light": _LIGHT,
    # Colours that people tell apart who do not see all of them.
    "safe-dark": replace(_DARK, accent="#4AA8F5", success="#DBF6EA", warning="#E59E1F", error="#FA5277"),
    "safe-light": replace(
        _LIGHT,
        selected="#ECF3FC",
        accent="#002F86",
        success="#0B7A66",
        warning="#8A651A",
        error="#6E0F2E",
    ),
    "terminal": Palette(
        "default",
        "default",
        "bright_black",
        text="default",
        muted="default",
        dim="default",
        accent="cyan",
        success="green",
        warning="yellow",
        error="red",
        is_ansi=True,
    ),
}
"""The themes. The `safe` ones can be told apart with every kind of colour blindness."""

_LIGHT_BACKGROUNDS = frozenset({"7", "15"})
_TRUECOLOR = ("truecolor", "24bit")
_TRUECOLOR_TERMS = ("alacritty", "foot", "xterm-ghostty", "xterm-kitty", "wezterm")


def theme_for(environ: Mapping[str, str], chosen: str = "") -> str:
    """Return the theme: the chosen one, or what fits the terminal that the environment describes.

    `NO_COLOR` leaves bold, faint, reversed and struck text, whatever was chosen. A terminal that is not known to have
    all colours gets its own ones. Others may state their colours in `COLORFGBG`, such as `0;15`.
    """
    if environ.get("NO_COLOR"):
        return "terminal"
    if chosen:
        return chosen
    if not _has_truecolor(environ):
        return "terminal"
    return "light" if environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_BACKGROUNDS else "dark"


def _has_truecolor(environ: Mapping[str, str]) -> bool:
    term = environ.get("TERM", "")
    return (
        environ.get("COLORTERM", "").lower() in _TRUECOLOR
        or "WT_SESSION" in environ
        or term.endswith("-direct")
        or term.startswith(_TRUECOLOR_TERMS)
    )


Line = tuple[Span, ...]


def width_of(line: Line) -> int:
    return display_width(plain(line))


def padded(line: Line, columns: int) -> Line:
    clipped = clip_line(line, columns) if width_of(line) > columns else line
    return *clipped, Span(" " * max(0, columns - width_of(clipped)))


def spread(left: Line, right: Line, columns: int) -> Line:
    """Return a line with a part at each end; the left one is clipped if there is not enough room for both."""
    room = columns - width_of(right)
    return (*padded(left, room), *right) if room > 0 else padded(left, columns)


def painted(line: Line, columns: int, palette: Palette, background: str) -> Strip:
    """Return a line as a row of cells that is as wide as the widget; a line that is too long ends with `…`."""
    shown = clip_line(line, columns) if width_of(line) > columns else line
    segments = [*_segments(shown, palette, background)]
    ground = palette.style(None, background)
    return Strip(segments).adjust_cell_length(columns, ground)


def _segments(line: Line, palette: Palette, background: str) -> Iterator[Segment]:
    for span in line:
        text = span.text if isinstance(span.text, str) else plain(span.text)
        style = palette.style(span.role, background) + Style(bold=span.bold, italic=span.italic, strike=span.strike)
        yield Segment(printable(text), style)
