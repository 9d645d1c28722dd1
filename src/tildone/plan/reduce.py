"""`reduce` applies a batch of changes to a plan. All transitions are defined in this module.

`reduce` is pure, so that it can be repeated if another writer was faster (see `tildone.log.session`). A step that
cannot be applied results in a fault, not in an exception.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace, value
from tildone.plan import ops, selection
from tildone.plan.faults import (
    BadPosition,
    DuplicateTask,
    EmptyNote,
    Fault,
    TextTooLong,
    TooManyActive,
    count_fault,
    length_fault,
    without_duplicates,
)
from tildone.plan.guard import guarded
from tildone.plan.model import (
    Focus,
    Phase,
    Plan,
    Rules,
    Status,
    Task,
    assign_numbers,
    first_too_long,
    has_attributes,
    has_checks,
    held_back,
    numbered,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tildone.plan.guard import ByModel
    from tildone.plan.model import Proof

Step = ops.Op | Fault

NO_PROOFS: Mapping[int, Proof] = {}


@value
class Outcome:
    """The result of a batch of steps: the plan before and after, and the faults.

    `unproved` are the numbers of the tasks that were to be completed, but whose checks have not passed. `kept` are
    those of the tasks that a model was to take out of the plan, but whose checks a person asked for.
    """

    before: Plan
    after: Plan
    faults: tuple[Fault, ...] = ()
    unproved: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the plan is different now."""
        return self.after != self.before


def reduce(
    plan: Plan,
    steps: Iterable[Step],
    rules: Rules,
    proofs: Mapping[int, Proof] = NO_PROOFS,
    model: ByModel | None = None,
) -> Outcome:
    """Apply `steps` in order, then enforce the rules on the plan.

    A fault among the steps represents a request that could not be expressed as an op. Under atomic rules, the first
    fault discards the whole batch; otherwise, the other steps are applied and all faults are collected. Every task of
    the outcome has a number, before and after.

    `proofs` are new ones, by task number: those of checks that were run for this batch. No task is completed whose
    check has not passed (see `tildone.plan.guard`). A `model` that makes the change cannot take checks away that a
    person asked for (see `tildone.plan.rare_steps`).
    """
    plan = draft = numbered(plan)
    faults: list[Fault] = []
    unproved: set[int] = set()
    kept: set[int] = set()
    for step in steps:
        before = draft
        draft, step_faults = _apply(plan, draft, step, rules)
        # After each step, because the next step may refer to a task that this one added.
        draft = assign_numbers(before, draft)
        sets = isinstance(step, ops.SetCheck | ops.Order | ops.Touch)
        draft, open_ones = guarded(before, draft, proofs, keeps=not sets)
        fault = None
        if isinstance(step, ops.Write | ops.Append | ops.Insert) and any(map(has_attributes, draft.tasks)):
            from tildone.plan.rare_steps import written_fault

            fault = written_fault(before, draft)
        if fault is not None:
            draft, step_faults, open_ones = before, (*step_faults, fault), set()
        if model is not None and (has_checks(before) or has_checks(draft)):
            from tildone.plan.rare_steps import keep_asked

            draft, more_faults, kept_ones = keep_asked(before, draft, step, model)
            step_faults, open_ones = step_faults + more_faults, set() if more_faults else open_ones
            kept |= kept_ones
        if step_faults and rules.atomic:
            return Outcome(plan, plan, step_faults)
        faults.extend(step_faults)
        unproved |= open_ones
    if proofs:
        # Checks may be run again without any other change.
        draft, open_ones = guarded(draft, draft, proofs)
        unproved |= open_ones
    after = replace(draft, phases=selection.enforce_focus(draft, rules).phases)
    still_open = sorted(task.number for task in after.tasks if task.number in unproved and task.status.is_open)
    return Outcome(plan, after, tuple(faults), tuple(still_open), tuple(sorted(kept)))


