"""Rebasing: ops on the plan that a person saw become steps on the plan as it is now, or clashes.

Theory of operation. The head that a request names pins the plan that its positions refer to. Meanwhile, others may have
changed the plan. The tasks of both plans are matched, so that each op concerns the task that the person meant, wherever
it is now. An op fits if nobody has changed what it changes:

- a status, if it is the one that the person saw, or already the one that they want;
- a text, an order and the files of a task, likewise;
- a removal, if the task is as the person saw it, or gone already;
- a note or a new task always fits;
- a place never clashes: if the neighbour is gone, the task goes behind the one above, else to the end of its phase.

If one op does not fit, nothing is applied, and every clash is reported with all three values. So each answer is either
the change as it was meant, or a clash: no change by others is overwritten unseen.
"""

from __future__ import annotations

from typing import assert_never

from tildone.core.ops import Append, Mark, Move, Note, Numbered, Order, Remove, Rename, Touch
from tildone.core.plan import Plan, Task
from tildone.core.reduce import Step
from tildone.history.matching import match_plans, task_at, task_locations
from tildone.value import value
from tildone.web.editing.ops import (
    AppendTasks,
    BoardOp,
    InsertTasks,
    MarkTasks,
    MoveTasks,
    NoteOnTask,
    OrderTask,
    RemoveTasks,
    RewordTask,
    TouchFiles,
)

TEXT, STATUS, TASK = "text", "status", "task"
ORDER, FILES = "order", "files"
REMOVED = "removed"


@value
class Clash:
    """What a person and somebody else both changed. `at` is the position that the person saw, `now` the one now.

    `number` is the number of the task, and `now` is None if it is gone.
    """

    at: int
    now: int | None
    number: int
    field: str
    base: str
    theirs: str
    yours: str


