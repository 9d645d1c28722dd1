"""A task at a glance, as lines that can be scrolled: its notes, check, history, cost, and its agent's last lines."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from tildone.app.glance import CheckGlance, TaskGlance
from tildone.base.ids import local_time
from tildone.plan.model import Status
from tildone.plan.text.safe import printable_lines
from tildone.plan.text.styles import Role, Span, display_width, wrap_text
from tildone.screens.widgets.keys import Line, Palette
from tildone.screens.widgets.plan import CHECK_ROLES, STATUS_ROLES
from tildone.screens.widgets.prompt import HelpScreen

INDENT = "  "
MIN_COLUMNS = 8


class GlanceScreen(HelpScreen):
    """A task at a glance, as it was when the screen was opened."""

    DEFAULT_CSS = "GlanceScreen > RowList { width: 100; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("i", "dismiss", show=False, priority=True)]

    def __init__(self, palette: Palette, glance: TaskGlance) -> None:
        closing = "j k scroll · esc closes this"
        super().__init__(palette, lambda columns: glance_lines(glance, columns), closing)


def glance_lines(glance: TaskGlance, columns: int) -> list[Line]:
    """Return a task at a glance as lines, none wider than `columns` but for terminals that are narrower than a word."""
    return [
        *_wrapped(glance.text, columns, "", f"#{glance.number} ", None, bold=True),
        *_facts(glance, columns),
        *_section(columns, "Notes", (line for note in glance.notes for line in _wrapped(note, columns))),
        *(_section(columns, "Check", _check(glance.check, columns)) if glance.check else ()),
        *_section(columns, "History", _history(glance, columns)),
        *_section(
            columns,
            f"Last lines of {glance.holder}",
            (line for each in glance.last_lines for line in _wrapped(each, columns)),
        ),
    ]


def _facts(glance: TaskGlance, columns: int) -> list[Line]:
    status = Status(glance.status)
    parts = filter(None, (glance.phase, _holder(glance), glance.cost.words if glance.cost else ""))
    more = " · ".join(parts)
    state: Line = (Span(f"{status.icon} {glance.word}", STATUS_ROLES[status]),)
    return [state, *(_wrapped(more, columns, "") if more else ())]


def _holder(glance: TaskGlance) -> str:
    if not glance.holder:
        return ""
    return f"{glance.holder} works on it" if glance.is_held else f"{glance.holder} had it last"


def _check(check: CheckGlance, columns: int) -> Iterator[Line]:
    yield from _wrapped(check.command, columns, lead="$ ")
    ended = f" · {local_time(check.finished)}" if check.finished else ""
    role = next((role for word, role in CHECK_ROLES.items() if word.value == check.state), Role.DIM)
    yield from _wrapped(f"{check.words}{ended}", columns, role=role)
    for line in check.output:
        yield from _wrapped(line, columns, lead="│ ")


def _history(glance: TaskGlance, columns: int) -> Iterator[Line]:
    if glance.begins:
        yield from _wrapped(f"What happened before {local_time(glance.begins)} is not read.", columns)
    if glance.earlier:
        yield from _wrapped(f"{glance.earlier} earlier", columns)
    for line in glance.history:
        yield from _wrapped(line.what, columns, lead=f"{local_time(line.at)}  {line.who}  ")


def _section(columns: int, title: str, lines: Iterable[Line]) -> list[Line]:
    found = list(lines)
    return [(), *_wrapped(title, columns, "", role=None, bold=True), *found] if found else []


def _wrapped(
    text: str, columns: int, indent: str = INDENT, lead: str = "", role: Role | None = Role.MUTED, *, bold: bool = False
) -> Iterator[Line]:
    """Yield a text of any length as lines; the first one begins with `lead`, and the others are indented as deep."""
    deep = display_width(lead) if display_width(lead) <= columns // 2 else len(INDENT)
    room = max(MIN_COLUMNS, columns - len(indent) - deep)
    lines = [part for line in printable_lines(text) for part in wrap_text(line, room) or [""]]
    if deep < display_width(lead):
        yield from ((Span(indent), Span(part, Role.DIM)) for part in wrap_text(lead, columns - len(indent)))
        lead = " " * deep
    for number, line in enumerate(lines):
        yield Span(indent), Span(lead if not number else " " * deep, Role.DIM), Span(line, role, bold=bold)