def _apply(start: Plan, plan: Plan, step: Step, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    """Apply one step to the plan; `start` is the plan before the batch."""
    spots: list[selection.Spot] | Fault = []
    if isinstance(step, ops.Mark | ops.Move | ops.Rename | ops.Remove | ops.Note):
        spots = selection.resolve(plan, step.target, prefer_open=not isinstance(step, ops.Remove))
    if not isinstance(spots, list):
        return plan, (spots,)
    match step:
        case ops.Write(phases):
            return _write(plan, Plan(phases), rules)
        case ops.Append(tasks, phase, clear_finished):
            is_cleared = clear_finished and not any(task.status.is_open for task in plan.tasks)
            return _append(Plan() if is_cleared else plan, tasks, phase, rules)
        case ops.Insert(tasks, at):
            return _insert(plan, tasks, at, rules)
        case ops.Mark(_, status):
            return _mark(plan, spots, status, rules), ()
        case ops.Move(_, before, phase):
            return _move(plan, spots, before, phase)
        case ops.Rename(_, text):
            return _rename(plan, spots, text, rules)
        case ops.Remove():
            return selection.without_spots(plan, spots), ()
        case ops.Note(_, ""):
            return plan, (EmptyNote(),)
        case ops.Note(_, text):
            return selection.change_spots(plan, spots, lambda task: replace(task, notes=(*task.notes, text))), ()
        case ops.StartNext(others, left, in_order):
            # Late, because hooks make no such change.
            from tildone.plan.rare_steps import successor

            spot = successor(start, plan, others, left | held_back(plan) if in_order else left)
            next_spots = [] if spot is None else [spot]
            return selection.change_spots(plan, next_spots, lambda task: replace(task, status=Status.IN_PROGRESS)), ()
        case ops.SetCheck() | ops.Order() | ops.Touch():
            # Late, because hooks set no attributes.
            from tildone.plan.rare_steps import set_attribute

            return set_attribute(plan, step)
        case fault:
            return plan, (fault,)


def _write(plan: Plan, fresh: Plan, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    tasks = fresh.tasks
    # The limit is for new texts: a plan may hold longer ones that a person or another tool wrote.
    known = {task.text for task in plan.tasks}
    too_long = first_too_long(("" if task.text in known else task.text for task in tasks), rules)
    if too_long is not None:
        return plan, (TextTooLong(too_long, rules.max_text or 0),)
    active = sum(task.status is Status.IN_PROGRESS for task in tasks)
    if active > 1 and rules.focus is Focus.AT_MOST_ONE:
        return plan, (TooManyActive(active),)
    return fresh, ()


def _append(plan: Plan, tasks: tuple[Task, ...], name: str | None, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    fault = length_fault(tasks, rules) or count_fault(plan, tasks, rules)
    if fault:
        return plan, fault
    new, duplicates = without_duplicates(plan, tasks) if rules.unique_texts else (tasks, ())
    index = selection.phase_index(plan, name)
    if index is None:
        return Plan((*plan.phases, Phase(name or "", new))), duplicates
    phase = plan.phases[index]
    return selection.with_phase(plan, index, replace(phase, tasks=phase.tasks + new)), duplicates


def _insert(plan: Plan, tasks: tuple[Task, ...], at: int, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    total = len(plan.tasks)
    too_long = length_fault(tasks, rules)
    if too_long:
        return plan, too_long
    if not 0 <= at <= total:
        return plan, (BadPosition(at, total),)
    too_many = count_fault(plan, tasks, rules)
    if too_many:
        return plan, too_many
    if not plan.phases:
        return Plan((Phase("", tasks),)), ()
    index, offset = selection.insertion_spot(plan, at)
    phase = plan.phases[index]
    return selection.with_phase(
        plan, index, replace(phase, tasks=phase.tasks[:offset] + tasks + phase.tasks[offset:])
    ), ()


def _mark(plan: Plan, spots: list[selection.Spot], status: Status, rules: Rules) -> Plan:
    if status is Status.IN_PROGRESS and rules.focus is not Focus.ANY:
        others = [spot for spot in selection.spots_where(plan, lambda task: task.status is status) if spot not in spots]
        plan = selection.change_spots(plan, others, lambda task: replace(task, status=Status.PENDING))
    return selection.change_spots(plan, spots, lambda task: replace(task, status=status))


def _move(
    plan: Plan, spots: list[selection.Spot], before: ops.Selector | None, phase: str | None
) -> tuple[Plan, tuple[Fault, ...]]:
    """Move tasks. A move to one of the moved tasks changes nothing."""
    if before is None and phase is not None and selection.phase_index(plan, phase) is None:
        plan = Plan((*plan.phases, Phase(phase)))
    destination = selection.resolve(plan, before, prefer_open=True) if before else selection.end_spot(plan, phase)
    if not isinstance(destination, list):
        return plan, (destination,)
    if not destination or destination[0] in spots:
        return plan, ()
    index, offset = destination[0]
    rest = selection.without_spots(plan, spots)
    offset -= sum(i == index and j < offset for i, j in set(spots))
    tasks = rest.phases[index].tasks
    moved = tuple(selection.task_at(plan, spot) for spot in dict.fromkeys(spots))
    return selection.with_phase(
        rest, index, replace(rest.phases[index], tasks=tasks[:offset] + moved + tasks[offset:])
    ), ()


def _rename(plan: Plan, spots: list[selection.Spot], text: str, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    too_long = length_fault((Task(text),), rules)
    if too_long:
        return plan, too_long
    if rules.unique_texts and selection.spots_where(plan, lambda task: task.text == text):
        unchanged = all(selection.task_at(plan, spot).text == text for spot in spots)
        return plan, () if unchanged else (DuplicateTask(text),)
    return selection.change_spots(plan, spots, lambda task: replace(task, text=text)), ()
