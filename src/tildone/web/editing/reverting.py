"""Taking back one change, whoever made it, while later changes stay.

The newest change is undone by moving the head, so that it can be redone. An older one is taken back by a new change,
if nobody has touched its tasks since: they become what they were before it. Otherwise it is refused, with what would go
with it.
"""

from __future__ import annotations

from tildone.core.check import Check
from tildone.core.ops import Numbered, Order, SetCheck, Touch
from tildone.core.plan import Phase, Plan, Task
from tildone.history.matching import PlanMatch, match_plans, task_at, task_locations
from tildone.value import replace


def plan_without(change: tuple[Plan, Plan], now: Plan) -> Plan | list[str]:
    """Return the plan of now without a change from one plan to another.

    If later changes have touched the same tasks, return the texts of those as they are now, or as they were.
    """
    made, since = match_plans(*change), match_plans(change[1], now)
    origins = {origin: location for location, origin in since.origins.items()}
    touched: list[str] = []
    restored: dict[tuple[int, int], Task | None] = {}
    for location in task_locations(made.after):
        before, after = made.earlier(location), task_at(made.after, location)
        if before is not None and _same(before, after):
            continue
        place = origins.get(location)
        today = None if place is None else task_at(now, place)
        if today is None or place is None or not _same(today, after):
            if today is not None or before is not None:
                touched.append((today or after).text)
            continue
        restored[place] = None if before is None else _as_before(today, before)
    if touched:
        return touched
    phases = [
        Phase(phase.name, tuple(task for j, each in enumerate(phase.tasks) if (task := restored.get((i, j), each))))
        for i, phase in enumerate(now.phases)
    ]
    return _with_removed(made, replace(now, phases=tuple(phases)))


def attributes_before(change: tuple[Plan, Plan], now: Plan) -> tuple[list[SetCheck | Order | Touch], list[str]]:
    """Return the steps that take back what a change did to checks, order and files.

    The second value are the texts of the tasks whose checks, order or files were changed again since.
    """
    before, after = change
    earlier, today = ({task.number: task for task in plan.tasks} for plan in (before, now))
    steps: list[SetCheck | Order | Touch] = []
    touched: list[str] = []
    if before.check != after.check:
        steps.append(SetCheck(None, before.check))
        touched += ["the check of the plan"] if now.check != after.check else []
    for task in after.tasks:
        was, current, target = earlier.get(task.number), today.get(task.number), Numbered((task.number,))
        if was is None or _attributes(was) == _attributes(task):
            continue
        if current is None or _attributes(current) != _attributes(task):
            touched.append((current or task).text)
            continue
        steps += [SetCheck(target, was.check), Order(target, was.after), Touch(target, was.touches)]
    return steps, touched


def _attributes(task: Task) -> tuple[Check | None, tuple[int, ...], tuple[str, ...]]:
    return task.check, task.after, task.touches


def _same(one: Task, other: Task) -> bool:
    return (one.text, one.status, one.notes) == (other.text, other.status, other.notes)


def _as_before(today: Task, before: Task) -> Task:
    return replace(today, text=before.text, status=before.status, notes=before.notes)


def _with_removed(made: PlanMatch, plan: Plan) -> Plan:
    """Return the plan with the tasks that a change removed, each behind the one that it followed."""
    kept = set(made.origins.values())
    phases = list(plan.phases)
    for i, j in task_locations(made.before):
        if (i, j) in kept:
            continue
        task, name = task_at(made.before, (i, j)), made.before.phases[i].name
        index = next((at for at, phase in enumerate(phases) if phase.name == name), None)
        if index is None:
            index = len(phases)
            phases.append(Phase(name))
        above = {each.number for each in made.before.phases[i].tasks[:j]}
        tasks = phases[index].tasks
        place = max((at + 1 for at, each in enumerate(tasks) if each.number in above), default=0)
        phases[index] = replace(phases[index], tasks=(*tasks[:place], task, *tasks[place:]))
    return replace(plan, phases=tuple(phases))
