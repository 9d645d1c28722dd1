"""The `brief` dialect: one tool, permanent task numbers, and replies of a few tokens.

What only a call needs is imported by the first one: hooks use the words of a dialect and make no call.
"""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, replace
from tildone.plan.dialects import TEXT, Dialect, Phrasing, Reply, Tool, array, record, safe_dialect
from tildone.plan.model import (
    BY_VERB,
    Phase,
    Plan,
    Rules,
    Status,
    completed_in,
    has_checks,
    next_task,
    number_ranges,
    numbered,
    waits_for,
)
from tildone.plan.text.safe import MAX_FRAME, MAX_RESULT, bounded_plan, clipped, safe_text, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from tildone.base.schema import SchemaProblem
    from tildone.plan.dialects import CompletedCall, ToolCall
    from tildone.plan.faults import Fault
    from tildone.plan.model import Check, Proof, Task
    from tildone.plan.reduce import Outcome, Step


EMPTY = "Empty."
OK = "ok"
FINISHED = "all done"
CHANGED = "Changed by others meanwhile; now:"
USER_MARK = "*"
"""Follows the number of a task that a person added: no text can imitate it, because texts come later in the line."""

MAX_TASKS_LISTED = 3
"""How many tasks a nudge lists: the model wrote most of them, and can list them all."""

MAX_LISTED = 3_500 + 2 * MAX_FRAME
"""Of a list in the model's context, with its frame: hooks add no more than 4,000 characters."""

OPEN_WORDS = {status: f"{status.value} " for status in Status if status.is_open}
OPEN_WORDS |= {Status.PENDING: "", Status.IN_PROGRESS: "started "}
"""What a line begins with, before the number: no text can imitate it, and no agent escapes it."""

CLOSED_WORDS = {status: status.value for status in Status if not status.is_open}
CLOSED_WORDS |= {Status.COMPLETED: "done", Status.ABANDONED: "dropped"}
_RESULTS = {"failed": "check failed", "inconclusive": "check inconclusive", "refused": "check not approved"}


def reply(call: CompletedCall) -> Reply:
    """Confirm a call in a few tokens; include the list, or the next task, only if the model cannot know it."""
    outcome = call.outcome
    if outcome.faults:
        asked = sum(max(1, len(given)) if op in BY_VERB else 1 for op, *given in call.params["ops"])
        whole = ["nothing was changed"] if asked > 1 else []
        return _reply("; ".join([*(_refusal(each, outcome.before) for each in outcome.faults), *whole]), is_error=True)
    if not call.params["ops"]:
        return _reply(listing(outcome.after))
    failed = _results(outcome)
    parts = [*_confirmation(call), *call.params["hints"]]
    if not call.params["hints"] and _by_text(call.params["ops"]):
        named = {given[0] for op, *given in call.params["ops"] if op != "add" and given}
        texts = {shown_text(text) for text in named if isinstance(text, str)}
        tasks = outcome.after.tasks
        parts += [number_ranges(task.number for task in tasks if task.text in named or shown_text(task.text) in texts)]
    if outcome.before.tasks and call.known != outcome.before:
        started = _started(call)
        parts += [f"yours: {started.number}"] if started and len(_active(outcome.after)) > 1 else []
        known = [CHANGED if call.known is not None else "Plan:", listing(outcome.after)]
    else:
        upcoming = _unexpected_next(call)
        known = [] if upcoming is None else [_line(upcoming)]
    return _reply("\n".join([*filter(None, ["; ".join(parts)]), *failed, *known]))


def refuse(_tool: Tool, problems: Sequence[SchemaProblem], _given: object) -> Reply:
    return _reply("; ".join(map(str, problems)), is_error=True)


def listing(plan: Plan, max_characters: int = MAX_RESULT) -> str:
    """List the open tasks, one per line, as many as fit, and the numbers of the closed ones."""
    plan = numbered(plan)
    open_tasks = [task for task in plan.tasks if task.status.is_open]
    mark = _mark(open_tasks)
    shown = tuple(
        Phase(phase.name, tuple(replace(task, notes=task.notes[-1:]) for task in phase.tasks if task.status.is_open))
        for phase in plan.phases
    )
    part = bounded_plan(Plan(shown), max_characters - 2 * MAX_FRAME)
    lines = [line for phase in part.plan.phases for line in _phase_lines(phase, mark, plan)]
    lines += [*part.omissions, *_legend(open_tasks)]
    for status, word in CLOSED_WORDS.items():
        closed = [task.number for task in plan.tasks if task.status is status]
        lines += [f"{word} {clipped(number_ranges(closed), MAX_FRAME // 2)}"] if closed else []
    return "\n".join(lines) or EMPTY


