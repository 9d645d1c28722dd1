"""What an agent can do to its plan, whatever its dialect: a change, as the calls and commands that make it.

A dialect without an operation for a change rewrites its list, if it can; otherwise the agent types a command of tildone
in its shell. So every agent can do everything.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tildone.plan.dialects.declared import WORDS
from tildone.plan.model import Plan, Status, Task

PHASE = "Work"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool of the dialect."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of tildone that the agent types in its shell."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Touch:
    """A change of a file in the project."""

    text: str


Action = Call | Command | Touch


@dataclass(frozen=True, slots=True)
class Mark:
    """Set the status of the tasks at these positions."""

    status: Status
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Add:
    """Add tasks at the end."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the task at this position."""

    position: int


@dataclass(frozen=True, slots=True)
class Rename:
    """Change the text of the task at this position."""

    position: int
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Add a note to the task at this position."""

    position: int
    text: str


@dataclass(frozen=True, slots=True)
class ToEnd:
    """Move the task at this position to the end."""

    position: int


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace the whole list with pending tasks."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """List the tasks."""


Change = Mark | Add | Remove | Rename | Note | ToEnd | Replace | Look

ACTIVE, DONE, DROPPED, BLOCKED = Status.IN_PROGRESS, Status.COMPLETED, Status.ABANDONED, Status.BLOCKED
VERBS = {ACTIVE: "start", DONE: "done", DROPPED: "drop", Status.PENDING: "reopen", BLOCKED: "block"}
INDEXED_ACTIONS = {ACTIVE: "start", DONE: "complete", DROPPED: "abandon"}


def typed(plan: Plan, change: Change) -> Action:
    """Return the command with which a change is made in a shell."""

    def number(position: int) -> str:
        return str(plan.tasks[position].number)

    match change:
        case Mark(status, positions):
            verb = (
                "unblock" if status is Status.PENDING and plan.tasks[positions[0]].status is BLOCKED else VERBS[status]
            )
            return Command(("todo", verb, *map(number, positions)))
        case Add(texts):
            return Command(("todo", "add", "--", *texts))
        case Remove(position):
            return Command(("todo", "rm", number(position)))
        case Rename(position, text):
            return Command(("todo", "rename", number(position), text))
        case Note(position, text):
            return Command(("todo", "note", number(position), text))
        case ToEnd(position):
            return Command(("todo", "move", number(position), "--last"))
        case Replace() | Look():
            raise ValueError(change)


def brief(plan: Plan, change: Change) -> Action:
    def number(position: int) -> int:
        return plan.tasks[position].number

    match change:
        case Mark(status, positions) if status in (ACTIVE, DONE, DROPPED):
            return Call("todo", {VERBS[status]: list(map(number, positions))})
        case Mark(status, (position,)) if status is BLOCKED:
            return Call("todo", {"block": f"{number(position)} waits"})
        case Add(texts):
            return Call("todo", {"add": list(texts)})
        case Note(position, text):
            return Call("todo", {"note": f"{number(position)} {text}"})
        case ToEnd(position):
            return Call("todo", {"move": str(number(position))})
        case Replace(texts):
            left = [task.number for task in plan.tasks if task.status.is_open]
            return Call("todo", {**({"drop": left} if left else {}), "add": list(texts)})
        case Look():
            return Call("todo", {})
        case _:
            return typed(plan, change)


def indexed(plan: Plan, change: Change) -> Action:
    def write(mode: str, texts: Sequence[str]) -> Call:
        return Call("write_todos", {"mode": mode, "todos": [{"text": text} for text in texts]})

    match change:
        case Mark(status, positions) if status in INDEXED_ACTIONS:
            return Call("edit_todos", {"action": INDEXED_ACTIONS[status], "indices": list(positions)})
        case Add(texts):
            return write("append", texts)
        case Look():
            return Call("list_todos", {})
        case Mark() | Note():
            return typed(plan, change)
        case _:
            return write("replace", [task.text for task in rewritten(plan, change)])


def phased(plan: Plan, change: Change) -> Action:
    def ops(*entries: dict[str, Any]) -> Call:
        return Call("todo_write", {"ops": list(entries)})

    match change:
        case Mark(status, positions) if status in (ACTIVE, DONE, DROPPED):
            return ops(*({"op": VERBS[status], "task": plan.tasks[position].text} for position in positions))
        case Add(texts):
            return ops({"op": "append", "phase": plan.phases[-1].name if plan.phases else PHASE, "items": list(texts)})
        case Remove(position):
            return ops({"op": "rm", "task": plan.tasks[position].text})
        case Note(position, text):
            return ops({"op": "note", "task": plan.tasks[position].text, "text": text})
        case Mark() | Look():
            # A call that names no task reads the list, and is refused.
            return ops({"op": "start", "task": "?"}) if isinstance(change, Look) else typed(plan, change)
        case _:
            items = [task.text for task in rewritten(plan, change)]
            return ops({"op": "init", "list": [{"phase": PHASE, "items": items}]})


def declared(plan: Plan, change: Change) -> Action:
    if isinstance(change, Note) or (isinstance(change, Mark) and change.status is BLOCKED):
        return typed(plan, change)
    todos = [{"content": task.text, "status": WORDS[task.status]} for task in rewritten(plan, change)]
    return Call("TodoWrite", {"summary": "Work", "todos": todos})


def rewritten(plan: Plan, change: Change) -> list[Task]:
    """Return the tasks of a plan after a change, for dialects that send the whole list."""
    tasks = list(plan.tasks)
    match change:
        case Mark(status, positions):
            if status is ACTIVE:
                tasks = [Task(task.text, Status.PENDING) if task.status is ACTIVE else task for task in tasks]
            for position in positions:
                tasks[position] = Task(tasks[position].text, status)
        case Add(texts):
            tasks += map(Task, texts)
        case Remove(position):
            del tasks[position]
        case Rename(position, text):
            tasks[position] = Task(text, tasks[position].status)
        case ToEnd(position):
            tasks.append(tasks.pop(position))
        case Replace(texts):
            tasks = list(map(Task, texts))
        case Look() | Note():
            pass
    return tasks


Translate = Callable[[Plan, Change], Action]
DIALECTS: dict[str, Translate] = {"indexed": indexed, "phased": phased, "declared": declared, "brief": brief}

ROOM = {"indexed": 99, "phased": 100, "declared": 9, "brief": 60}
"""How many tasks an honest worker plans at a time: as many as the dialect holds, with their parts."""

REWRITES = frozenset({"indexed", "declared"})
"""The dialects whose agents replace the whole list."""
