"""How much of a plan a model is told at once. What does not fit is counted, and the plan itself is never cut.

A text of a model's own making is within these limits: they are reached by plans that were imported, or written by a
program. The limits are in characters; four are about one token.
"""

from __future__ import annotations

from itertools import accumulate

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_TEXT = 2_000
"""Of the text of a task, the name of a phase, or a note."""

MAX_NUDGE = 8_000
"""Of the prompt with which an agent is told to continue."""

MAX_CONTEXT = 8_000
"""Of the text about the plan at the start of a turn."""

MAX_RESULT = 40_000
"""Of the result of a tool call."""

MAX_START = 40_000
"""Of the prompt with which `tildone run` starts a model on a plan, and of its reports of changes to it."""

MAX_RESOURCE = 200_000
"""Of a resource that an MCP client reads, and of structured data in the result of a tool call."""

MAX_HOOK_REPLY = 10_000
"""Of the reply to a hook event."""

MAX_FRAME = 1_000
"""Of the words around a list: what a prompt or a result has besides the tasks."""

ELLIPSIS = "…"
_MARKS = "- [ ] " * 4
"""What the marks of a task and its notes may take in a list."""

_SYMBOL = 9
"""How much longer a character is that is shown as its code point (`<U+202E>`)."""


def clipped(text: str, max_characters: int = MAX_TEXT) -> str:
    """Return the text, or as much of it as fits before an ellipsis."""
    return text if len(text) <= max_characters else text[: max_characters - 1] + ELLIPSIS


def bounded_list(entries: Sequence[tuple[Task, str]], max_characters: int) -> list[str]:
    """Return the text of each task, or as many as fit and a line that counts the others.

    Closed tasks are left out first, and tasks in progress last. The order stays.
    """
    kept = fitting(entries, max_characters)
    lines = [entries[index][1] for index in kept]
    return [*lines, *more_tasks(len(entries) - len(kept))]


def fitting(entries: Sequence[tuple[Task, str]], max_characters: int) -> list[int]:
    """Return the indices of the entries that fit, in order; of all if all fit."""
    sizes = [_size(text) for _, text in entries]
    if sum(sizes) <= max_characters:
        return list(range(len(entries)))
    by_importance = sorted(range(len(entries)), key=lambda index: _rank(entries[index][0]))
    totals = accumulate(sizes[index] for index in by_importance)
    return sorted(index for index, total in zip(by_importance, totals, strict=True) if total <= max_characters)


def bounded_plan(plan: Plan, max_characters: int) -> tuple[Plan, int]:
    """Return the part of a plan that fits, with long texts cut, and the number of tasks that were left out.

    The plan is the same if all of it fits.
    """
    if sum(_size(text) for _, text in _written(plan.phases)) <= max_characters:
        return plan, 0
    cut = [Phase(clipped(phase.name), tuple(map(_cut, phase.tasks))) for phase in plan.phases if phase.tasks]
    entries = _written(cut)
    kept = iter([*fitting(entries, max_characters), len(entries)])
    at, upcoming, phases = 0, next(kept), list[Phase]()
    for phase in cut:
        inside = list[Task]()
        for task in phase.tasks:
            if at == upcoming:
                inside.append(task)
                upcoming = next(kept)
            at += 1
        phases += [Phase(phase.name, tuple(inside))] if inside else []
    shown = Plan(tuple(phases))
    return shown, len(entries) - len(shown.tasks)


def more_tasks(count: int) -> list[str]:
    """Return a line that counts the tasks that were left out, in a list; none if there are none."""
    return [f"{ELLIPSIS} and {count:,} more task{'s' if count > 1 else ''}"] if count else []


def bounded_lines(lines: Iterable[str], max_characters: int) -> list[str]:
    """Return as many of the lines as fit, and a line that counts the others."""
    given = list(lines)
    for index, line in enumerate(given):
        max_characters -= _size(line)
        if max_characters < 0:
            left = len(given) - index
            return [*given[:index], f"{ELLIPSIS} and {left:,} more line{'s' if left > 1 else ''}"]
    return given


def _written(phases: Iterable[Phase]) -> list[tuple[Task, str]]:
    """Each task with about what a list has of it, with the name of its phase."""
    return [(task, "".join((phase.name, task.text, *task.notes, _MARKS))) for phase in phases for task in phase.tasks]


def _cut(task: Task) -> Task:
    """The task with its text cut, and with its newest notes as far as they fit."""
    notes, room = list[str](), MAX_TEXT
    for note in reversed(task.notes):
        notes.insert(0, clipped(note))
        room -= len(notes[0])
        if room < 0:
            del notes[0]
            break
    return replace(task, text=clipped(task.text), notes=tuple(notes))


def _size(line: str) -> int:
    """The length of a line and its end, as it is shown."""
    hidden = 0 if line.isprintable() else sum(not char.isprintable() for char in line)
    return len(line) + _SYMBOL * hidden + 1


def _rank(task: Task) -> int:
    return 0 if task.status is Status.IN_PROGRESS else 1 if task.status.is_open else 2
