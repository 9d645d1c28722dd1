"""Resolve selectors to spots in a plan.

A spot is the index of a phase and the index of a task within it.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace
from tildone.plan.faults import Fault, NoSuchNumber, NoTasks, OutOfRange, PhaseMissing, TaskMissing
from tildone.plan.model import Focus, Phase, Plan, Rules, Status, Task, is_ready
from tildone.plan.ops import At, Everything, InPhase, Named, Numbered, Selector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


Spot = tuple[int, int]


def resolve(plan: Plan, target: Selector, *, prefer_open: bool) -> list[Spot] | Fault:
    """Return the spots of the selected tasks; `prefer_open` applies if several tasks have the selected text."""
    match target:
        case At(indices):
            return _at(plan, indices)
        case Numbered(numbers):
            wanted = {number for number in numbers if number > 0}
            known = {
                task.number: (i, j)
                for i, phase in enumerate(plan.phases)
                for j, task in enumerate(phase.tasks)
                if task.number in wanted
            }
            missing = tuple([number for number in numbers if number not in known])
            return NoSuchNumber(missing) if missing else [known[number] for number in numbers]
        case Named():
            return _named(plan, target, prefer_open=prefer_open)
        case InPhase(name, display):
            index = phase_index(plan, name, display)
            if index is None:
                return PhaseMissing(name)
            return [(index, j) for j in range(len(plan.phases[index].tasks))]
        case Everything():  # exhaustive
            return spots_where(plan, lambda _: True)


def task_at(plan: Plan, spot: Spot) -> Task:
    return plan.phases[spot[0]].tasks[spot[1]]


def spots_where(plan: Plan, matches: Callable[[Task], bool]) -> list[Spot]:
    return [(i, j) for i, phase in enumerate(plan.phases) for j, task in enumerate(phase.tasks) if matches(task)]


def phase_index(plan: Plan, name: str | None, display: Callable[[str], str] = str) -> int | None:
    """Return the index of the phase with that name, exact or as displayed, or of the last phase if it is None."""
    if name is None:
        return len(plan.phases) - 1 if plan.phases else None
    names = [phase.name for phase in plan.phases]
    for known in (names, [*map(display, names)]):
        if name in known:
            return known.index(name)
    return None


def insertion_spot(plan: Plan, at: int) -> Spot:
    """Return the spot at which to insert at position `at`: the end of a phase rather than the start of the next."""
    for i, phase in enumerate(plan.phases[:-1]):
        if at <= len(phase.tasks):
            return i, at
        at -= len(phase.tasks)
    return len(plan.phases) - 1, at


def end_spot(plan: Plan, phase: str | None = None) -> list[Spot]:
    """Return the spot after the last task of a phase, None for the last one, in a list; an empty list without it."""
    index = phase_index(plan, phase)
    return [] if index is None else [(index, len(plan.phases[index].tasks))]


def _at(plan: Plan, indices: tuple[int, ...]) -> list[Spot] | Fault:
    total = len(plan.tasks)
    if not total:
        return NoTasks()
    outside = tuple([index for index in indices if not 0 <= index < total])
    if outside:
        return OutOfRange(outside, total - 1)
    spots = spots_where(plan, lambda _: True)
    return [spots[index] for index in indices]


def _named(plan: Plan, target: Named, *, prefer_open: bool) -> list[Spot] | Fault:
    """The task with that text. Of several, the first open one is preferred, so that each can be selected in turn.

    Of several texts that are displayed alike, none is meant.
    """
    text, display = target.text, target.display
    matches = spots_where(plan, lambda task: task.text == text)
    if not matches:
        shown = display(text)
        matches = spots_where(plan, lambda task: display(task.text) == shown)
    if len({task_at(plan, spot).text for spot in matches}) != 1:
        return TaskMissing(text, empty=not plan.tasks)
    open_matches = [spot for spot in matches if task_at(plan, spot).status.is_open] if prefer_open else []
    return (open_matches or matches)[:1]


def change_spots(plan: Plan, spots: Iterable[Spot], update: Callable[[Task], Task]) -> Plan:
    changed: dict[int, list[Task]] = {}
    for i, j in spots:
        if i not in changed:
            changed[i] = list(plan.phases[i].tasks)
        changed[i][j] = update(changed[i][j])
    if not changed:
        return plan
    phases = list(plan.phases)
    for i, tasks in changed.items():
        phases[i] = Phase(phases[i].name, tuple(tasks))
    return replace(plan, phases=tuple(phases))


def without_spots(plan: Plan, spots: Iterable[Spot]) -> Plan:
    removed = set(spots)
    phases = tuple(
        replace(phase, tasks=tuple(task for j, task in enumerate(phase.tasks) if (i, j) not in removed))
        for i, phase in enumerate(plan.phases)
    )
    return replace(plan, phases=phases)


def with_phase(plan: Plan, index: int, phase: Phase) -> Plan:
    return replace(plan, phases=(*plan.phases[:index], phase, *plan.phases[index + 1 :]))


def enforce_focus(plan: Plan, rules: Rules) -> Plan:
    """Return the plan with as many tasks in progress as the rules allow.

    If there are too many, only the first stays in progress. If one is required and there is none, the first pending
    task that waits for no other is promoted.
    """
    if rules.focus is Focus.ANY:
        return plan
    active = spots_where(plan, lambda task: task.status is Status.IN_PROGRESS)
    if len(active) > 1:
        return change_spots(plan, active[1:], lambda task: replace(task, status=Status.PENDING))
    if active or rules.focus is Focus.AT_MOST_ONE:
        return plan
    pending = spots_where(plan, lambda task: task.status is Status.PENDING and is_ready(plan, task))
    return change_spots(plan, pending[:1], lambda task: replace(task, status=Status.IN_PROGRESS))
