"""A plan as styled lines for a terminal, and the calls and results of the tools of the indexed dialect."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING
from tildone.plan.guard import PLAN
from tildone.plan.model import Plan, Status, Task, numbered, progress, waits_for
from tildone.plan.text.safe import NO_TODOS, UNNAMED_PHASE, printable, printable_lines
from tildone.plan.text.styles import LINE_BREAK, Role, Span, display_width, plain, wrap_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from tildone.plan.model import Check, Phase, Proof
    from tildone.plan.text.styles import Line

    Row = tuple[str, str, Role]


MIN_COLUMNS = 20
"""Narrower terminals get lines of this width."""

_ICON_ROLES = {
    Status.PENDING: Role.DIM,
    Status.IN_PROGRESS: Role.WARNING,
    Status.COMPLETED: Role.SUCCESS,
    Status.ABANDONED: Role.ERROR,
}
STALE = "done, stale"
"""What is said of a done task whose files have changed since its check passed."""


def plan_lines(
    plan: Plan,
    columns: int | None = None,
    *,
    only: Container[int] | None = None,
    positions: bool = False,
    stale: Container[int] = (),
    proposed: Container[int] = (),
) -> list[Line]:
    """Return the plan: phases, tasks with their numbers, checks and notes, wrapped to `columns` or to `MIN_COLUMNS`.

    `only` are the numbers of the tasks to show; phases without any are omitted. With `positions`, tasks also have
    their positions, which the agent of the session uses. `stale` are the numbers of the tasks whose proofs are stale,
    and `proposed` of those whose checks nobody has approved; PLAN stands for the plan itself.
    """
    plan = numbered(plan)
    width = None if columns is None else max(columns, MIN_COLUMNS)
    with_headings = len(plan.phases) > 1 or any(phase.name for phase in plan.phases)
    places = {task.number: place for place, task in enumerate(plan.tasks)} if positions else {}
    lines: list[Line] = []
    for phase in plan.phases:
        tasks = [task for task in phase.tasks if only is None or task.number in only]
        if only is not None and not tasks:
            continue
        lines += [()] if lines else []
        lines += _heading(phase, width) if with_headings else []
        for task in tasks:
            lead = (Span("  " if with_headings else ""), *numbered_lead(task, places.get(task.number)))
            others = waits_for(plan, task) if task.status.is_open else ()
            rows = [("", f"after {', '.join(map(str, others))}", Role.MUTED)] if others else []
            rows += _check_row(task, stale, proposed)
            lines += _task_lines(task, lead, width, rows, is_stale=task.number in stale)
    if plan.check is not None and only is None:
        row = _row("Plan: $ ", plan.check, plan.proof, PLAN, stale, proposed)
        lines += [(), *_row_lines(row, (), width)]
    return lines or [(Span(NO_TODOS, Role.DIM),)]


def task_lines(
    task: Task, columns: int | None = None, position: int | None = None, *, proposed: Container[int] = ()
) -> list[Line]:
    """Return one task with its number, its position if given, its check and its notes."""
    width = None if columns is None else max(columns, MIN_COLUMNS)
    lead = (Span(""), *numbered_lead(task, position))
    return [*_task_lines(task, lead, width, [*_check_row(task, (), proposed)])]


def task_line(task: Task) -> Line:
    return *numbered_lead(task), task_label(task)(printable(task.text))


def numbered_lead(task: Task, position: int | None = None) -> Line:
    names = [f"#{task.number}"] if task.number else []
    names += [f"[{position}]"] if position is not None else []
    return *_icon(task), *(part for name in names for part in (Span(name, Role.ACCENT), Span(" ")))


def task_lead(position: int, task: Task) -> Line:
    return *_icon(task), Span(f"[{position}]", Role.ACCENT), Span(" ")


def task_label(task: Task, *, is_stale: bool = False) -> Callable[[str], Span]:
    """Return a function that styles the text of a task by its status; a stale one counts as open."""
    is_open = task.status.is_open or is_stale
    return lambda text: Span(text, Role.TEXT) if is_open else Span(text, Role.DIM, strike=True)


def _icon(task: Task) -> Line:
    return Span(task.status.icon, _ICON_ROLES.get(task.status, Role.ACCENT)), Span(" ")


def _heading(phase: Phase, width: int | None) -> Iterator[Line]:
    done = progress(Plan((phase,)))
    count = f" {done.closed}/{done.total}"
    name = printable(phase.name) or UNNAMED_PHASE
    *above, last = _fitted(name, (Span(count),), width)
    for line in above:
        yield (Span(line, Role.ACCENT, bold=True),)
    yield Span(last, Role.ACCENT, bold=True), Span(count, Role.MUTED)


def _task_lines(
    task: Task, lead: Line, width: int | None, rows: list[Row], *, is_stale: bool = False
) -> Iterator[Line]:
    """The task beside its lead, which begins with the indent, the rows below it, and its notes."""
    hanging = Span(" " * display_width(plain(lead)))
    label = task_label(task, is_stale=is_stale)
    first, *more = _fitted(printable(task.text), lead, width)
    yield *lead, label(first)
    for line in more:
        yield hanging, label(line)
    for row in rows:
        yield from _row_lines(row, (lead[0], Span("  ")), width)
    bar = (lead[0], Span("  "), Span("│ ", Role.DIM))
    for index, note in enumerate(task.notes):
        if index:
            yield bar
        for line in printable_lines(note):
            yield from ((*bar, Span(part, Role.MUTED)) for part in _fitted(line, bar, width))


def _check_row(task: Task, stale: Container[int], proposed: Container[int]) -> Iterator[Row]:
    if task.check is not None:
        yield _row("$ ", task.check, task.proof, task.number, stale, proposed)


def _row(
    mark: str, check: Check, proof: Proof | None, number: int, stale: Container[int], proposed: Container[int]
) -> Row:
    """A check and its state; what a person should look at stands out."""
    # Late, because most plans have no checks.
    from tildone.plan.text.proofs import check_text, proof_words

    words = proof_words(check, proof, stale=number in stale, allowed=number not in proposed)
    if number in stale and number != PLAN:
        words = STALE
    text = f"{printable(check_text(check))}{f' · {words}' if words else ''}"
    return mark, text, Role.MUTED if words in ("", "passed") else Role.WARNING


def _row_lines(row: Row, indent: Line, width: int | None) -> Iterator[Line]:
    mark, text, role = row
    lead = (*indent, Span(mark, Role.DIM))
    hanging = (*indent, Span(" " * display_width(mark)))
    for index, line in enumerate(_fitted(text, lead, width)):
        yield *(hanging if index else lead), Span(line, role)


def _fitted(text: str, lead: Line, width: int | None) -> list[str]:
    return [text] if width is None else wrap_text(text, width - display_width(plain(lead)))


_MESSAGES = {
    "til-done-context": ("📋 ", Role.ACCENT, Role.DIM),
    "til-done-complete": ("✓ ", Role.SUCCESS, Role.TEXT),
    "til-done-countdown": ("⏳ ", Role.ACCENT, Role.DIM),
}

_STATUSES = {status.icon: status for status in Status}


def write_call(args: object) -> Line:
    """Render a call of `write_todos`, which may be incomplete while it streams in."""
    mode, todos, index = _fields(args, "mode", "todos", "index")
    count = len(todos) if isinstance(todos, list) else 0
    position = f" @{_number(index)}" if mode == "insert" and index is not None else ""
    return (
        *_title("write_todos "),
        Span(f"{'replace' if mode is None else mode} ", Role.WARNING),
        Span(f"({count} items{position})", Role.MUTED),
    )


def list_call(_args: object = None) -> Line:
    return _title("list_todos")


def edit_call(args: object) -> Line:
    """Render a call of `edit_todos`, which may be incomplete while it streams in."""
    action, indices = _fields(args, "action", "indices")
    positions = ", ".join(map(_number, indices)) if isinstance(indices, list) else ""
    return (
        *_title("edit_todos "),
        *(() if action is None else (Span(f"{action} ", Role.WARNING),)),
        Span(f"[{positions}]", Role.ACCENT),
    )


def result(text: str, details: object, statuses: Mapping[str, Status]) -> Line:
    """Render the result of a tool: its list, its error, or its text if it has neither.

    `statuses` maps the status words of the details. Details without a list mean that the call raised an exception.
    """
    if not isinstance(details, dict):
        return (Span(text, lines=True),)
    if details.get("error"):
        return (Span(f"Error: {details['error']}", Role.ERROR),)
    todos = details.get("todos")
    if not isinstance(todos, list):
        return (Span(text, Role.ERROR, lines=True),)
    spans: list[Span] = []
    for position, item in enumerate(todos):
        match item:
            case {"text": str(task_text), "status": str(word)} if word in statuses:
                task = Task(task_text, statuses[word])
                spans += (LINE_BREAK,) if spans else ()
                spans += (*task_lead(position, task), task_label(task)(task_text))
    return tuple(spans) or (Span(NO_TODOS, Role.DIM),)


def listing(text: str) -> Line:
    """Render the text of `list_todos`, whose details omit the list. Lines that are not of the list stay as they are."""
    spans: list[Span] = []
    for line in text.split("\n"):
        spans += (LINE_BREAK,) if spans else ()
        icon, _, rest = line.partition(" [")
        position, bracket, task_text = rest.partition("] ")
        if icon not in _STATUSES or not bracket or not position.isdecimal():
            spans.append(Span(line))
            continue
        task = Task(task_text, _STATUSES[icon])
        spans += (*task_lead(int(position), task), task_label(task)(task_text))
    return tuple(spans)


def message(kind: str, text: str) -> Line:
    """Render a message of the extension, prefixed by the icon of its kind."""
    if kind not in _MESSAGES:
        return (Span(text, Role.TEXT, lines=True),)
    sign, sign_role, role = _MESSAGES[kind]
    return Span(sign, sign_role), Span(text, role, lines=True)


def _title(name: str) -> Line:
    return (Span(name, Role.TOOL_TITLE, bold=True),)


def _fields(args: object, *names: str) -> list[object]:
    return [args.get(name) if isinstance(args, dict) else None for name in names]


def _number(given: object) -> str:
    return str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)