class Rebase:
    """The tasks of the plan that a person saw (`base`), and what became of them in the plan `now`."""

    def __init__(self, base: Plan, now: Plan) -> None:
        self._base, self._now = base, now
        self.clashes: list[Clash] = []
        self._last_number = max(now.last_number, max((task.number for task in now.tasks), default=0))
        self._added = 0
        """How many tasks the steps so far add: they get the next numbers."""
        places = {location: index for index, location in enumerate(task_locations(now))}
        origins = match_plans(base, now).origins
        found = {origin: location for location, origin in origins.items()}
        self._tasks = [
            (task_at(base, location), _found(now, found.get(location)), places.get(found.get(location, (-1, -1))))
            for location in task_locations(base)
        ]
        self._phases = [phase.name for phase in base.phases for _ in phase.tasks]

    def steps(self, op: BoardOp) -> list[Step]:
        """Return the steps of an op that fits; else its clashes are noted, and there are no steps."""
        match op:
            case MarkTasks(positions):
                return [step for at in positions for step in self._mark(at, op)]
            case RewordTask():
                return self._reword(op)
            case NoteOnTask(at, text):
                task = self._present(at, text, TASK)
                return [Note(Numbered((task.number,)), text)] if task else []
            case AppendTasks(texts, phase):
                return self._append(texts, phase)
            case InsertTasks():
                return self._insert(op)
            case MoveTasks():
                return self._move(op)
            case RemoveTasks(positions):
                return [step for at in positions for step in self._remove(at)]
            case OrderTask(at, after):
                return self._order(at, after)
            case TouchFiles(at, globs):
                return self._touch(at, globs)
            case _:
                assert_never(op)

    def _mark(self, at: int, op: MarkTasks) -> list[Step]:
        seen, now, _ = self._tasks[at]
        if now is None or now.status not in (seen.status, op.status):
            self._clash(at, STATUS, seen.status.value, op.status.value)
            return []
        return [Mark(Numbered((now.number,)), op.status)]

    def _reword(self, op: RewordTask) -> list[Step]:
        seen, now, _ = self._tasks[op.at]
        base = seen.text if op.base is None else op.base
        if now is None or now.text not in (base, op.text):
            self._clash(op.at, TEXT, base, op.text)
            return []
        return [Rename(Numbered((now.number,)), op.text)]

    def _remove(self, at: int) -> list[Step]:
        seen, now, _ = self._tasks[at]
        if now is None:
            return []
        field = TEXT if now.text != seen.text else STATUS if now.status is not seen.status else TASK
        if (now.text, now.status, now.notes) != (seen.text, seen.status, seen.notes):
            self._clash(at, field, seen.text if field == TEXT else seen.status.value, REMOVED)
            return []
        return [Remove(Numbered((now.number,)))]

    def _order(self, at: int, after: tuple[int, ...]) -> list[Step]:
        seen, now, _ = self._tasks[at]
        if now is None or now.after not in (seen.after, after):
            self._clash(at, ORDER, _numbers(seen.after), _numbers(after))
            return []
        return [Order(Numbered((now.number,)), after)]

    def _touch(self, at: int, globs: tuple[str, ...]) -> list[Step]:
        seen, now, _ = self._tasks[at]
        if now is None or now.touches not in (seen.touches, globs):
            self._clash(at, FILES, ", ".join(seen.touches), ", ".join(globs))
            return []
        return [Touch(Numbered((now.number,)), globs)]

    def _move(self, op: MoveTasks) -> list[Step]:
        numbers = tuple(task.number for at in op.at if (task := self._present(at, "moved", TASK)))
        if len(numbers) < len(op.at) or op.before in op.at:
            return []
        if op.before is None:
            return [Move(Numbered(numbers), phase=op.phase)]
        return [self._placed(numbers, op.before)]

    def _append(self, texts: tuple[str, ...], phase: str | None) -> list[Step]:
        self._added += len(texts)
        return [Append(tuple(map(Task, texts)), "" if phase is None and not self._now.phases else phase)]

    def _insert(self, op: InsertTasks) -> list[Step]:
        if op.at == len(self._tasks):
            return self._append(op.texts, None)
        first = self._last_number + self._added + 1
        appended = self._append(op.texts, self._phases[op.at])
        return [*appended, self._placed(tuple(range(first, first + len(op.texts))), op.at)]

    def _placed(self, numbers: tuple[int, ...], at: int) -> Move:
        """Return the move of tasks to the place where the person saw the task at a position.

        That is in front of it. If it is gone, it is behind the neighbour above; else, the end of its phase.
        """
        now = self._tasks[at][1]
        if now is None:
            phase = self._phases[at]
            above = [self._tasks[index][1] for index in range(at) if self._phases[index] == phase]
            present = [task.number for task in above if task and task.number not in numbers]
            following = self._following(present[-1], numbers) if present else None
            return (
                Move(Numbered(numbers), Numbered((following,))) if following else Move(Numbered(numbers), phase=phase)
            )
        return Move(Numbered(numbers), Numbered((now.number,)))

    def _following(self, number: int, without: tuple[int, ...]) -> int | None:
        """Return the number of the task that now follows another one in its phase, without those that move."""
        for phase in self._now.phases:
            numbers = [task.number for task in phase.tasks if task.number not in without]
            if number in numbers:
                return next(iter(numbers[numbers.index(number) + 1 :]), None)
        return None

    def _present(self, at: int, yours: str, field: str) -> Task | None:
        seen, now, _ = self._tasks[at]
        if now is None:
            self._clash(at, field, seen.text, yours)
        return now

    def _clash(self, at: int, field: str, base: str, yours: str) -> None:
        seen, now, place = self._tasks[at]
        theirs = REMOVED if now is None else _shown(now, field)
        self.clashes.append(Clash(at, place, seen.number, field, base, theirs, yours))


def _shown(task: Task, field: str) -> str:
    """Return the part of a task that a clash is about, as a text."""
    if field == ORDER:
        return _numbers(task.after)
    return task.text if field == TEXT else ", ".join(task.touches) if field == FILES else task.status.value


def _numbers(numbers: tuple[int, ...]) -> str:
    return ", ".join(f"#{number}" for number in numbers)


def _found(plan: Plan, location: tuple[int, int] | None) -> Task | None:
    return None if location is None else task_at(plan, location)