def context(plan: Plan) -> str | None:
    return f"Your plan:\n{listing(plan, MAX_LISTED)}" if any(task.status.is_open for task in plan.tasks) else None


def carry_on(plan: Plan) -> str:
    """Return the nudge. It begins with the next task."""
    plan = numbered(plan)
    upcoming = next_task(plan)
    first = upcoming[0] if upcoming else 0
    todo = [task for task in plan.tasks[first:] + plan.tasks[:first] if task.status.is_actionable]
    more = f"\n+{len(todo) - MAX_TASKS_LISTED} more" if len(todo) > MAX_TASKS_LISTED else ""
    listed = todo[:MAX_TASKS_LISTED]
    lines = "\n".join([*(clipped(_line(task, _mark(listed), plan)) for task in listed), *_legend(listed)])
    return f"Your plan is not done:\n{lines}{more}\nGo on; block what waits for someone else, drop what is not needed."


def _reply(text: str, *, is_error: bool = False) -> Reply:
    text = clipped(safe_text(text), MAX_RESULT)
    return Reply(text, {"say": text}, is_error=is_error)


def _confirmation(call: CompletedCall) -> list[str]:
    """Confirm the call, unless all that it did was to try to complete tasks whose checks have not passed."""
    before, after = call.outcome.before, call.outcome.after
    new = [task.number for task in after.tasks if task.number > before.last_number]
    if call.outcome.unproved and not new and all(op == "done" for op, *_ in call.params["ops"]):
        were_done = completed_in(before)
        if all(task.status is not Status.COMPLETED or task.number in were_done for task in after.tasks):
            return []
    confirmed = number_ranges(new) if new else OK
    still_open = any(task.status.is_open for task in after.tasks) or _is_unproved(after)
    return [confirmed if still_open or not after.tasks else f"{confirmed}, {FINISHED}"]


def _is_unproved(plan: Plan) -> bool:
    if plan.check is None:
        return False
    # Late, because few plans have checks.
    from tildone.plan.guard import is_unproved

    return is_unproved(plan)


def _results(outcome: Outcome) -> list[str]:
    """The checks that did not pass, one paragraph each."""
    if not has_checks(outcome.after):
        return []
    # Late, because few plans have checks.
    from tildone.plan.text.proofs import results

    return results(outcome, numbered=True)


def _unexpected_next(call: CompletedCall) -> Task | None:
    """Return the next task after a finished one, unless it follows that one or the call starts it; else None."""
    # Late, because hooks only build prompts.
    from tildone.plan.rare_steps import finished_spots
    from tildone.plan.selection import task_at

    ops, after = call.params["ops"], call.outcome.after
    finished = finished_spots(call.outcome.before, after)
    active = [task for task in _active(after) if task.number not in call.left]
    started = _started(call)
    if not finished or not active or any(op == "start" for op, *_ in ops):
        return None
    if started is None and (len(active) > 1 or all(task.status is not Status.PENDING for task in after.tasks)):
        # Another agent may work on it: only this agent's own task in progress keeps pending ones from being started.
        return None
    upcoming = started or active[0]
    is_expected = after.tasks.index(task_at(after, finished[-1])) + 1 == after.tasks.index(upcoming)
    return None if is_expected and not _by_text(ops) else upcoming


def _started(call: CompletedCall) -> Task | None:
    were_active = {task.number for task in _active(call.outcome.before)}
    return next((task for task in _active(call.outcome.after) if task.number not in were_active), None)


def _active(plan: Plan) -> list[Task]:
    return [task for task in plan.tasks if task.status is Status.IN_PROGRESS]


def _by_text(ops: Iterable[Sequence[object]]) -> bool:
    """Return whether a task was named by its text: the model may not know its number."""
    return any(isinstance(given[0], str) for op, *given in ops if op != "add")


def _phase_lines(phase: Phase, user_mark: str, plan: Plan) -> Iterator[str]:
    if phase.tasks and phase.name:
        yield f"{shown_text(phase.name)}:"
    yield from (_line(task, user_mark, plan) for task in phase.tasks)


