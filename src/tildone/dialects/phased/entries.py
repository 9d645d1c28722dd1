"""Phases as plain data, in the details of results and in the entries of a conversation."""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Status, Task
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

EDIT = "user_todo_edit"
"""The type of the custom entry that records a person's edit."""

SNAPSHOT = "tildone_plan"
"""The type of the custom entry that records a plan which no successful result contains."""

_STATUSES = {status.value: status for status in Status}


def phases_out(plan: Plan) -> list[dict[str, Any]]:
    """Return the plan as plain data. A task without notes has no `notes` field."""
    return [{"name": phase.name, "tasks": [_task_out(task) for task in phase.tasks]} for phase in plan.phases]


def phases_in(data: object) -> Plan:
    """Return the plan from plain data, ignoring unknown fields.

    Raises:
        ValueError: the data is not a list of phases.
    """
    try:
        return Plan(tuple(map(_phase_in, _list(data))))
    except (KeyError, TypeError) as error:
        message = f"not a list of phases: {error}"
        raise ValueError(message) from error


def recover(entries: Sequence[Mapping[str, Any]]) -> Plan | None:
    """Return the plan in the newest valid result, edit or snapshot, or None."""
    for entry in reversed(entries):
        data = _plan_data(entry)
        if not isinstance(data, dict):
            continue
        try:
            return phases_in(data.get("phases"))
        except ValueError:
            continue
    return None


def resumed(plan: Plan) -> Plan:
    """Return the plan without closed tasks and empty phases, for a conversation that is resumed."""
    remaining = (Phase(phase.name, tuple(task for task in phase.tasks if task.status.is_open)) for phase in plan.phases)
    return Plan(tuple(phase for phase in remaining if phase.tasks))


def _plan_data(entry: Mapping[str, Any]) -> object:
    """Return the part of an entry that may contain a plan."""
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
    text, status = _text(data["content"]), data.get("status")
    # A status that is missing, or that a later version may have added, must not bring back an older plan.
    known = _STATUSES.get(status, Status.PENDING) if isinstance(status, str) else Status.PENDING
    return Task(text, known, tuple(map(_text, _list(data.get("notes") or []))))


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    raise TypeError(given)


def _list(given: object) -> list[Any]:
    if isinstance(given, list):
        return given
    raise TypeError(given)
