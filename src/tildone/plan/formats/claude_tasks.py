"""Import of Claude Code's task lists: one file per task or, in older versions, one list of todos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Any

from tildone.base import value
from tildone.plan import codec
from tildone.plan.formats import ImportedPlan, WarningCollector
from tildone.plan.model import Status, Task, flat
from tildone.plan.text.safe import printable

Json = Mapping[str, Any]

STATUSES = {
    "pending": Status.PENDING,
    "in_progress": Status.IN_PROGRESS,
    "completed": Status.COMPLETED,
    "cancelled": Status.ABANDONED,
}
DELETED = "deleted"
MAX_ID_DIGITS = 9
"""Longer ids are not used as numbers."""

_FIELDS = {"id", "subject", "content", "description", "status", "blocks", "blockedBy", "owner", "priority", "metadata"}


@value
class _NumberedTask:
    """A task with its number, the numbers of its blockers and those of the tasks that it blocks."""

    number: int
    task: Task
    blocked_by: frozenset[int]
    blocks: frozenset[int]


def is_task_file(data: object) -> bool:
    return isinstance(data, dict) and isinstance(data.get("subject"), str)


def is_todo_list(data: object) -> bool:
    return isinstance(data, list) and all(
        isinstance(each, dict) and isinstance(each.get("content"), str) for each in data
    )


def read_task_files(files: Iterable[object]) -> ImportedPlan:
    """Return the plan in these task files, in order of number but after blockers; `ValueError` if one is none."""
    warnings = WarningCollector("task")
    found: list[_NumberedTask] = []
    numbered: list[tuple[int, Json]] = []
    for place, data in enumerate(files, start=1):
        if not isinstance(data, dict) or not is_task_file(data):
            raise ValueError("not a task file: it has no subject")
        # A task without a numeric id is numbered by its place.
        numbered.append((_number(data.get("id")) or place, data))
    for number, data in sorted(numbered, key=lambda pair: pair[0]):
        if data.get("status") == DELETED:
            warnings.add("it is marked as deleted and is not imported", number)
        else:
            task = _task(data["subject"], data, number, warnings)
            found.append(_NumberedTask(number, task, _numbers(data.get("blockedBy")), _numbers(data.get("blocks"))))
    return ImportedPlan(flat(*(task.task for task in _in_order(found, warnings))), warnings.all())


def read_todo_list(data: object) -> ImportedPlan:
    """Return the plan in a list of todos; raise `ValueError` if the data are none."""
    if not isinstance(data, list) or not is_todo_list(data):
        raise ValueError("not a list of todos")
    warnings = WarningCollector("task")
    found = [_task(task["content"], task, number, warnings) for number, task in enumerate(data, start=1)]
    return ImportedPlan(flat(*found), warnings.all())


def _task(text: str, data: Json, number: int, warnings: WarningCollector) -> Task:
    word = data.get("status", "pending")
    status = STATUSES.get(word) if isinstance(word, str) else None
    if status is None:
        warnings.add(f"unknown status “{printable(_text(word))}”; it is imported as pending", number)
    for field in data:
        if field not in _FIELDS:
            warnings.add(f"the field {printable(field)} is not imported", number)
    return Task(text, status or Status.PENDING, tuple(_notes(text, data, number, warnings)))


def _notes(text: str, data: Json, number: int, warnings: WarningCollector) -> Iterator[str]:
    description, metadata = data.get("description"), data.get("metadata")
    if description and description != text:
        yield _text(description)
    for field in ("owner", "priority"):
        if data.get(field):
            warnings.add(f"its {field} is kept as a note", number)
            yield f"{field}: {_text(data[field])}"
    if metadata:
        warnings.add("its metadata is kept as a note", number)
        listed = metadata.items() if isinstance(metadata, dict) else [("metadata", metadata)]
        yield "\n".join(f"{key}: {_text(item)}" for key, item in listed)


def _text(data: object) -> str:
    return data if isinstance(data, str) else codec.dump(data)


def _number(data: object) -> int:
    word = str(data)
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= MAX_ID_DIGITS else 0


def _numbers(data: object) -> frozenset[int]:
    return frozenset(map(_number, data)) - {0} if isinstance(data, list) else frozenset()


def _in_order(tasks: list[_NumberedTask], warnings: WarningCollector) -> list[_NumberedTask]:
    """The tasks in order, but each after its blockers. Tasks in a cycle come last."""
    places = {task.number: place for place, task in enumerate(tasks)}
    blockers = [{places[number] for number in task.blocked_by if number in places} for task in tasks]
    for place, task in enumerate(tasks):
        for number in task.blocks:
            if number in places:
                blockers[places[number]].add(place)
    for place, others in enumerate(blockers):
        if others:
            warnings.add("it is placed after its blockers; the dependency is not imported", tasks[place].number)
    order = _topological_order(blockers)
    cycle = sorted(set(range(len(tasks))).difference(order))
    if cycle:
        warnings.add("they block each other, so they come last", *(tasks[place].number for place in cycle))
    return [tasks[place] for place in (*order, *cycle)]


def _topological_order(blockers: list[set[int]]) -> list[int]:
    """A topological order of the places, stable where possible; places in a cycle are missing."""
    blocked: dict[int, list[int]] = {}
    for place, others in enumerate(blockers):
        for other in others:
            blocked.setdefault(other, []).append(place)
    left = [len(others) for others in blockers]
    ready = [place for place, count in enumerate(left) if not count]
    order: list[int] = []
    while ready:
        place = heappop(ready)
        order.append(place)
        for successor in blocked.get(place, ()):
            left[successor] -= 1
            if not left[successor]:
                heappush(ready, successor)
    return order
