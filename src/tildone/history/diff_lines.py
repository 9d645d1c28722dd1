"""The difference between two plans, as lines for a terminal and as JSON data."""

from __future__ import annotations

from tildone.history.plan_diff import DiffSign
from tildone.history.sentences import describe_change
from tildone.kit.text import display_width, wrap_text
from tildone.kit.theme import Role, Span, plain
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.line_layout import INDENT
from tildone.views.plain_list import UNNAMED_PHASE
from tildone.views.sanitize import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tildone.history.plan_diff import PhaseDiff, TaskDiff
    from tildone.views.line_layout import Line

MIN_COLUMNS = 20

_ROLES = {DiffSign.ADDED: Role.SUCCESS, DiffSign.REMOVED: Role.ERROR, DiffSign.CHANGED: Role.WARNING}


def diff_lines(sections: Sequence[PhaseDiff], columns: int | None = None) -> list[Line]:
    """Return each phase with its tasks, prefixed by diff signs; no line is wider than `columns` or `MIN_COLUMNS`.

    A flat list has no heading.
    """
    width = None if columns is None else max(columns, MIN_COLUMNS)
    phases = [section for section in sections if not section.of_plan]
    headed = len(phases) > 1 or any(section.name or section.was or not section.entries for section in phases)
    lines: list[Line] = []
    for section in sections:
        if section.of_plan:
            said = ", ".join(map(describe_change, section.of_plan))
            lead = (Span(f"{DiffSign.CHANGED.value} ", _ROLES[DiffSign.CHANGED]),)
            lines += _fitted(lead, Span("the plan", Role.TEXT), f": {said}", width)
            continue
        lines += [()] if lines else []
        lines += _heading(section, width) if headed else ()
        for entry in section.entries:
            lines += _entry(entry, Span("  " if headed else ""), width)
    return lines


def diff_to_json(sections: Sequence[PhaseDiff]) -> list[dict[str, object]]:
    """Return the difference as data, ready for JSON."""
    return [
        {
            "phase": section.name,
            "sign": section.sign and section.sign.value,
            "was": section.was,
            "moved": section.moved,
            "tasks": [_entry_data(entry) for entry in section.entries],
            **({"what": [*map(describe_change, section.of_plan)]} if section.of_plan else {}),
        }
        for section in sections
    ]


def _entry_data(entry: TaskDiff) -> dict[str, object]:
    return {
        "number": entry.number or None,
        "text": entry.text,
        "sign": entry.sign.value,
        "was": entry.was,
        "moved": entry.moved,
        "from": entry.origin,
        "what": [*(what.verb for what in entry.what), *map(describe_change, entry.attributes)],
        "notes": [{"sign": sign.value, "note": note} for sign, note in entry.notes],
    }


def _heading(section: PhaseDiff, width: int | None) -> Iterator[Line]:
    sign = (Span(f"{section.sign.value} ", _ROLES[section.sign]),) if section.sign else ()
    remarks = [f"was “{printable(section.was)}”"] if section.was else ["had no name"] if section.was == "" else []
    remarks += ["moved"] if section.moved else []
    progress = f" {section.progress.closed}/{section.progress.total}" if section.progress else ""
    suffix = progress + (f" ({', '.join(remarks)})" if remarks else "")
    yield from _fitted(sign, Span(printable(section.name) or UNNAMED_PHASE, Role.ACCENT, bold=True), suffix, width)


def _entry(entry: TaskDiff, indent: Span, width: int | None) -> Iterator[Line]:
    lead = (indent, Span(f"{entry.sign.value} ", _ROLES[entry.sign]))
    remarks = [what.verb for what in entry.what]
    if entry.origin is not None:
        remarks.append(f"moved from {printable(entry.origin) or UNNAMED_PHASE}")
    elif entry.moved:
        remarks.append("moved")
    if entry.was is not None:
        remarks.append(f"was “{printable(entry.was)}”")
    remarks += map(describe_change, entry.attributes)
    number = f"#{entry.number} " if entry.number else ""
    text = Span(number + printable(entry.text), Role.DIM if entry.sign is DiffSign.REMOVED else Role.TEXT)
    yield from _fitted(lead, text, f": {', '.join(remarks)}" if remarks else "", width)
    for sign, note in entry.notes:
        below = (indent, Span("  "), Span(f"{sign.value} ", _ROLES[sign]))
        for line in printable_lines(note):
            yield from _fitted((*below, Span("│ ", Role.DIM)), Span(line, Role.MUTED), "", width)


def _fitted(lead: Line, text: Span, suffix: str, width: int | None) -> Iterator[Line]:
    """Wrapped text after its lead, with a suffix after the last line or, if that does not fit, below it."""
    margin = display_width(plain(lead))
    *above, last = [plain((text,))] if width is None else wrap_text(plain((text,)), width - margin)
    beside = width is None or margin + display_width(last + suffix) <= width
    before = lead
    for line in above:
        yield (*before, replace(text, text=line))
        before = (Span(" " * margin),)
    yield (*before, replace(text, text=last), *((Span(suffix, Role.MUTED),) if beside and suffix else ()))
    if width is not None and not beside:
        under = Span(" " * (margin + len(INDENT)))
        for line in wrap_text(suffix.lstrip(": "), width - margin - len(INDENT)):
            yield under, Span(line, Role.MUTED)