def _mark(tasks: Sequence[Task]) -> str:
    """Return the mark of tasks that a person added; none if it would be at every task."""
    return "" if all(task.from_user for task in tasks) else USER_MARK


def _legend(tasks: Sequence[Task]) -> list[str]:
    """Say in one line which of these tasks a person added; nothing if none."""
    return [f"({_mark(tasks) or 'all'} from the user)"] if any(task.from_user for task in tasks) else []


def _line(task: Task, user_mark: str = "", plan: Plan = Plan()) -> str:  # noqa: B008  frozen
    mark = user_mark if task.from_user else ""
    reasons = [*_reasons(task, plan)]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return f"{OPEN_WORDS[task.status]}{task.number}{mark} {shown_text(task.text)}{why}"


def _reasons(task: Task, plan: Plan) -> Iterator[str]:
    """Say in a few words why the task is not done yet: what it waits for, and its check, with the result."""
    if task.after and (first := waits_for(plan, task)):
        yield f"after {number_ranges(first)}"
    if task.check is not None:
        yield _check(task.check, task.proof)
    if task.proof is not None and task.proof.result.value in _RESULTS:
        return
    if task.status is Status.BLOCKED and task.notes:
        yield shown_text(task.notes[-1])


def _check(check: Check, proof: Proof | None) -> str:
    """Say which check a task has, and that it was run without success, if it was."""
    # Late, because few plans have checks.
    from tildone.plan.text.proofs import command_quote

    state = _RESULTS.get(proof.result.value, "check") if proof is not None else "check"
    return f"{state} {command_quote(check)}"


def _refusal(fault: Fault, plan: Plan) -> str:
    # Late, because hooks refuse nothing.
    from tildone.plan.faults import HasCheck, NoSuchNumber, TaskMissing
    from tildone.plan.text.faults import describe_fault

    match fault:
        case NoSuchNumber(numbers):
            known = number_ranges(task.number for task in numbered(plan).tasks)
            return f"no {number_ranges(numbers)}; " + (f"there are {known}" if known else "the plan is empty")
        case TaskMissing(text, empty):
            return "the plan is empty" if empty else f"no task {shown_text(text)!r:.60}; call without arguments to list"
        case HasCheck(number) if number:
            return f"{number} has a check: only a person can drop it or change the check"
        case other:
            return describe_fault(other)


RULES = Rules(max_tasks=200, max_text=2000)
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"add": array(TEXT), "do": TEXT}}
"""Two fields of the plainest types, which every provider and every validator of an agent takes. In other fields, which
are not declared and so not validated, `interpret` reads what models write of themselves: `{"done": [2, 3]}`."""


SETS = {verb: f"{verb} IDs" for verb in BY_VERB} | {"start": "start ID", "done": "done IDs (starts the next)"}
"""How the statuses are set, in the description of the tool."""


def mark(plan: Plan, position: int, status: Status) -> ToolCall:
    return "todo", {"do": f"{status.verb} {numbered(plan).tasks[position].number}"}


def _interpret(arguments: object) -> tuple[dict[str, Any], list[SchemaProblem]]:
    from tildone.plan.dialects.brief.calls import interpret

    return interpret(arguments)


def _steps(params: Mapping[str, Any]) -> list[Step]:
    from tildone.plan.dialects.brief.calls import steps

    return steps(params)


DIALECT = safe_dialect(
    Dialect(
        name="brief",
        rules=RULES,
        tools=(
            Tool(
                name="todo",
                label="Todo",
                description=(
                    f"Your plan: add steps; {{}} lists; do lines: {', '.join(SETS.values())}, "
                    "block ID why, note ID text, move ID before ID, check ID command, after ID IDs, touches ID globs"
                ),
                parameters=PARAMETERS,
                steps=_steps,
                reply=reply,
                snippet="Keep a plan of what there is to do",
                interpret=_interpret,
                output_schema=record("say", say=TEXT),
            ),
        ),
        refuse=refuse,
        context=context,
        carry_on=carry_on,
        if_waiting='If you wait for the user\'s answer, block that task: do "block ID why it waits".',
        phrasing=Phrasing(mark),
        numbered=True,
        marks_origins=True,
        tells_results=True,
        names_tools=False,
    )
)
