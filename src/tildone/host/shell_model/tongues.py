"""How the plan is written and ticked off in each dialect: the calls that a model of its family would make."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from tildone.core.plan import Plan, Status, Task
from tildone.dialects.base import Dialect
from tildone.dialects.declared import DECLARED
from tildone.dialects.declared.params import WORDS
from tildone.dialects.indexed import INDEXED
from tildone.dialects.indexed.params import ACTIONS
from tildone.dialects.phased import PHASED
from tildone.host.shell_model.script import Script
from tildone.value import replace, value

Call = tuple[str, dict[str, Any]]

_VERBS = {status: action for action, status in ACTIONS.items()}
_OPS = {Status.IN_PROGRESS: "start", Status.COMPLETED: "done", Status.ABANDONED: "drop"}


@value
class Tongue:
    """A dialect, and what is called in it to `write` the plan of a script and to `mark` a task of a plan."""

    dialect: Dialect
    write: Callable[[Script], Call]
    mark: Callable[[Script, Plan, str, Status], Call]


def spoken(offered: Collection[str]) -> Tongue | None:
    """The tongue whose tools are among those offered."""
    return next((each for each in TONGUES if all(tool.name in offered for tool in each.dialect.tools)), None)


def _indexed_write(script: Script) -> Call:
    return "write_todos", {"mode": "replace", "todos": [{"text": job.text} for job in script.jobs]}


def _indexed_mark(_script: Script, plan: Plan, text: str, status: Status) -> Call:
    position = [task.text for task in plan.tasks].index(text)
    return "edit_todos", {"action": _VERBS[status], "indices": [position]}


def _phased_write(script: Script) -> Call:
    phases = [{"phase": name, "items": [job.text for job in jobs]} for name, jobs in script.phases()]
    return "todo_write", {"ops": [{"op": "init", "list": phases}]}


def _phased_mark(_script: Script, _plan: Plan, text: str, status: Status) -> Call:
    return "todo_write", {"ops": [{"op": _OPS[status], "task": text}]}


def _declared_write(script: Script) -> Call:
    return _declared(script, [Task(job.text) for job in script.jobs])


def _declared_mark(script: Script, plan: Plan, text: str, status: Status) -> Call:
    return _declared(script, [replace(task, status=status) if task.text == text else task for task in plan.tasks])


def _declared(script: Script, tasks: list[Task]) -> Call:
    todos = [{"content": task.text, "status": WORDS[task.status]} for task in tasks]
    return "TodoWrite", {"summary": script.name, "todos": todos}


TONGUES = (
    Tongue(INDEXED, _indexed_write, _indexed_mark),
    Tongue(PHASED, _phased_write, _phased_mark),
    Tongue(DECLARED, _declared_write, _declared_mark),
)
