"""How much of a plan a model is told at once. The plan itself is never cut.

If a list does not fit, the texts in it are cut, so that every task keeps its line. Tasks in progress keep their whole
texts: a model reads the text of any task by starting it. Only if the lines do not fit even so, tasks are left out and
counted: closed ones first, so that open ones come up as others are closed. The limits are in characters; four are about
one token.
"""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Entry = tuple[Task, Callable[[int], str]]
    """A task, and a function that returns what a list has of it, with at most that many characters of its text."""

MAX_TEXT = 2_000
"""Of the text of a task, the name of a phase, or a note."""

MIN_TEXT = 60
"""To how many characters texts are cut before tasks are left out."""

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


def bounded_list(entries: Sequence[Entry], max_characters: int) -> list[str]:
    """Return what a list has of each task, cut or left out where it does not fit, and lines that say so."""
    sizes = fitting(entries, max_characters)
    lines = [line(size) for (_, line), size in zip(entries, sizes, strict=True) if size]
    return [*lines, *omissions([task for task, _ in entries], sizes)]


def fitting(entries: Sequence[Entry], max_characters: int, min_text: int = MIN_TEXT) -> list[int]:
    """Return how many characters of the text of each task fit; 0 for a task that is left out."""
    return (
        _all_fitting(entries, max_characters, min_text, spares_active=True)
        or _all_fitting(entries, max_characters, min_text, spares_active=False)
        or _most_important(entries, max_characters, min_text)
    )


def omissions(tasks: Sequence[Task], sizes: Sequence[int]) -> list[str]:
    """Return lines that say which texts were cut and how many tasks were left out, if any, and how to see them."""
    lines = list[str]()
    told = [(task, size) for task, size in zip(tasks, sizes, strict=True) if size]
    if any(size < min(len(task.text), MAX_TEXT) for task, size in told):
        is_spared = all(size == MAX_TEXT for task, size in told if task.status is Status.IN_PROGRESS)
        lines.append(f"{ELLIPSIS} long texts are cut{', except of tasks in progress' if is_spared else ''}")
    if left := [task for task, size in zip(tasks, sizes, strict=True) if not size]:
        when = ", listed as others are closed" if any(task.status.is_open for task in left) else ""
        lines.append(f"{ELLIPSIS} and {len(left):,} more task{'s' if len(left) > 1 else ''}{when}")
    return lines


@value
class Part:
    """A part of a plan, with lines that say what is missing, and the number of the tasks that were left out."""

    plan: Plan
    omissions: tuple[str, ...] = ()
    omitted: int = 0


def bounded_plan(plan: Plan, max_characters: int, min_text: int = MIN_TEXT) -> Part:
    """Return the plan, or the part of it that fits, with texts cut to no less than `min_text` characters."""
    if sum(_size(_written(phase, task)) for phase in plan.phases for task in phase.tasks) <= max_characters:
        return Part(plan)
    phases = [Phase(clipped(phase.name), tuple(map(_with_newest_notes, phase.tasks))) for phase in plan.phases]
    entries = [_entry(phase, task) for phase in phases for task in phase.tasks]
    sizes = fitting(entries, max_characters, min_text)
    size_of = iter(sizes)
    kept = [
        Phase(
            phase.name,
            tuple(replace(task, text=clipped(task.text, size)) for task in phase.tasks if (size := next(size_of))),
        )
        for phase in phases
    ]
    missing = omissions([task for task, _ in entries], sizes)
    return Part(Plan(tuple(phase for phase in kept if phase.tasks)), tuple(missing), sizes.count(0))


def bounded_lines(lines: Iterable[str], max_characters: int) -> list[str]:
    """Return as many of the lines as fit, and a line that counts the others."""
    given = list(lines)
    for index, line in enumerate(given):
        max_characters -= _size(line)
        if max_characters < 0:
            left = len(given) - index
            return [*given[:index], f"{ELLIPSIS} and {left:,} more line{'s' if left > 1 else ''}"]
    return given


def _all_fitting(
    entries: Sequence[Entry], max_characters: int, min_text: int, *, spares_active: bool
) -> list[int] | None:
    """Return the sizes with which all tasks fit; None if there are none."""

    def fits(size: int) -> bool:
        sizes = _sizes(entries, size, spares_active=spares_active)
        return sum(_size(line(size)) for (_, line), size in zip(entries, sizes, strict=True)) <= max_characters

    size = _largest_size(fits, min_text)
    return _sizes(entries, size, spares_active=spares_active) if size else None


def _most_important(entries: Sequence[Entry], max_characters: int, min_text: int) -> list[int]:
    """Return the sizes with which as many tasks fit as possible, the most important ones."""
    sizes = _sizes(entries, min_text, spares_active=True)
    for index in sorted(range(len(entries)), key=lambda index: _rank(entries[index][0])):
        max_characters -= _size(entries[index][1](sizes[index]))
        if max_characters < 0:
            sizes[index] = 0
    return sizes


def _largest_size(fits: Callable[[int], bool], min_text: int) -> int:
    """Return the largest size of texts that fits; 0 if none does."""
    if fits(MAX_TEXT):
        return MAX_TEXT
    if not fits(min_text):
        return 0
    low, high = min_text, MAX_TEXT
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _sizes(entries: Sequence[Entry], size: int, *, spares_active: bool) -> list[int]:
    """Return the size for each text, and the largest one for those of tasks in progress if they are spared."""
    return [MAX_TEXT if spares_active and task.status is Status.IN_PROGRESS else size for task, _ in entries]


def _entry(phase: Phase, task: Task) -> Entry:
    return task, lambda size: _written(phase, replace(task, text=clipped(task.text, size)))


def _written(phase: Phase, task: Task) -> str:
    """About what a list has of a task, with the name of its phase."""
    return "".join((phase.name, task.text, *task.notes, _MARKS))


def _with_newest_notes(task: Task) -> Task:
    """The task with its newest notes, as far as they fit."""
    notes, room = list[str](), MAX_TEXT
    for note in reversed(task.notes):
        notes.insert(0, clipped(note))
        room -= len(notes[0])
        if room < 0:
            del notes[0]
            break
    return replace(task, notes=tuple(notes))


def _size(line: str) -> int:
    """The length of a line and its end, as it is shown."""
    hidden = 0 if line.isprintable() else sum(not char.isprintable() for char in line)
    return len(line) + _SYMBOL * hidden + 1


def _rank(task: Task) -> int:
    return 0 if task.status is Status.IN_PROGRESS else 1 if task.status.is_open else 2
