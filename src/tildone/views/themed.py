"""A plan, and what its tools say, as styled text for a person at a terminal."""

from __future__ import annotations

from tildone.core.plan import Plan, Status, Task
from tildone.core.query import progress
from tildone.kit.text import display_width, wrap_text
from tildone.kit.theme import LINE_BREAK, Role, Span, plain
from tildone.typing import TYPE_CHECKING
from tildone.views.plain_list import NO_TODOS, UNNAMED_PHASE
from tildone.views.sanitize import printable, printable_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tildone.core.plan import Phase

    Line = tuple[Span, ...]

NARROWEST = 20

_ICON_ROLES = {
    Status.PENDING: Role.DIM,
    Status.IN_PROGRESS: Role.WARNING,
    Status.COMPLETED: Role.SUCCESS,
    Status.ABANDONED: Role.ERROR,
}
_MESSAGES = {
    "til-done-context": ("📋 ", Role.ACCENT, Role.DIM),
    "til-done-complete": ("✓ ", Role.SUCCESS, Role.TEXT),
    "til-done-countdown": ("⏳ ", Role.ACCENT, Role.DIM),
}


def write_call(args: object) -> Line:
    """A call of `write_todos`, as much of it as has arrived."""
    mode, todos, index = _fields(args, "mode", "todos", "index")
    count = len(todos) if isinstance(todos, list) else 0
    where = f" @{_number(index)}" if mode == "insert" and index is not None else ""
    return (
        *_title("write_todos "),
        Span(f"{'replace' if mode is None else mode} ", Role.WARNING),
        Span(f"({count} items{where})", Role.MUTED),
    )


def list_call(_args: object = None) -> Line:
    """A call of `list_todos`, which has nothing to say."""
    return _title("list_todos")


def edit_call(args: object) -> Line:
    """A call of `edit_todos`, as much of it as has arrived."""
    action, indices = _fields(args, "action", "indices")
    positions = ", ".join(map(_number, indices)) if isinstance(indices, list) else ""
    return (
        *_title("edit_todos "),
        *(() if action is None else (Span(f"{action} ", Role.WARNING),)),
        Span(f"[{positions}]", Role.ACCENT),
    )


def result(text: str, details: object, statuses: Mapping[str, Status]) -> Line:
    """What a tool gave back: its list, its refusal, or its words where it says neither.

    `statuses` are the words for statuses in its details. Details without a list are what a host keeps of a call
    that failed.
    """
    if not isinstance(details, dict):
        return (Span(text, lines=True),)
    if details.get("error"):
        return (Span(f"Error: {details['error']}", Role.ERROR),)
    todos = details.get("todos")
    if not isinstance(todos, list):
        return (Span(text, Role.ERROR, lines=True),)
    return _listed(_items(todos, statuses))


def message(kind: str, text: str) -> Line:
    """What a session says of itself, after the sign of its kind."""
    if kind not in _MESSAGES:
        return (Span(text, Role.TEXT, lines=True),)
    sign, sign_role, role = _MESSAGES[kind]
    return Span(sign, sign_role), Span(text, role, lines=True)


def plan_lines(plan: Plan, columns: int | None = None) -> list[Line]:
    """The whole plan for a person: phases, tasks with their positions and notes, none wider than `columns`.

    A terminal that is narrower than `NARROWEST` gets lines of that width.
    """
    room = None if columns is None else max(columns, NARROWEST)
    with_headings = len(plan.phases) > 1 or any(phase.name for phase in plan.phases)
    lines: list[Line] = []
    position = 0
    for phase in plan.phases:
        lines += [()] if lines else []
        lines += _heading(phase, room) if with_headings else []
        for task in phase.tasks:
            lines += _task_lines(position, task, Span("  " if with_headings else ""), room)
            position += 1
    return lines or [(Span(NO_TODOS, Role.DIM),)]


def task_line(task: Task, position: int | None = None) -> Line:
    """A task on one line, with its position if it has one."""
    icon, space, *place = _lead(position or 0, task)
    return icon, space, *(() if position is None else place), _label(task)(printable(task.text))


def _title(name: str) -> Line:
    return (Span(name, Role.TOOL_TITLE, bold=True),)


def _listed(tasks: Iterable[tuple[int, Task]]) -> Line:
    spans: list[Span] = []
    for position, task in tasks:
        spans += (LINE_BREAK,) if spans else ()
        spans += (*_lead(position, task), _label(task)(task.text))
    return tuple(spans) or (Span(NO_TODOS, Role.DIM),)


def _lead(position: int, task: Task) -> Line:
    icon = Span(task.status.icon, _ICON_ROLES.get(task.status, Role.ACCENT))
    return icon, Span(" "), Span(f"[{position}]", Role.ACCENT), Span(" ")


def _label(task: Task) -> Callable[[str], Span]:
    if task.status.is_open:
        return lambda text: Span(text, Role.TEXT)
    return lambda text: Span(text, Role.DIM, strike=True)


def _items(todos: list[object], statuses: Mapping[str, Status]) -> Iterator[tuple[int, Task]]:
    for position, item in enumerate(todos):
        match item:
            case {"text": str(text), "status": str(word)} if word in statuses:
                yield position, Task(text, statuses[word])
            case _:
                continue


def _heading(phase: Phase, room: int | None) -> Iterator[Line]:
    far = progress(Plan((phase,)))
    count = f" {far.closed}/{far.total}"
    name = printable(phase.name) or UNNAMED_PHASE
    *above, last = _fitted(name, (Span(count),), room)
    for line in above:
        yield (Span(line, Role.ACCENT, bold=True),)
    yield Span(last, Role.ACCENT, bold=True), Span(count, Role.MUTED)


def _task_lines(position: int, task: Task, indent: Span, room: int | None) -> Iterator[Line]:
    lead = (indent, *_lead(position, task))
    under = Span(" " * display_width(plain(lead)))
    label = _label(task)
    first, *more = _fitted(printable(task.text), lead, room)
    yield *lead, label(first)
    for line in more:
        yield under, label(line)
    bar = (indent, Span("  "), Span("│ ", Role.DIM))
    for index, note in enumerate(task.notes):
        if index:
            yield bar
        for line in printable_lines(note):
            yield from ((*bar, Span(part, Role.MUTED)) for part in _fitted(line, bar, room))


def _fitted(text: str, lead: Line, room: int | None) -> list[str]:
    return [text] if room is None else wrap_text(text, room - display_width(plain(lead)))


def _fields(args: object, *names: str) -> list[object]:
    return [args.get(name) if isinstance(args, dict) else None for name in names]


def _number(given: object) -> str:
    """A number as JSON writes it; anything else as it can be shown."""
    return str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)
