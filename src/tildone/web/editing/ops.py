"""The ops of a request: what a person asks for, by the positions of tasks in the plan that they saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tildone.core.plan import Status
from tildone.value import value

MAX_OPS, MAX_POSITIONS = 100, 1000
MAX_CHARACTERS = 100_000


class BadOps(ValueError):
    """The ops are not as documented; the message says which one, and why."""


@value
class MarkTasks:
    """Set the status of tasks."""

    at: tuple[int, ...]
    status: Status


@value
class RewordTask:
    """Change the text of a task. `base` is the text that the person saw, if it is older than the plan."""

    at: int
    text: str
    base: str | None = None


@value
class NoteOnTask:
    """Add a note to a task."""

    at: int
    text: str


@value
class AppendTasks:
    """Add tasks at the end of a phase; None means the last phase."""

    texts: tuple[str, ...]
    phase: str | None = None


@value
class InsertTasks:
    """Add tasks in front of the one at a position; the position after the last task is the end."""

    texts: tuple[str, ...]
    at: int


@value
class MoveTasks:
    """Move tasks in front of another one; without one, to the end of a phase, or of the plan."""

    at: tuple[int, ...]
    before: int | None = None
    phase: str | None = None


@value
class RemoveTasks:
    """Remove tasks."""

    at: tuple[int, ...]


@value
class OrderTask:
    """Say after which tasks, by number, a task is worked on."""

    at: int
    after: tuple[int, ...]


@value
class TouchFiles:
    """Say which files, as globs, a task will change."""

    at: int
    globs: tuple[str, ...]


BoardOp = (
    MarkTasks | RewordTask | NoteOnTask | AppendTasks | InsertTasks | MoveTasks | RemoveTasks | OrderTask | TouchFiles
)


def parse_ops(given: object, total: int) -> tuple[BoardOp, ...]:
    """Return the ops of a request about a plan of so many tasks.

    Raises:
        BadOps: they are not as documented, or name a task that the plan has not.
    """
    if not isinstance(given, list) or not 0 < len(given) <= MAX_OPS:
        raise BadOps(f"ops has to be a list of 1 to {MAX_OPS} ops.")
    return tuple(_parsed(_Fields(each, total)) for each in given)


class _Fields:
    """The fields of one op."""

    def __init__(self, given: object, total: int) -> None:
        if not isinstance(given, dict) or not isinstance(given.get("op"), str):
            raise BadOps("An op is an object with the field op.")
        self._given: Mapping[str, Any] = given
        self._total = total
        self.name: str = given["op"]

    def positions(self) -> tuple[int, ...]:
        found = self._given.get("at")
        found = found if isinstance(found, list) else [found]
        if not 0 < len(found) <= MAX_POSITIONS:
            raise self.bad(f"at has to be a list of 1 to {MAX_POSITIONS} positions")
        return tuple(dict.fromkeys(self._position(each, self._total - 1) for each in found))

    def position(self, name: str = "at", *, beyond: int = 0) -> int:
        found = self._given.get(name)
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
        return self._position(found, self._total - 1 + beyond)

    def text(self, name: str = "text") -> str:
        found = self._given.get(name)
        if not isinstance(found, str):
            raise self.bad(f"{name} has to be a text")
        if not found.strip():
            raise self.bad(f"{name} is empty")
        if len(found) > MAX_CHARACTERS:
            raise self.bad(f"{name} is longer than {MAX_CHARACTERS:,} characters")
        return found

    def optional(self, name: str) -> str | None:
        found = self._given.get(name)
        if found is not None and not isinstance(found, str):
            raise self.bad(f"{name} has to be a text")
        return found

    def texts(self) -> tuple[str, ...]:
        """The texts of new tasks: `text`, or `tasks` with a text each."""
        if "tasks" not in self._given:
            return (self.text(),)
        tasks = self._given["tasks"]
        if not isinstance(tasks, list) or not 0 < len(tasks) <= MAX_POSITIONS:
            raise self.bad("tasks has to be a list of tasks")
        return tuple(_Fields({"op": self.name, **each} if isinstance(each, dict) else each, 0).text() for each in tasks)

    def numbers(self, name: str) -> tuple[int, ...]:
        found = self._given.get(name)
        numbers = found if isinstance(found, list) and len(found) <= MAX_POSITIONS else [None]
        if any(not isinstance(each, int) or isinstance(each, bool) for each in numbers):
            raise self.bad(f"{name} has to be a list of numbers of tasks")
        return tuple(dict.fromkeys(numbers))

    def globs(self) -> tuple[str, ...]:
        found = self._given.get("globs")
        if not isinstance(found, list) or len(found) > MAX_POSITIONS:
            raise self.bad("globs has to be a list of globs")
        return tuple(_Fields({"op": self.name, "text": each}, 0).text() for each in found)

    def status(self) -> Status:
        found = self._given.get("status")
        known = {status.value: status for status in Status}
        if not isinstance(found, str) or found not in known:
            raise self.bad(f"status has to be one of {', '.join(known)}")
        return known[found]

    def has(self, name: str) -> bool:
        return self._given.get(name) is not None

    def bad(self, why: str) -> BadOps:
        return BadOps(f"{self.name[:20]}: {why}.")

    def _position(self, found: object, last: int) -> int:
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= last:
            raise self.bad(f"there is no task at {str(found)[:20]}")
        return found


def _parsed(fields: _Fields) -> BoardOp:
    match fields.name:
        case "mark":
            return MarkTasks(fields.positions(), fields.status())
        case "reword":
            return RewordTask(fields.position(), fields.text(), fields.optional("base"))
        case "note":
            return NoteOnTask(fields.position(), fields.text())
        case "append":
            return AppendTasks(fields.texts(), fields.optional("phase"))
        case "insert":
            return InsertTasks(fields.texts(), fields.position(beyond=1))
        case "move":
            before = fields.position("before") if fields.has("before") else None
            return MoveTasks(fields.positions(), before, fields.optional("phase"))
        case "remove":
            return RemoveTasks(fields.positions())
        case "order":
            return OrderTask(fields.position(), fields.numbers("after"))
        case "touch":
            return TouchFiles(fields.position(), fields.globs())
        case _:
            raise fields.bad("there is no such op")
