"""Origins: which tasks a person added, and where texts came from. Kept through every change, like task numbers."""

from __future__ import annotations

from tildone.core.plan import Phase, Plan, Task
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable


@value
class Origin:
    """Who adds tasks: whether a person does, and what the `source` of the tasks is, if they have none of their own."""

    by_user: bool = False
    source: str = ""


def keep_origins(before: Plan, after: Plan, new: Origin) -> Plan:
    """Return the plan `after` a change with the origin of each of its tasks.

    `new` is that of new tasks. A task is the same as before if it has the same number or, as in a list that was written
    anew, the same text. A task whose text has changed no longer has the source of the old text.
    """
    if not new.by_user and not new.source and not any(task.from_user or task.source for task in before.tasks):
        return after
    earlier = _finder(before, after)
    phases = []
    for phase in after.phases:
        tasks = []
        for task in phase.tasks:
            same = earlier(task)
            from_user = task.from_user or (new.by_user and not task.source if same is None else same.from_user)
            kept = same.source if same is not None and same.text == task.text else new.source
            origin = task.source if same is None and task.source else kept
            is_kept = task.from_user is from_user and task.source == origin
            tasks.append(task if is_kept else replace(task, from_user=from_user, source=origin))
        phases.append(Phase(phase.name, tuple(tasks)))
    return replace(after, phases=tuple(phases))


def with_source(plan: Plan, source: str) -> Plan:
    """Return the plan with `source` as the source of all tasks that have none."""
    phases = []
    for phase in plan.phases:
        tasks = (task if task.source else replace(task, source=source) for task in phase.tasks)
        phases.append(Phase(phase.name, tuple(tasks)))
    return replace(plan, phases=tuple(phases))


def with_imported_proofs(plan: Plan) -> Plan:
    """Return the plan with its proofs as those of a file: whoever wrote the file may have made them up."""
    phases = []
    for phase in plan.phases:
        tasks = (
            replace(task, proof=replace(task.proof, imported=True)) if task.proof else task for task in phase.tasks
        )
        phases.append(Phase(phase.name, tuple(tasks)))
    proof = replace(plan.proof, imported=True) if plan.proof else None
    return replace(plan, phases=tuple(phases), proof=proof)


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
