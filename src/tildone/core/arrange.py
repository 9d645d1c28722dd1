"""Lists that replace a plan: a flat one is arranged into phases, and tasks that its author did not know are kept."""

from __future__ import annotations

from tildone.core.ops import SetCheck, Write
from tildone.core.plan import Phase, Plan
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.core.faults import Fault
    from tildone.core.ops import Op
    from tildone.core.plan import Task


def arrange(plan: Plan, tasks: Sequence[Task]) -> Plan:
    """Return the plan that consists of `tasks`, each in the phase that it has in `plan`.

    Tasks are matched by their text; a match also keeps its notes and its number. A task without a match is in the phase
    of the task before it. Phases that lose all their tasks are dropped.
    """
    matches: dict[str, list[tuple[int, Task]]] = {}
    for index, phase in enumerate(plan.phases):
        for task in phase.tasks:
            matches.setdefault(task.text, []).append((index, task))
    arranged: list[list[Task]] = [[] for _ in plan.phases] or [[]]
    index = 0
    for task in tasks:
        found = matches.get(task.text)
        if not found:
            arranged[index].append(task)
            continue
        index, old = found.pop(0)
        arranged[index].append(replace(old, status=task.status))
    before = plan.phases or (Phase(""),)
    pairs = zip(before, arranged, strict=True)
    return Plan(tuple(Phase(phase.name, tuple(its)) for phase, its in pairs if its or (phase.name and not phase.tasks)))


def with_unseen(plan: Plan, known: Plan, wanted: Plan) -> Plan:
    """Return `wanted` with the tasks of `plan` that its author did not know, each at the end of its phase.

    `known` is the plan that the author of `wanted` last saw. A task that others added since is thereby not lost.
    """
    seen = {task.text for task in (*known.tasks, *wanted.tasks)}
    return Plan(with_tasks(plan, wanted, lambda task: task.text not in seen).phases)


def with_tasks(plan: Plan, wanted: Plan, keeps: Callable[[Task], bool]) -> Plan:
    """Return `wanted` with the tasks of `plan` for which `keeps` is true, each at the end of its phase."""
    phases = list(wanted.phases)
    for phase in plan.phases:
        tasks = tuple(filter(keeps, phase.tasks))
        if not tasks:
            continue
        index = next((index for index, each in enumerate(phases) if each.name == phase.name), None)
        if index is None:
            phases.append(Phase(phase.name, tasks))
        else:
            phases[index] = Phase(phase.name, phases[index].tasks + tasks)
    return replace(wanted, phases=tuple(phases))


def written(plan: Plan) -> tuple[Op, ...]:
    """Return the steps that replace a plan with this one, which came from a file or another session."""
    return (Write(plan.phases), *((SetCheck(None, plan.check),) if plan.check is not None else ()))


def keep_unseen(steps: Callable[[Plan], Sequence[Op | Fault]], known: Plan) -> Callable[[Plan], Sequence[Op | Fault]]:
    """Return the steps of a tool that replaces the plan, with the tasks that others added since `known`."""

    def keep(plan: Plan) -> Sequence[Op | Fault]:
        return [
            Write(with_unseen(plan, known, Plan(step.phases)).phases) if isinstance(step, Write) else step
            for step in steps(plan)
        ]

    return keep
