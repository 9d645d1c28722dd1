"""What becomes of a plan when changes are asked for: every transition, in one file."""

from tildone.core.faults import (
    AlreadyThere,
    BadPosition,
    EmptyNote,
    Fault,
    NoTasks,
    OutOfRange,
    PhaseMissing,
    TaskMissing,
    TextTooLong,
    TooManyActive,
    TooManyTasks,
)
from tildone.core.ops import (
    Append,
    At,
    Everything,
    InPhase,
    Insert,
    Mark,
    Named,
    Note,
    Op,
    Remove,
    Selector,
    Write,
)
from tildone.core.plan import Phase, Plan, Status, Task
from tildone.core.rules import Focus, Rules, first_too_long
from tildone.value import but, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Step = Op | Fault
Spot = tuple[int, int]


@value
class Outcome:
    """What a batch of steps came to."""

    before: Plan
    after: Plan
    faults: tuple[Fault, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the plan is another one now."""
        return self.after != self.before


def reduce(plan: Plan, steps: "Iterable[Step]", rules: Rules) -> Outcome:
    """Apply `steps` in order, then bring the plan into line with the rules.

    A fault among the steps stands for a request that could not even be put as a change. Under atomic rules
    the first fault ends the batch and nothing of it is kept; otherwise good steps are kept and faults add up.
    """
    draft = plan
    faults: list[Fault] = []
    for step in steps:
        draft, more = _apply(draft, step, rules)
        if more and rules.atomic:
            return Outcome(plan, plan, more)
        faults.extend(more)
    return Outcome(plan, settle(draft, rules), tuple(faults))


def settle(plan: Plan, rules: Rules) -> Plan:
    """The plan with as many tasks in progress as the rules want: the first such, or the first pending one."""
    if rules.focus is Focus.ANY:
        return plan
    active = _spots(plan, lambda task: task.status is Status.IN_PROGRESS)
    if len(active) > 1:
        return _change(plan, active[1:], lambda task: but(task, status=Status.PENDING))
    if active or rules.focus is Focus.AT_MOST_ONE:
        return plan
    pending = _spots(plan, lambda task: task.status is Status.PENDING)
    return _change(plan, pending[:1], lambda task: but(task, status=Status.IN_PROGRESS))


def _apply(plan: Plan, step: Step, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    match step:
        case Write(phases):
            return _write(plan, Plan(phases), rules)
        case Append(tasks, phase):
            return _append(plan, tasks, phase, rules)
        case Insert(tasks, at):
            return _insert(plan, tasks, at, rules)
        case Mark(target, status):
            return _mark(plan, target, status, rules)
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
    where = _phase_index(plan, name)
    if where is None:
        return Plan((*plan.phases, Phase(name or "", fresh))), doubles
    phase = plan.phases[where]
    return _with_phase(plan, where, but(phase, tasks=phase.tasks + fresh)), doubles


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
    where, offset = _place(plan, at)
    phase = plan.phases[where]
    return _with_phase(plan, where, but(phase, tasks=phase.tasks[:offset] + tasks + phase.tasks[offset:])), ()


def _mark(plan: Plan, target: Selector, status: Status, rules: Rules) -> tuple[Plan, tuple[Fault, ...]]:
    spots = _resolve(plan, target, prefer_open=True)
    if not isinstance(spots, list):
        return plan, (spots,)
    if status is Status.IN_PROGRESS and rules.focus is not Focus.ANY:
        others = [spot for spot in _spots(plan, lambda task: task.status is status) if spot not in spots]
        plan = _change(plan, others, lambda task: but(task, status=Status.PENDING))
    return _change(plan, spots, lambda task: Task(task.text, status, task.notes)), ()


def _remove(plan: Plan, target: Selector) -> tuple[Plan, tuple[Fault, ...]]:
    spots = _resolve(plan, target, prefer_open=False)
    if not isinstance(spots, list):
        return plan, (spots,)
    gone = set(spots)
    phases = tuple(
        but(phase, tasks=tuple(task for j, task in enumerate(phase.tasks) if (i, j) not in gone))
        for i, phase in enumerate(plan.phases)
    )
    return Plan(phases), ()


def _note(plan: Plan, target: Named | At, text: str) -> tuple[Plan, tuple[Fault, ...]]:
    spots = _resolve(plan, target, prefer_open=True)
    if not isinstance(spots, list):
        return plan, (spots,)
    if not text:
        return plan, (EmptyNote(),)
    return _change(plan, spots, lambda task: but(task, notes=(*task.notes, text))), ()


def _resolve(plan: Plan, target: Selector, *, prefer_open: bool) -> list[Spot] | Fault:
    match target:
        case At(indices):
            return _at(plan, indices)
        case Named():
            return _named(plan, target, prefer_open=prefer_open)
        case InPhase(name, shown):
            where = _phase_index(plan, name, shown)
            if where is None:
                return PhaseMissing(name)
            return [(where, j) for j in range(len(plan.phases[where].tasks))]
        case Everything():  # exhaustive
            return _spots(plan, lambda _: True)


def _at(plan: Plan, indices: tuple[int, ...]) -> list[Spot] | Fault:
    total = len(plan.tasks)
    if not total:
        return NoTasks()
    outside = tuple([index for index in indices if not 0 <= index < total])
    return OutOfRange(outside, total - 1) if outside else [_spot(plan, index) for index in indices]


def _named(plan: Plan, target: Named, *, prefer_open: bool) -> list[Spot] | Fault:
    """The task of that name; of several, the first open one, so that each can be reached in its turn."""
    text, shown = target.text, target.shown
    same = _spots(plan, lambda task: task.text == text) or _spots(plan, lambda task: shown(task.text) == text)
    if not same:
        return TaskMissing(text, empty=not plan.tasks)
    open_ones = [spot for spot in same if _task(plan, spot).status.is_open] if prefer_open else []
    return (open_ones or same)[:1]


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


def _phase_index(plan: Plan, name: str | None, shown: "Callable[[str], str]" = str) -> int | None:
    if name is None:
        return len(plan.phases) - 1 if plan.phases else None
    names = [phase.name for phase in plan.phases]
    for known in (names, [*map(shown, names)]):
        if name in known:
            return known.index(name)
    return None


def _place(plan: Plan, at: int) -> Spot:
    """The phase and offset of position `at`: the end of a phase rather than the start of the next."""
    for i, phase in enumerate(plan.phases[:-1]):
        if at <= len(phase.tasks):
            return i, at
        at -= len(phase.tasks)
    return len(plan.phases) - 1, at


def _spot(plan: Plan, index: int) -> Spot:
    """Where the task at that position of the whole plan is."""
    i = 0
    while index >= len(plan.phases[i].tasks):
        index -= len(plan.phases[i].tasks)
        i += 1
    return i, index


def _spots(plan: Plan, wanted: "Callable[[Task], bool]") -> list[Spot]:
    return [(i, j) for i, phase in enumerate(plan.phases) for j, task in enumerate(phase.tasks) if wanted(task)]


def _task(plan: Plan, spot: Spot) -> Task:
    return plan.phases[spot[0]].tasks[spot[1]]


def _change(plan: Plan, spots: "Iterable[Spot]", changed: "Callable[[Task], Task]") -> Plan:
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
