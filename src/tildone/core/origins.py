"""Origins: which tasks a person added. Kept through every change of a plan, like task numbers."""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable


def keep_origins(before: Plan, after: Plan, *, by_user: bool) -> Plan:
    """Return the plan `after` a change with the origin of each of its tasks; `by_user` is that of new tasks.

    A task is the same as before if it has the same number or, as in a list that was written anew, the same text.
    """
    if not by_user and not any(task.from_user for task in before.tasks):
        return after
    earlier = _finder(before, after)
    phases = []
    for phase in after.phases:
        tasks = []
        for task in phase.tasks:
            same = earlier(task)
            from_user = task.from_user or (by_user if same is None else same.from_user)
            tasks.append(task if task.from_user is from_user else replace(task, from_user=from_user))
        phases.append(Phase(phase.name, tuple(tasks)))
    return replace(after, phases=tuple(phases))


def _finder(before: Plan, after: Plan) -> Callable[[Task], Task | None]:
    """Return a function that finds the earlier version of a task, each at most once."""
    numbered = {task.number: task for task in before.tasks if task.number}
    taken = {task.number for task in after.tasks}
    by_text: dict[str, list[Task]] = {}
    for task in before.tasks:
        if not task.number or task.number not in taken:
            by_text.setdefault(task.text, []).append(task)

    def find(task: Task) -> Task | None:
        same = numbered.get(task.number)
        if same is not None:
            return same
        candidates = by_text.get(task.text)
        return candidates.pop(0) if candidates else None

    return find
