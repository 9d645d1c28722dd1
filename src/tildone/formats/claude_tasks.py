"""The task lists of Claude Code: one file per task or, in older versions, one list of todos."""

from __future__ import annotations

from heapq import heappop, heappush

from tildone.core.plan import Status, Task, flat
from tildone.formats.conversion import ImportedPlan, WarningCollector
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    Json = Mapping[str, Any]

STATUSES = {
    "pending": Status.PENDING,
    "in_progress": Status.IN_PROGRESS,
    "completed": Status.COMPLETED,
    "cancelled": Status.ABANDONED,
}
DELETED = "deleted"
MAX_ID_DIGITS = 9

_FIELDS = {"id", "subject", "content", "description", "status", "blocks", "blockedBy", "owner", "priority", "metadata"}


@value
class _Found:
    """A task with its number, the numbers of its blockers (`after`) and of the tasks that it blocks (`before`)."""

    number: int
    task: Task
    after: frozenset[int]
    before: frozenset[int]


def is_task_file(data: object) -> bool:
    """Whether this is the content of a task file."""
    return isinstance(data, dict) and isinstance(data.get("subject"), str)


def is_todo_list(data: object) -> bool:
    """Whether this is a list of todos, which may be empty."""
    return isinstance(data, list) and all(map(_is_todo, data))


def read_task_files(files: Iterable[object]) -> ImportedPlan:
    """The plan in these task files: in the order of their numbers, but each task after its blockers.

    Raises:
        ValueError: one of them is not a task file.
    """
    warnings = WarningCollector("task")
    found: list[_Found] = []
    for number, data in sorted(_numbered(files), key=lambda pair: pair[0]):
        if data.get("status") == DELETED:
            warnings.add("it is marked as deleted and is not imported", number)
        else:
            task = _task(data["subject"], data, number, warnings)
            found.append(_Found(number, task, _numbers(data.get("blockedBy")), _numbers(data.get("blocks"))))
    return ImportedPlan(flat(*(each.task for each in _in_order(found, warnings))), warnings.all())


def read_todo_list(data: object) -> ImportedPlan:
    """The plan in a list of todos.

    Raises:
        ValueError: the data are not a list of todos.
    """
    if not isinstance(data, list) or not is_todo_list(data):
        raise ValueError("not a list of todos")
    warnings = WarningCollector("task")
    found = [_task(each["content"], each, number, warnings) for number, each in enumerate(data, start=1)]
    return ImportedPlan(flat(*found), warnings.all())


def _numbered(files: Iterable[object]) -> Iterator[tuple[int, Json]]:
    """The tasks with their numbers; a task without a numeric id is numbered by its place."""
    for place, data in enumerate(files, start=1):
        if not isinstance(data, dict) or not is_task_file(data):
            raise ValueError("not the file of a task: it has no subject")
        yield _number(data.get("id")) or place, data


def _is_todo(data: object) -> bool:
    return isinstance(data, dict) and isinstance(data.get("content"), str)


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
    """Fields that become notes."""
    description, metadata = data.get("description"), data.get("metadata")
    if description and description != text:
        yield _text(description)
    for field in ("owner", "priority"):
        if data.get(field):
            warnings.add(f"its {field} is kept as a note", number)
            yield f"{field}: {_text(data[field])}"
    if metadata:
        warnings.add("its metadata have no place in a plan; they are kept as a note", number)
        listed = metadata.items() if isinstance(metadata, dict) else [("metadata", metadata)]
        yield "\n".join(f"{key}: {_text(held)}" for key, held in listed)


def _text(held: object) -> str:
    return held if isinstance(held, str) else codec.dump(held)


def _number(held: object) -> int:
    """The numeric id of a task; 0 if it has none."""
    word = str(held)
    return int(word) if word.isascii() and word.isdecimal() and len(word) <= MAX_ID_DIGITS else 0


def _numbers(held: object) -> frozenset[int]:
    return frozenset(map(_number, held)) - {0} if isinstance(held, list) else frozenset()


def _in_order(queue: list[_Found], warnings: WarningCollector) -> list[_Found]:
    """The tasks in order, but each after its blockers. Tasks in a cycle come last."""
    places = {each.number: place for place, each in enumerate(queue)}
    waits = [{places[number] for number in each.after if number in places} for each in queue]
    for place, each in enumerate(queue):
        for number in each.before:
            if number in places:
                waits[places[number]].add(place)
    for place, others in enumerate(waits):
        if others:
            warnings.add("it is placed after its blockers; the dependency is not imported", queue[place].number)
    order = _after(waits)
    cycle = sorted(set(range(len(queue))).difference(order))
    if cycle:
        warnings.add("they block each other, so they come last", *(queue[place].number for place in cycle))
    return [queue[place] for place in (*order, *cycle)]


def _after(waits: list[set[int]]) -> list[int]:
    """A topological order of the places, stable where possible; places in a cycle are missing."""
    followers: dict[int, list[int]] = {}
    for place, others in enumerate(waits):
        for other in others:
            followers.setdefault(other, []).append(place)
    left = [len(others) for others in waits]
    ready = [place for place, count in enumerate(left) if not count]
    order: list[int] = []
    while ready:
        place = heappop(ready)
        order.append(place)
        for follower in followers.get(place, ()):
            left[follower] -= 1
            if not left[follower]:
                heappush(ready, follower)
    return order
