"""Finds the tasks that a person names: by number, by position, by a part of the text, or by phase."""

from __future__ import annotations

from tildone.commands.answer import Answer, FailureReason, refusal
from tildone.commands.typed import phases_like, tasks_like
from tildone.core.plan import Plan, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LISTED = 5
MAX_DIGITS = 9


@value
class Targets:
    """The tasks that a person named. `phase` is the phase if they named a whole one."""

    tasks: tuple[Task, ...]
    phase: str | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the tasks."""
        return tuple(task.number for task in self.tasks)

    def __str__(self) -> str:
        """The tasks as a message names them."""
        if self.phase is not None:
            return f"all of {single_line(self.phase)}"
        return listed(self.tasks)


def task_number(word: str) -> int | None:
    """Return the number that a word means (`3`, `#3` or `[3]`), or None."""
    inner = word[1:-1] if word.startswith("[") and word.endswith("]") else word.removeprefix("#")
    return int(inner) if inner.isascii() and inner.isdecimal() and len(inner) <= MAX_DIGITS else None


def find_targets(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Targets | Answer:
    """Return the tasks that the words name, else all tasks of the phase that they name, else a refusal.

    If each word is a number, the words are numbers; otherwise they are one part of a text. With `positions`, a number
    in brackets is a position, as in lists of sessions whose agent uses positions.
    """
    found = find_tasks(plan, words, positions=positions)
    if not isinstance(found, Answer) or _all_numbers(words):
        return found
    query = " ".join(words)
    phases = phases_like(plan, query)
    if len(phases) == 1:
        return Targets(phases[0].tasks, phases[0].name)
    names = [f"the phase {single_line(phase.name)}" for phase in phases]
    return _unmatched("task or phase", query, [*map(label, tasks_like(plan, query)), *names])


def find_tasks(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Targets | Answer:
    """Return the tasks that the words name, or a refusal."""
    if _all_numbers(words):
        return _by_number(plan, words, positions=positions)
    query = " ".join(words)
    matching = tasks_like(plan, query)
    if len(matching) == 1:
        return Targets((matching[0],))
    return _unmatched("task", query, [*map(label, matching)])


def find_task(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Task | Answer:
    """Return the one task that the words name, or a refusal."""
    found = find_tasks(plan, words, positions=positions)
    if isinstance(found, Answer):
        return found
    if len(found.tasks) > 1:
        return refusal(FailureReason.USAGE, f"Name one task, not {len(found.tasks)}")
    return found.tasks[0]


def label(task: Task) -> str:
    """Return a task as a message names it."""
    return f"#{task.number} {single_line(task.text)}"


def listed(tasks: Sequence[Task]) -> str:
    """Return tasks as a message names them; of many, only the numbers."""
    if len(tasks) > MAX_LISTED:
        return f"{len(tasks)} tasks ({number_ranges(task.number for task in tasks)})"
    return "; ".join(map(label, tasks))


def number_ranges(numbers: Iterable[int]) -> str:
    """Return task numbers, with consecutive ones as a range: `#1-#3, #7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"#{run[0]}-#{run[-1]}" if len(run) > 1 else f"#{run[0]}" for run in runs)


def _all_numbers(words: Sequence[str]) -> bool:
    return bool(words) and all(task_number(word) is not None for word in words)


def _by_number(plan: Plan, words: Sequence[str], *, positions: bool) -> Targets | Answer:
    tasks = plan.tasks
    by_number = {task.number: task for task in tasks}
    found: dict[int, Task] = {}
    for word in words:
        number = task_number(word) or 0
        if positions and word.startswith("["):
            if number >= len(tasks):
                return _no_position(number, len(tasks))
            task = tasks[number]
        elif number not in by_number:
            return _no_number(number, plan)
        else:
            task = by_number[number]
        found[task.number] = task
    return Targets(tuple(found.values()))


def _no_number(number: int, plan: Plan) -> Answer:
    if 0 < number <= plan.last_number:
        known = f"it was removed; the plan has {_known(plan)}"
    else:
        known = f"the plan has {_known(plan)}"
    return refusal(FailureReason.UNMATCHED, f"There is no task #{number}: {known}")


def _known(plan: Plan) -> str:
    return number_ranges(task.number for task in plan.tasks) or "no tasks"


def _no_position(position: int, count: int) -> Answer:
    known = f"positions are [0] to [{count - 1}]" if count else "the plan has no tasks"
    return refusal(FailureReason.UNMATCHED, f"There is no task at position [{position}]: {known}")


def _unmatched(kind: str, query: str, candidates: list[str]) -> Answer:
    wanted = single_line(query)
    if not candidates:
        return refusal(FailureReason.UNMATCHED, f'No {kind} has "{wanted}" in it')
    some = "; ".join(candidates[:MAX_LISTED])
    more = "; …" if len(candidates) > MAX_LISTED else ""
    return refusal(FailureReason.UNMATCHED, f'"{wanted}" fits {len(candidates)}; name one by its number: {some}{more}')
