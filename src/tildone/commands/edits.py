"""A person's changes to a plan: one function for each verb, from the plan and the verb's arguments to an `Answer`.

Tasks are selected by number, so that a change hits the tasks that were meant even if the plan changes meanwhile. Text
is kept as it was typed.
"""

from __future__ import annotations

from enum import Enum

from tildone.commands.answer import MARKED_MESSAGES, Answer, FailureReason, refusal, status
from tildone.commands.targets import Targets, find_targets, find_task, label, listed
from tildone.core.ops import Append, Mark, Move, Note, Numbered, Order, Remove, Rename, SetCheck, Touch, Write
from tildone.core.plan import Phase, Plan, Status, Task
from tildone.core.query import open_tasks
from tildone.core.reduce import reduce
from tildone.core.rules import Rules
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.core.reduce import Step


class Place(Enum):
    """Where a task is moved to: before or after another one, to the end of a phase, to the start or end of the plan."""

    BEFORE = "before"
    AFTER = "after"
    PHASE = "phase"
    FIRST = "first"
    LAST = "last"


def add(plan: Plan, texts: Sequence[str], phase: str | None = None) -> Answer:
    """Add tasks at the end of a phase, which is created if it is missing; without a phase, at the end of the plan.

    The message has no numbers: `added` returns them once the change is made.
    """
    if not texts or not all(text.strip() for text in texts):
        return refusal(FailureReason.USAGE, "A task needs a text")
    name = None if phase is None else existing_phase(plan, phase) or phase
    step = Append(tuple(map(Task, texts)), "" if name is None and not plan.phases else name)
    return Answer(steps=(step,), enforces_rules=False)


def added(before: Plan, after: Plan) -> str:
    """Return the message about added tasks."""
    old = {task.number for task in before.tasks}
    new = [task for task in after.tasks if task.number not in old]
    phase = next((phase.name for phase in after.phases for task in phase.tasks if task in new), "")
    is_new = phase not in {each.name for each in before.phases}
    where = f" to {'the new phase ' if is_new else ''}{single_line(phase)}" if phase else ""
    return f"Added{where}: {listed(new)}"


