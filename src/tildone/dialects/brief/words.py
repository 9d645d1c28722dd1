"""What a model reads in the brief dialect: what it cannot know, and no more."""

from __future__ import annotations

from tildone.core.faults import NoSuchNumber, TaskMissing
from tildone.core.numbers import assign_numbers
from tildone.core.plan import Status
from tildone.core.query import next_task
from tildone.dialects.base import Reply
from tildone.typing import TYPE_CHECKING
from tildone.views.faults import describe_fault
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tildone.core.faults import Fault
    from tildone.core.plan import Phase, Plan, Task
    from tildone.dialects.base import Done, Tool
    from tildone.kit.schema import SchemaProblem

EMPTY = "Empty."
OK = "ok"
FINISHED = "all done"
CHANGED = "Changed by others meanwhile; now:"
MAX_LISTED = 5

OPEN_SIGNS = {status: status.icon for status in Status if status.is_open}
OPEN_SIGNS |= {Status.PENDING: "", Status.IN_PROGRESS: ">"}
CLOSED_WORDS = {status: status.value for status in Status if not status.is_open}
CLOSED_WORDS |= {Status.COMPLETED: "done", Status.ABANDONED: "dropped"}


def reply(done: Done) -> Reply:
    """A few tokens that confirm; the list only where the model can't know it."""
    outcome = done.outcome
    if outcome.faults:
        return _said("; ".join(_refusal(fault, outcome.before) for fault in outcome.faults), is_error=True)
    if not done.params["ops"]:
        return _said(listing(outcome.after))
    said = [_confirmed(outcome.before, outcome.after), *done.params["hints"]]
    if not done.params["hints"] and _by_text(done.params["ops"]):
        said += [_ranges(_touched(done.params["ops"], outcome.after))]
    text = "; ".join(said)
    if outcome.before.tasks and done.known != outcome.before:
        text += f"\n{CHANGED if done.known is not None else 'Plan:'}\n{listing(outcome.after)}"
    return _said(text)


def refuse(_tool: Tool, wrong: Sequence[SchemaProblem], _given: object) -> Reply:
    """The reply to arguments that cannot be interpreted."""
    return _said("; ".join(map(str, wrong)), is_error=True)


def listing(plan: Plan) -> str:
    """What is open, a task a line, and what is closed by its numbers alone."""
    plan = assign_numbers(plan, plan)
    lines = [line for phase in plan.phases for line in _phase_lines(phase)]
    for status, word in CLOSED_WORDS.items():
        closed = [task.number for task in plan.tasks if task.status is status]
        lines += [f"{word} {_ranges(closed)}"] if closed else []
    return "\n".join(lines) or EMPTY


def context(plan: Plan) -> str | None:
    """The plan, for a model at the start of its context; None if nothing is open."""
    return f"Your plan (todo tool):\n{listing(plan)}" if any(task.status.is_open for task in plan.tasks) else None


def carry_on(plan: Plan) -> str:
    """The nudge."""
    plan = assign_numbers(plan, plan)
    upcoming = next_task(plan)
    first = upcoming[0] if upcoming else 0
    todo = [task for task in plan.tasks[first:] + plan.tasks[:first] if task.status.is_actionable]
    more = f"\n+{len(todo) - MAX_LISTED} more" if len(todo) > MAX_LISTED else ""
    lines = "\n".join(map(_line, todo[:MAX_LISTED]))
    return f"Your plan is not done:\n{lines}{more}\nGo on. What waits for someone else: block it. Not needed: drop it."


def _said(text: str, *, is_error: bool = False) -> Reply:
    return Reply(text, {"say": text}, is_error=is_error)


def _confirmed(before: Plan, after: Plan) -> str:
    new = [task.number for task in after.tasks if task.number > before.last_number]
    if new and before.tasks and not before.last_number:
        new = [number for number in new if number > len(before.tasks)]
    said = _ranges(new) if new else OK
    still_open = any(task.status.is_open for task in after.tasks)
    return said if still_open or not after.tasks else f"{said}, {FINISHED}"


def _by_text(ops: Iterable[Sequence[object]]) -> bool:
    """Whether a task was named by its text, so that its number may not be known."""
    return any(isinstance(given[0], str) for op, *given in ops if op != "add")


def _touched(ops: Iterable[Sequence[object]], plan: Plan) -> list[int]:
    named = {one for op, *given in ops if op != "add" for one in given[:1]}
    return [task.number for task in plan.tasks if task.text in named or single_line(task.text) in named]


def _phase_lines(phase: Phase) -> Iterator[str]:
    tasks = [_line(task) for task in phase.tasks if task.status in OPEN_SIGNS]
    if tasks and phase.name:
        yield f"{single_line(phase.name)}:"
    yield from tasks


def _line(task: Task) -> str:
    why = f" ({single_line(task.notes[-1])})" if task.status is Status.BLOCKED and task.notes else ""
    return f"{task.number}{OPEN_SIGNS[task.status]} {single_line(task.text)}{why}"


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers, those in a row as one: `1-3,7`."""
    rows: list[list[int]] = []
    for number in sorted(numbers):
        if rows and number == rows[-1][-1] + 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return ",".join(f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in rows)


def _refusal(fault: Fault, plan: Plan) -> str:
    match fault:
        case NoSuchNumber(numbers):
            known = _ranges(task.number for task in assign_numbers(plan, plan).tasks)
            return f"no {_ranges(numbers)}; " + (f"there are {known}" if known else "the plan is empty")
        case TaskMissing(text, empty):
            return (
                "the plan is empty" if empty else f"no task {single_line(text)!r:.60}; call without arguments to list"
            )
        case other:
            return describe_fault(other)
