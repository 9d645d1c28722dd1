"""The phases as details and entries of a conversation hold them."""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

EDIT = "user_todo_edit"
"""The custom entry of a person's edit."""

SNAPSHOT = "tildone_plan"
"""The custom entry of a plan that no successful result holds."""

_STATUSES = {status.value: status for status in Status}


def phases_out(plan: Plan) -> list[dict[str, Any]]:
    """The plan as plain data. A task without notes has no such field."""
    return [{"name": phase.name, "tasks": [_task_out(task) for task in phase.tasks]} for phase in plan.phases]


def phases_in(data: object) -> Plan:
    """The plan that such data stands for; fields that nobody asked for are left out.

    Raises:
        ValueError: this is no such data.
    """
    try:
        return Plan(tuple(map(_phase_in, _list(data))))
    except (KeyError, TypeError) as error:
        message = f"not a list of phases: {error}"
        raise ValueError(message) from error


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """The plan in the newest successful result, edit or snapshot that is readable."""
    for entry in reversed(entries):
        held = _held(entry)
        if not isinstance(held, dict):
            continue
        try:
            return phases_in(held.get("phases"))
        except ValueError:
            continue
    return None


def resumed(plan: Plan) -> Plan:
    """The plan when its conversation is opened again: open tasks, and phases that have any."""
    left = (Phase(phase.name, tuple(task for task in phase.tasks if task.status.is_open)) for phase in plan.phases)
    return Plan(tuple(phase for phase in left if phase.tasks))


def _held(entry: Mapping[str, Any]) -> object:
    """The part of an entry that may hold a plan."""
    match entry:
        case {"type": "custom", "customType": kind, "data": data} if kind in (EDIT, SNAPSHOT):
            return data
        case {"type": "message", "message": {"role": "toolResult", "toolName": "todo_write"} as result}:
            return None if result.get("isError") else result.get("details")
        case _:
            return None


def _task_out(task: Task) -> dict[str, Any]:
    plain: dict[str, Any] = {"content": task.text, "status": task.status.value}
    return plain | {"notes": list(task.notes)} if task.notes else plain


def _phase_in(data: Any) -> Phase:
    return Phase(_text(data["name"]), tuple(map(_task_in, _list(data["tasks"]))))


def _task_in(data: Any) -> Task:
    text, status = _text(data["content"]), _STATUSES[data["status"]]
    return Task(text, status, tuple(map(_text, _list(data.get("notes", [])))))


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    raise TypeError(given)


def _list(given: object) -> list[Any]:
    if isinstance(given, list):
        return given
    raise TypeError(given)