def start(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Answer:
    """Mark one task as in progress."""
    return _with_task(plan, words, positions, lambda task: _marked(task, Status.IN_PROGRESS, f"Started: {label(task)}"))


def close(plan: Plan, words: Sequence[str], to: Status, *, positions: bool = False) -> Answer:
    """Mark tasks as completed or abandoned. Of a phase, or of the plan if there are no words, only the open tasks."""
    if not words:
        found: Targets | Answer = Targets(plan.tasks)
    else:
        found = find_targets(plan, words, positions=positions)
    if isinstance(found, Answer):
        return found
    numbers, what = found.numbers, str(found)
    if not words or found.phase is not None:
        tasks = [task for task in found.tasks if task.status.is_open]
        numbers = tuple(task.number for task in tasks)
        what = what if words else _all(tasks, "open ")
    if not numbers:
        return unchanged("no task is open" if not words else f"no task is open in {single_line(found.phase or '')}")
    return Answer(status(f"{MARKED_MESSAGES[to]}: {what}"), (Mark(Numbered(numbers), to),))


def remove(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Answer:
    """Remove tasks, the tasks of a phase or, if there are no words, the whole plan."""
    if not words:
        tasks = plan.tasks
        return Answer(status(f"Removed: {_all(tasks)}"), (Write(()),)) if tasks else unchanged("there are no tasks")
    found = find_targets(plan, words, positions=positions)
    if isinstance(found, Answer):
        return found
    return Answer(status(f"Removed: {found}"), (Remove(Numbered(found.numbers)),))


def block(plan: Plan, words: Sequence[str], reason: str, *, positions: bool = False) -> Answer:
    """Mark an open task as waiting for someone else; the reason becomes its newest note."""

    def answer(task: Task) -> Answer:
        if not task.status.is_open:
            return refusal(
                FailureReason.REFUSED, f"{label(task)} is {task.status.value}; only an open task can be blocked"
            )
        why = f" ({single_line(reason)})" if reason else ""
        steps: tuple[Step, ...] = (Mark(Numbered((task.number,)), Status.BLOCKED),)
        if reason and (not task.notes or task.notes[-1] != reason):
            steps = (*steps, Note(Numbered((task.number,)), reason))
        return Answer(status(f"Blocked: {label(task)}{why}"), steps)

    return _with_task(plan, words, positions, answer)


def unblock(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Answer:
    """Mark a blocked task as pending."""

    def answer(task: Task) -> Answer:
        if task.status is not Status.BLOCKED:
            return unchanged(f"{label(task)} is not blocked")
        return _marked(task, Status.PENDING, f"Unblocked: {label(task)}")

    return _with_task(plan, words, positions, answer)


def reopen(plan: Plan, words: Sequence[str], *, positions: bool = False) -> Answer:
    """Mark a closed task as pending."""

    def answer(task: Task) -> Answer:
        if task.status.is_open:
            return unchanged(f"{label(task)} is open")
        return _marked(task, Status.PENDING, f"Reopened: {label(task)}")

    return _with_task(plan, words, positions, answer)


def rename(plan: Plan, words: Sequence[str], text: str, *, positions: bool = False) -> Answer:
    """Change the text of a task."""
    if not text.strip():
        return refusal(FailureReason.USAGE, "A task needs a text")

    def answer(task: Task) -> Answer:
        message = f"Renamed: #{task.number} {single_line(text)} (was: {single_line(task.text)})"
        return Answer(status(message), (Rename(Numbered((task.number,)), text),))

    return _with_task(plan, words, positions, answer)


def note(plan: Plan, words: Sequence[str], text: str, *, positions: bool = False) -> Answer:
    """Add a note to a task."""
    if not text.strip():
        return refusal(FailureReason.USAGE, "A note needs a text")
    return _with_task(
        plan,
        words,
        positions,
        lambda task: Answer(status(f"Noted on: {label(task)}"), (Note(Numbered((task.number,)), text),)),
    )


def move(plan: Plan, words: Sequence[str], place: Place, name: str = "", *, positions: bool = False) -> Answer:
    """Move a task. `name` names the other task, or the phase, which is created if it is missing."""
    task = find_task(plan, words, positions=positions)
    if isinstance(task, Answer):
        return task
    if place is Place.PHASE:
        phase = existing_phase(plan, name) or name
        return _moved(task, f"to {single_line(phase)}", Move(Numbered((task.number,)), phase=phase))
    if place is Place.LAST:
        return _moved(task, "to the end", Move(Numbered((task.number,))))
    if place is Place.FIRST:
        return _moved(task, "to the start", Move(Numbered((task.number,)), Numbered((plan.tasks[0].number,))))
    other = find_task(plan, [name], positions=positions)
    if isinstance(other, Answer):
        return other
    where = f"{place.value} {label(other)}"
    if other == task:
        return unchanged(f"{label(task)} is that task")
    if place is Place.BEFORE:
        return _moved(task, where, Move(Numbered((task.number,)), Numbered((other.number,))))
    return _moved(task, where, _move_after(plan, task, other))


def renamed_in_place(before: Plan, after: Plan) -> tuple[Rename, ...]:
    """Return the renames that an edited list contains: tasks with a new text in the place of an old one.

    They are recognized if no task was added or removed, so that the tasks keep their numbers.
    """
    old, new = before.tasks, after.tasks
    if len(old) != len(new):
        return ()
    old_texts, new_texts = {task.text for task in old}, [task.text for task in new]
    return tuple(
        Rename(Numbered((was.number,)), now.text)
        for was, now in zip(old, new, strict=True)
        if was.text not in new_texts and now.text not in old_texts and new_texts.count(now.text) == 1
    )


def edited(before: Plan, after: Plan) -> tuple[Step, ...]:
    """Return the steps that make a plan what its edited text says.

    Tasks whose text was edited in place are renamed first, so that they keep their numbers. A check, an order or files
    that the text no longer has are removed; a list that names none would keep them.
    """
    renames = renamed_in_place(before, after)
    bare = (Phase(phase.name, tuple(Task(task.text) for task in phase.tasks)) for phase in after.phases)
    numbered_after = reduce(before, [*renames, Write(tuple(bare))], Rules()).after
    known = {task.number: task for task in before.tasks}
    removed: list[Step] = []
    for number, now in zip((task.number for task in numbered_after.tasks), after.tasks, strict=True):
        was, target = known.get(number), Numbered((number,))
        if was is None:
            continue
        removed += [SetCheck(target, None)] if was.check is not None and now.check is None else []
        removed += [Order(target, ())] if was.after and not now.after else []
        removed += [Touch(target, (), name) for name in was.words if name not in now.words]
    plan_check = [SetCheck(None, after.check)] if after.check != before.check else []
    return (*removed, *renames, Write(after.phases), *plan_check)


def written_plan(answer: Answer) -> Plan | None:
    """Return the plan that an answer writes; None if it writes none."""
    match answer.steps:
        case (Write(phases), *rest):
            return Plan(phases, check=next((step.check for step in rest if isinstance(step, SetCheck)), None))
        case _:
            return None


def as_edited(before: Plan, answer: Answer) -> Answer:
    """Return an answer that writes an edited text, with the steps that also remove what the text no longer has."""
    after = written_plan(answer)
    return answer if after is None else replace(answer, steps=edited(before, after))


def took_away(before: Plan, after: Plan) -> bool:
    """Return whether a change closed, renamed or removed a task."""
    now = {task.number: task for task in after.tasks}
    return any(
        task.number not in now
        or now[task.number].text != task.text
        or (task.status.is_open and not now[task.number].status.is_open)
        for task in before.tasks
    )


def closing_question(plan: Plan, to: Status | None) -> str:
    """Return the question that precedes closing all tasks or, with None, removing them; empty if there are none."""
    if to is None:
        return f"Remove {_all(plan.tasks)}?" if plan.tasks else ""
    tasks = [task for _, task in open_tasks(plan)]
    return f"Mark {_all(tasks, 'open ')} as {to.value}?" if tasks else ""


def existing_phase(plan: Plan, name: str) -> str | None:
    """Return the name of the phase that is called so, in whatever case, or None."""
    wanted = name.strip().lower()
    names = [phase.name for phase in plan.phases]
    return name if name in names else next((each for each in names if each.lower() == wanted), None)


def unchanged(why: str) -> Answer:
    """Return an answer that changes nothing and is no failure."""
    return Answer(status(f"Nothing changed: {why}."))


def _all(tasks: Sequence[Task], adjective: str = "") -> str:
    """All these tasks, as a message names them: their number, or the only one."""
    return label(tasks[0]) if len(tasks) == 1 else f"all {len(tasks)} {adjective}tasks"


def _with_task(
    plan: Plan,
    words: Sequence[str],
    positions: bool,  # noqa: FBT001  passed on
    answer: Callable[[Task], Answer],
) -> Answer:
    task = find_task(plan, words, positions=positions)
    return task if isinstance(task, Answer) else answer(task)


def _marked(task: Task, to: Status, message: str) -> Answer:
    return Answer(status(message), (Mark(Numbered((task.number,)), to),))


def _moved(task: Task, where: str, step: Move) -> Answer:
    return Answer(status(f"Moved: {label(task)} {where}"), (step,))


def _move_after(plan: Plan, task: Task, other: Task) -> Move:
    """Move a task behind another one: in front of the task that follows it, else to the end of its phase."""
    phase = next(phase for phase in plan.phases if other in phase.tasks)
    following = [each for each in phase.tasks[phase.tasks.index(other) + 1 :] if each != task]
    target = Numbered((task.number,))
    return Move(target, Numbered((following[0].number,))) if following else Move(target, phase=phase.name)
