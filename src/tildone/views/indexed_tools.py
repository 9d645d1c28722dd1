"""Rendering of the indexed dialect: calls and results of its tools, and its messages, as styled text."""

from __future__ import annotations

from tildone.core.plan import Status, Task
from tildone.kit.theme import LINE_BREAK, Role, Span
from tildone.typing import TYPE_CHECKING
from tildone.views.plain_list import NO_TODOS
from tildone.views.plan_lines import task_label, task_lead

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Line = tuple[Span, ...]

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
    """Render a call of `list_todos`, which has no arguments."""
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
    return _listed(_items(todos, statuses))


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


def _listed(tasks: Iterable[tuple[int, Task]]) -> Line:
    spans: list[Span] = []
    for position, task in tasks:
        spans += (LINE_BREAK,) if spans else ()
        spans += (*task_lead(position, task), task_label(task)(task.text))
    return tuple(spans) or (Span(NO_TODOS, Role.DIM),)


def _items(todos: list[object], statuses: Mapping[str, Status]) -> Iterator[tuple[int, Task]]:
    for position, item in enumerate(todos):
        match item:
            case {"text": str(text), "status": str(word)} if word in statuses:
                yield position, Task(text, statuses[word])
            case _:
                continue


def _fields(args: object, *names: str) -> list[object]:
    return [args.get(name) if isinstance(args, dict) else None for name in names]


def _number(given: object) -> str:
    """A number as JavaScript prints it, or `str` of anything else."""
    return str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)
