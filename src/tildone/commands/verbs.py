"""The verbs of the documented `/todo` command: functions from the plan and the verb's arguments to an `Answer`.

Tasks and phases are named by a part of their text, and the texts of new ones are capitalized, as in the original.
"""

from __future__ import annotations

from tildone.commands.answer import MARKED_MESSAGES, Answer, FailureReason, refusal, status
from tildone.commands.typed import capitalized, phases_like, tasks_like, title
from tildone.core.ops import Append, Everything, InPhase, Mark, Named, Remove, Write
from tildone.core.plan import Plan, Status, Task
from tildone.formats.markdown.writer import portable_checklist
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.ops import Selector

FIRST_PHASE = "Todos"
MARKS = {status.verb: status for status in Status if status.verb and status is not Status.IN_PROGRESS}
"""The verbs that mark a task, a phase or everything. `start` is not one of them: it takes a single task."""

MAX_CANDIDATES = 5
BEGIN = "begin one with: /todo append TEXT"
"""The hint for an empty plan."""


def show(plan: Plan) -> Answer:
    """Show the whole plan as a checklist."""
    if not plan.phases:
        return Answer(status("No plan yet. Begin one with: /todo append TEXT"))
    return Answer(status(portable_checklist(plan).rstrip(JS_WHITESPACE)))


def append(plan: Plan, phase: str | None, texts: Sequence[str]) -> Answer:
    """Append tasks to a phase, which is created if none matches; without a phase, to the last one."""
    tasks = tuple(Task(capitalized(text)) for text in texts)
    if not tasks or not all(task.text for task in tasks):
        return refusal(FailureReason.USAGE, "What is to be done? /todo append [PHASE] TEXT")
    name, destination = _phase_for(plan, phase)
    added = "; ".join(single_line(task.text) for task in tasks)
    return Answer(status(f"Added{destination}: {added}"), (Append(tasks, name),), enforces_rules=False)


def start(plan: Plan, query: str) -> Answer:
    """Mark one task as in progress."""
    if not query:
        return refusal(FailureReason.USAGE, "Start which task? /todo start TASK")
    matched = _task(plan, query)
    if isinstance(matched, Answer):
        return matched
    target, label = matched
    return Answer(status(f"Started: {label}"), (Mark(target, Status.IN_PROGRESS),))


def mark(plan: Plan, query: str, to: Status) -> Answer:
    """Set the status of a task, a phase or everything."""
    if not query:
        return Answer(status(f"{MARKED_MESSAGES[to]}: everything"), (Mark(Everything(), to),))
    matched = _task_or_phase(plan, query)
    if isinstance(matched, Answer):
        return matched
    target, label = matched
    return Answer(status(f"{MARKED_MESSAGES[to]}: {label}"), (Mark(target, to),))


def remove(plan: Plan, query: str) -> Answer:
    """Remove a task or the tasks of a phase; without a query, the whole plan."""
    if not query:
        return Answer(status("Removed: everything"), (Write(()),))
    matched = _task_or_phase(plan, query)
    if isinstance(matched, Answer):
        return matched
    target, label = matched
    return Answer(status(f"Removed: {label}"), (Remove(target),))


def _phase_for(plan: Plan, phase: str | None) -> tuple[str | None, str]:
    """Return the exact name of the phase to append to (None for the last one), and its description in a message."""
    if phase is None or not phase.strip(JS_WHITESPACE):
        if not plan.phases:
            return FIRST_PHASE, f" to {FIRST_PHASE}"
        last = plan.phases[-1].name
        return None, f" to {single_line(last)}" if last else ""
    matching = phases_like(plan, phase)
    if len(matching) == 1:
        return matching[0].name, f" to {single_line(matching[0].name)}"
    name = title(phase)
    return name, f" to the new phase {name}"


def _task(plan: Plan, query: str) -> tuple[Named, str] | Answer:
    """Return a selector for the task that the query matches, and the task's text for a message."""
    tasks = tasks_like(plan, query)
    if len(tasks) == 1:
        return Named(tasks[0].text), single_line(tasks[0].text)
    return _ambiguous("task", query, [task.text for task in tasks])


def _task_or_phase(plan: Plan, query: str) -> tuple[Selector, str] | Answer:
    """Return a selector for the task that the query matches, else for the phase, with its description."""
    matched = _task(plan, query)
    if not isinstance(matched, Answer):
        return matched
    phases = phases_like(plan, query)
    if len(phases) == 1:
        return InPhase(phases[0].name), f"all of {single_line(phases[0].name)}"
    candidates = [task.text for task in tasks_like(plan, query)] + [phase.name for phase in phases]
    return _ambiguous("task or phase", query, candidates)


def _ambiguous(kind: str, query: str, candidates: list[str]) -> Answer:
    wanted = single_line(query)
    if not candidates:
        return refusal(FailureReason.UNMATCHED, f'No {kind} has "{wanted}" in it')
    listed = "; ".join(single_line(text) for text in candidates[:MAX_CANDIDATES])
    more = "; …" if len(candidates) > MAX_CANDIDATES else ""
    return refusal(FailureReason.UNMATCHED, f'"{wanted}" fits {len(candidates)}: {listed}{more}')
