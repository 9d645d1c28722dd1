"""Plans and tasks as JSON. The shape is documented in `docs/reference/json.md`."""

from __future__ import annotations

from tildone.core.query import next_task, tasks_with_phase
from tildone.history.matching import longest_increasing
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from tildone.core.plan import Plan
    from tildone.core.query import TaskInPhase
    from tildone.core.reduce import Outcome

    Data = dict[str, object]


def plan_data(plan: Plan, session: str, *, only: Container[int] | None = None, positions: bool = False) -> Data:
    """Return a plan, or those of its tasks whose numbers are in `only`."""
    upcoming = next_task(plan)
    return {
        "session": session,
        "next": upcoming[1].number if upcoming else None,
        "phases": [phase.name for phase in plan.phases],
        "tasks": [
            _task_data(item, place if positions else None)
            for place, item in enumerate(tasks_with_phase(plan))
            if only is None or item.task.number in only
        ],
    }


def change_data(outcome: Outcome, session: str, *, positions: bool = False) -> Data:
    """Return the plan after a change, and the numbers of the tasks that were added, changed, moved or removed."""
    return {**plan_data(outcome.after, session, positions=positions), "changed": changed_numbers(outcome)}


def next_data(plan: Plan, session: str, *, positions: bool = False) -> Data:
    """Return the task to work on now; None if there is none."""
    upcoming = next_task(plan)
    task = None
    if upcoming:
        place = upcoming[0]
        task = _task_data(tasks_with_phase(plan)[place], place if positions else None)
    return {"session": session, "task": task}


def changed_numbers(outcome: Outcome) -> list[int]:
    """Return the numbers of the tasks that a change affected, in ascending order."""
    before = {item.task.number: item for item in tasks_with_phase(outcome.before)}
    after = {item.task.number: item for item in tasks_with_phase(outcome.after)}
    changed = {number for number in before.keys() | after.keys() if before.get(number) != after.get(number)}
    places = {number: place for place, number in enumerate(before)}
    in_order = [places[number] for number in after if number in places]
    stayed = longest_increasing(in_order)
    return sorted(changed | {number for number in after if number in places and places[number] not in stayed})


def _task_data(item: TaskInPhase, position: int | None) -> Data:
    task = item.task
    return {
        "number": task.number,
        **({} if position is None else {"position": position}),
        "text": task.text,
        "status": task.status.value,
        "phase": item.phase,
        "notes": list(task.notes),
    }
