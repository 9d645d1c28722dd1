"""Rendering of the phased dialect: calls and results of `todo_write`, and the panel, as a tree of check boxes."""

from __future__ import annotations

from tildone.core.plan import Status
from tildone.core.query import progress
from tildone.kit.theme import LINE_BREAK, Role, Span, ansi
from tildone.typing import TYPE_CHECKING
from tildone.views.phase_titles import roman_numeral
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tildone.core.plan import Phase, Plan, Task

    Line = tuple[Span, ...]

TITLE = "Todo Write"
PREVIEW_TASKS = 8
"""How many tasks of a phase a collapsed tree shows."""

NOTHING = "No todos"
BRANCH, LAST, BAR = "├─", "└─", "│"
TAB = "   "

_ROLES = {
    Status.PENDING: Role.DIM,
    Status.IN_PROGRESS: Role.ACCENT,
    Status.COMPLETED: Role.SUCCESS,
    Status.ABANDONED: Role.ERROR,
}
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_INDENT = Span("  ")
_BAR = Span(BAR, Role.DIM)


def write_call(args: object) -> Line:
    """A call, which may be incomplete while it streams in: each op with its target."""
    ops = args.get("ops") if isinstance(args, dict) else None
    told = [words for op in ops if (words := _op(op)).strip()] if isinstance(ops, list) else ["update"]
    return _header(Span("⏳", Role.MUTED), told)


def result(plan: Plan, text: str | None, *, expanded: bool = False) -> Line:
    """A successful result: the whole plan, or the text of the result if there are no tasks."""
    header = _header(Span("✔", Role.SUCCESS), [f"{len(plan.tasks)} tasks"])
    if not plan.tasks:
        return _joined([header, (Span(NOTHING if text is None else text, Role.DIM, lines=True),)])
    return _joined([header, *_tree(plan, expanded=expanded), *_notes(plan)])


def failure(plan: Plan, text: str | None, *, expanded: bool = False) -> Line:
    """A failed result: the error, followed by the plan."""
    header = _header(Span("✘", Role.ERROR), [f"{len(plan.tasks)} tasks"] if plan.tasks else [])
    why = (text or "").partition("\n")[0] if plan.tasks else text or ""
    return _joined([header, (Span(why, Role.ERROR, lines=True),), *_tree(plan, expanded=expanded), *_notes(plan)])


def panel(plan: Plan) -> list[str] | None:
    """The sanitized lines of the panel; None if there is nothing to show."""
    far = progress(plan)
    if not far.total:
        return None
    lines = [(Span(f"Todos {far.closed}/{far.total}"),), *_tree(plan, expanded=False)]
    return [ansi(line, color=False, safe=printable) for line in lines]


def _op(op: object) -> str:
    if not isinstance(op, dict):
        return "update"
    items = op.get("items")
    count = len(items) if isinstance(items, list) else 0
    parts = [op.get("op") or "update", op.get("task"), op.get("phase")]
    if count:
        parts.append(f"{count} item{'' if count == 1 else 's'}")
    return " ".join(str(part) for part in parts if part)


def _header(sign: Span, told: Sequence[str]) -> Line:
    about = (Span(" "), Span(" · ".join(told), Role.DIM)) if told else ()
    return sign, Span(" "), Span(TITLE, Role.ACCENT), *about


def _tree(plan: Plan, *, expanded: bool) -> Iterator[Line]:
    """The lines of the tree. Phases without tasks are omitted; a single phase is shown without its name."""
    phases = [phase for phase in plan.phases if phase.tasks]
    for number, phase in enumerate(phases, 1):
        if len(phases) > 1:
            yield (Span(f"  {roman_numeral(number)}. {phase.name}", Role.ACCENT, bold=True),)
        items = _items(phase, PREVIEW_TASKS if not expanded else len(phase.tasks))
        for position, item in enumerate(items, 1):
            yield _INDENT, Span(BRANCH if position < len(items) else LAST, Role.DIM), Span(" "), *item


def _items(phase: Phase, most: int) -> list[Line]:
    items = [_item(task) for task in phase.tasks[:most]]
    hidden = len(phase.tasks[most:])
    if hidden:
        items.append((Span(f"… {hidden} more todo{'' if hidden == 1 else 's'}", Role.MUTED),))
    return items


def _item(task: Task) -> Line:
    box = "☑ " if task.status is Status.COMPLETED else "☐ "
    label = Span(
        (Span(box), Span(_untabbed(task.text), strike=not task.status.is_open)), _ROLES.get(task.status, Role.WARNING)
    )
    return (label, Span(f" ⁺{_superscript(len(task.notes))}", Role.DIM, italic=True)) if task.notes else (label,)


def _notes(plan: Plan) -> Iterator[Line]:
    """The notes of tasks in progress, each under the task's text."""
    for task in plan.tasks:
        if task.status is not Status.IN_PROGRESS or not task.notes:
            continue
        yield ()
        yield _INDENT, Span(f"§ notes — {task.text}", Role.DIM, italic=True)
        for position, note in enumerate(task.notes):
            if position:
                yield _INDENT, _BAR
            for line in note.split("\n"):
                yield _INDENT, _BAR, Span(" "), Span(line, Role.DIM)


def _joined(lines: Iterable[Line]) -> Line:
    spans: list[Span] = []
    for number, line in enumerate(lines):
        spans += (LINE_BREAK, *line) if number else line
    return tuple(spans)


def _untabbed(text: str) -> str:
    return text.replace("\t", TAB)


def _superscript(count: int) -> str:
    return str(count).translate(_SUPERSCRIPT)
