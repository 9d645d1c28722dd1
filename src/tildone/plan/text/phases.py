"""Rendering of the phased dialect: calls and results of `todo_write`, and the panel, as a tree of check boxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tildone.plan.model import Phase, Plan, Status, Task, progress
from tildone.plan.text.safe import printable, single_line
from tildone.plan.text.styles import LINE_BREAK, Line, Role, Span, ansi

NUMERALS = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL")),
    *((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)


def roman_numeral(number: int) -> str:
    numeral = ""
    for amount, letters in NUMERALS:
        while number >= amount:
            numeral += letters
            number -= amount
    return numeral


def phase_title(number: int, name: str) -> str:
    return f"{roman_numeral(number)}. {single_line(name)}"


TITLE = "Todo Write"
PREVIEW_TASKS = 8
"""How many tasks of a phase a collapsed tree shows."""

NO_TODOS_TEXT = "No todos"
BRANCH, LAST, BAR = "├─", "└─", "│"
TAB = "   "

_ROLES = {
    Status.PENDING: Role.DIM,
    Status.IN_PROGRESS: Role.ACCENT,
    Status.COMPLETED: Role.SUCCESS,
    Status.ABANDONED: Role.ERROR,
}
FAILURE = Span("✘", Role.ERROR)
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_INDENT = Span("  ")
_BAR = Span(BAR, Role.DIM)


def write_call(args: object) -> Line:
    """Render a call, which may be incomplete while it streams in: each op with its target."""
    return _header(Span("⏳", Role.MUTED), _ops(args))


def result(
    plan: Plan,
    text: str | None,
    args: object = None,
    *,
    expanded: bool = False,
    refused: bool = False,
    told: Sequence[Line] = (),
) -> Line:
    """Render what a call has changed, or else its ops, and the whole plan, or else its text.

    `refused` in part has the sign of a failure.
    """
    sign = FAILURE if refused else Span("✔", Role.SUCCESS)
    header = told or [_header(sign, [*_known_ops(args), f"{len(plan.tasks)} tasks"])]
    if not plan.tasks:
        return _joined([*header, (Span(NO_TODOS_TEXT if text is None else text, Role.DIM, lines=True),)])
    return _joined([*header, *_tree(plan, expanded=expanded), *_notes(plan)])


def failure(plan: Plan, text: str | None, args: object = None, *, expanded: bool = False) -> Line:
    """Render a failed result: the ops of the call and the error, followed by the plan."""
    header = _header(FAILURE, [*_known_ops(args), *([f"{len(plan.tasks)} tasks"] if plan.tasks else [])])
    error = (text or "").partition("\n")[0] if plan.tasks else text or ""
    return _joined([header, (Span(error, Role.ERROR, lines=True),), *_tree(plan, expanded=expanded), *_notes(plan)])


def panel(plan: Plan) -> list[str] | None:
    done = progress(plan)
    if not done.total:
        return None
    lines = [(Span(f"Todos {done.closed}/{done.total}"),), *_tree(plan, expanded=False)]
    return [ansi(line, color=False, safe=printable) for line in lines]


def _ops(args: object) -> list[str]:
    ops = args.get("ops") if isinstance(args, dict) else None
    return [words for op in ops if (words := _op(op)).strip()] if isinstance(ops, list) else ["update"]


def _known_ops(args: object) -> list[str]:
    return [] if args is None else _ops(args)


def _op(op: object) -> str:
    if not isinstance(op, dict):
        return "update"
    items = op.get("items")
    count = len(items) if isinstance(items, list) else 0
    parts = [op.get("op") or "update", op.get("task"), op.get("phase")]
    if count:
        parts.append(f"{count} item{'' if count == 1 else 's'}")
    return " ".join(str(part) for part in parts if part)


def _header(sign: Span, descriptions: Sequence[str]) -> Line:
    suffix = (Span(" "), Span(" · ".join(descriptions), Role.DIM)) if descriptions else ()
    return sign, Span(" "), Span(TITLE, Role.ACCENT), *suffix


def _tree(plan: Plan, *, expanded: bool) -> Iterator[Line]:
    """The lines of the tree. Phases without tasks are omitted; a single phase is shown without its name."""
    phases = [phase for phase in plan.phases if phase.tasks]
    for number, phase in enumerate(phases, 1):
        if len(phases) > 1:
            yield (Span(f"  {roman_numeral(number)}. {phase.name}", Role.ACCENT, bold=True),)
        items = _items(phase, PREVIEW_TASKS if not expanded else len(phase.tasks))
        for position, item in enumerate(items, 1):
            yield _INDENT, Span(BRANCH if position < len(items) else LAST, Role.DIM), Span(" "), *item


def _items(phase: Phase, max_tasks: int) -> list[Line]:
    items = [_item(task) for task in phase.tasks[:max_tasks]]
    hidden = len(phase.tasks[max_tasks:])
    if hidden:
        items.append((Span(f"… {hidden} more todo{'' if hidden == 1 else 's'}", Role.MUTED),))
    return items


def _item(task: Task) -> Line:
    box = "☑ " if task.status is Status.COMPLETED else "☐ "
    label = Span(
        (Span(box), Span(task.text.replace("\t", TAB), strike=not task.status.is_open)),
        _ROLES.get(task.status, Role.WARNING),
    )
    return (
        (label, Span(f" ⁺{len(task.notes)}".translate(_SUPERSCRIPT), Role.DIM, italic=True)) if task.notes else (label,)
    )


def _notes(plan: Plan) -> Iterator[Line]:
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
