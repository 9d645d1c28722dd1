"""`reduce`: the plan after a batch of changes. Every transition is in this file.

`reduce` is pure, so that it can be repeated when another writer was faster (see `tildone.log.writer`). A step that
cannot be applied gives a fault instead of an exception.
"""

from __future__ import annotations

from tildone.core.faults import (
    AlreadyThere,
    BadPosition,
    EmptyNote,
    Fault,
    TextTooLong,
    TooManyActive,
    TooManyTasks,
)
from tildone.core.numbers import numbered
from tildone.core.ops import Append, At, Insert, Mark, Move, Named, Note, Numbered, Op, Remove, Selector, Write
from tildone.core.plan import Phase, Plan, Status, Task
from tildone.core.rules import Focus, Rules, first_too_long
from tildone.core.selection import Spot, end, phase_index, place, resolve, spots_where, task_at
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Step = Op | Fault


@value
class Outcome:
    """The result of a batch of steps: the plan before and after, and the faults."""

    before: Plan
    after: Plan
    faults: tuple[Fault, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the plan differs."""
        return self.after != self.before


def reduce(plan: Plan, steps: Iterable[Step], rules: Rules) -> Outcome:
    """Apply `steps` in order, then enforce the rules on the plan.

    A fault among the steps stands for a request that could not be expressed as an op. Under atomic rules the first
    fault discards the whole batch; otherwise the other steps are applied and the faults collected.
    """
    draft = numbered(plan, plan) if rules.numbered else plan
    faults: list[Fault] = []
    for step in steps:
        before = draft
        draft, more = _apply(draft, step, rules)
        if more and rules.atomic:
            return Outcome(plan, plan, more)
        faults.extend(more)
        if rules.numbered:
            # After each step, because the next one may name a task that this one added.
            draft = numbered(before, draft)
    after = enforce_focus(draft, rules)
    if plan.counted and not rules.numbered:
        after = numbered(plan, after)
    elif rules.numbered:
        after = Plan(after.phases, draft.counted)
    return Outcome(plan, after, tuple(faults))


def enforce_focus(plan: Plan, rules: Rules) -> Plan:
    """The plan with as many tasks in progress as the rules allow.

    Of several, the first stays in progress; of none, the first pending task is promoted where one is required.
    """
    if rules.focus is Focus.ANY:
        return plan
    active = spots_where(plan, lambda task: task.status is Status.IN_PROGRESS)
    if len(active) > 1:
        return _change(plan, active[1:], lambda task: replace(task, status=Status.PENDING))
    if active or rules.focus is Focus.AT_MOST_ONE:
        return plan
    pending = spots_where(plan, lambda task: task.status is Status.PENDING)
    return _change(plan, pending[:1], lambda task: replace(task, status=Status.IN_PROGRESS))


def _apply(plan: Plan, step: Step, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    match step:
        case Write(phases):
            return _write(plan, Plan(phases), rules)
        case Append(tasks, phase, anew):
            return _append(_begun_anew(plan) if anew else plan, tasks, phase, rules)
        case Insert(tasks, at):
            return _insert(plan, tasks, at, rules)
        case Mark(target, status):
            return _mark(plan, target, status, rules)
        case Move(target, before):
            return _move(plan, target, before)
        case Remove(target):
            return _remove(plan, target)
        case Note(target, text):
            return _note(plan, target, text)
        case fault:
            return plan, (fault,)


def _write(plan: Plan, fresh: Plan, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    tasks = fresh.tasks
    too_long = _length_fault(tasks, rules)
    if too_long:
        return plan, too_long
    active = sum(task.status is Status.IN_PROGRESS for task in tasks)
    if active > 1 and rules.focus is Focus.AT_MOST_ONE:
        return plan, (TooManyActive(active),)
    return fresh, ()


def _append(plan: Plan, tasks: tuple[Task, ...], name: str | None, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    fault = _length_fault(tasks, rules) or _count_fault(plan, tasks, rules)
    if fault:
        return plan, fault
    fresh, doubles = _without_doubles(plan, tasks) if rules.unique_texts else (tasks, ())
    where = phase_index(plan, name)
    if where is None:
        return Plan((*plan.phases, Phase(name or "", fresh))), doubles
    phase = plan.phases[where]
    return _with_phase(plan, where, replace(phase, tasks=phase.tasks + fresh)), doubles


def _insert(plan: Plan, tasks: tuple[Task, ...], at: int, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    total = len(plan.tasks)
    too_long = _length_fault(tasks, rules)
    if too_long:
        return plan, too_long
    if not 0 <= at <= total:
        return plan, (BadPosition(at, total),)
    too_many = _count_fault(plan, tasks, rules)
    if too_many:
        return plan, too_many
    if not plan.phases:
        return Plan((Phase("", tasks),)), ()
    where, offset = place(plan, at)
    phase = plan.phases[where]
    return _with_phase(plan, where, replace(phase, tasks=phase.tasks[:offset] + tasks + phase.tasks[offset:])), ()


def _mark(plan: Plan, target: Selector, status: Status, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    spots = resolve(plan, target, prefer_open=True)
    if not isinstance(spots, list):
        return plan, (spots,)
    if status is Status.IN_PROGRESS and rules.focus is not Focus.ANY:
        others = [spot for spot in spots_where(plan, lambda task: task.status is status) if spot not in spots]
        plan = _change(plan, others, lambda task: replace(task, status=Status.PENDING))
    return _change(plan, spots, lambda task: Task(task.text, status, task.notes, task.number)), ()


def _move(plan: Plan, target: Selector, before: Selector | None) -> tuple[Plan, tuple[Fault, ...]]:
    """Move tasks; a move before one of the moved tasks changes nothing."""
    spots = resolve(plan, target, prefer_open=True)
    if not isinstance(spots, list):
        return plan, (spots,)
    there = resolve(plan, before, prefer_open=True) if before else end(plan)
    if not isinstance(there, list):
        return plan, (there,)
    if not there or there[0] in spots:
        return plan, ()
    where, offset = there[0]
    rest = _without(plan, spots)
    offset -= sum(i == where and j < offset for i, j in set(spots))
    tasks = rest.phases[where].tasks
    moved = tuple(task_at(plan, spot) for spot in dict.fromkeys(spots))
    return _with_phase(rest, where, replace(rest.phases[where], tasks=tasks[:offset] + moved + tasks[offset:])), ()


def _remove(plan: Plan, target: Selector) -> tuple[Plan, tuple[Fault, ...]]:
    spots = resolve(plan, target, prefer_open=False)
    if not isinstance(spots, list):
        return plan, (spots,)
    return _without(plan, spots), ()


def _note(plan: Plan, target: Named | At | Numbered, text: str) -> tuple[Plan, tuple[Fault, ...]]:
    spots = resolve(plan, target, prefer_open=True)
    if not isinstance(spots, list):
        return plan, (spots,)
    if not text:
        return plan, (EmptyNote(),)
    return _change(plan, spots, lambda task: replace(task, notes=(*task.notes, text))), ()


def _begun_anew(plan: Plan) -> Plan:
    return plan if any(task.status.is_open for task in plan.tasks) else Plan()


def _without(plan: Plan, spots: Iterable[Spot]) -> Plan:
    gone = set(spots)
    phases = tuple(
        replace(phase, tasks=tuple(task for j, task in enumerate(phase.tasks) if (i, j) not in gone))
        for i, phase in enumerate(plan.phases)
    )
    return Plan(phases)


def _length_fault(tasks: tuple[Task, ...], rules: Rules) -> tuple[Fault, ...]:
    index = first_too_long((task.text for task in tasks), rules)
    return () if index is None else (TextTooLong(index, rules.max_text or 0),)


def _count_fault(plan: Plan, tasks: tuple[Task, ...], rules: Rules) -> tuple[Fault, ...]:
    current = len(plan.tasks)
    if rules.max_tasks is None or current + len(tasks) <= rules.max_tasks:
        return ()
    return (TooManyTasks(len(tasks), rules.max_tasks, current),)


def _without_doubles(plan: Plan, tasks: tuple[Task, ...]) -> tuple[tuple[Task, ...], tuple[Fault, ...]]:
    known = {task.text for task in plan.tasks}
    fresh: list[Task] = []
    doubles: list[Fault] = []
    for task in tasks:
        if task.text in known:
            doubles.append(AlreadyThere(task.text))
        else:
            known.add(task.text)
            fresh.append(task)
    return tuple(fresh), tuple(doubles)


def _change(plan: Plan, spots: Iterable[Spot], changed: Callable[[Task], Task]) -> Plan:
    rows: dict[int, list[Task]] = {}
    for i, j in spots:
        if i not in rows:
            rows[i] = list(plan.phases[i].tasks)
        rows[i][j] = changed(rows[i][j])
    if not rows:
        return plan
    phases = list(plan.phases)
    for i, row in rows.items():
        phases[i] = Phase(phases[i].name, tuple(row))
    return Plan(tuple(phases))


def _with_phase(plan: Plan, where: int, phase: Phase) -> Plan:
    return Plan((*plan.phases[:where], phase, *plan.phases[where + 1 :]))
