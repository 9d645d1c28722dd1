"""The verbs of the command: functions from the plan and the verb's arguments to an `Answer`.

`invocation` is how the person invokes the command; hints quote it. With `numbered`, a decimal number is the position of
a task, for shells whose lists show positions.
"""

from __future__ import annotations

from tildone.commands.answer import (
    Answer,
    CopyText,
    FailureReason,
    OpenEditor,
    ReadFile,
    Request,
    WriteFile,
    refusal,
    status,
    warning,
)
from tildone.commands.typed import capitalized, phases_like, tasks_like, title
from tildone.core.ops import Append, At, Everything, InPhase, Mark, Named, Note, Remove, Write
from tildone.core.plan import Plan, Status, Task
from tildone.formats.markdown.reader import read
from tildone.formats.markdown.writer import lossless_checklist, portable_checklist
from tildone.formats.whitespace import JS_WHITESPACE
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import single_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.core.ops import Selector

INVOCATION = "/todo"
FILE = "TODO.md"
FIRST_PHASE = "Todos"
TEMPLATE = f"# {FIRST_PHASE}\n- [ ] (replace this with your tasks)\n"
MARKS = {status.verb: status for status in Status if status.verb and status is not Status.IN_PROGRESS}
"""The verbs that mark a task, a phase or everything. `start` is not one of them: it takes a single task."""

MARKED_MESSAGES = {status: status.value.capitalize() for status in Status}
MARKED_MESSAGES |= {Status.COMPLETED: "Done", Status.ABANDONED: "Dropped"}
MAX_CANDIDATES = 5


def show(plan: Plan, *, invocation: str = INVOCATION) -> Answer:
    """Show the whole plan as a checklist."""
    if not plan.phases:
        return Answer(status(f"No plan yet. Begin one with: {invocation} append TEXT"))
    return Answer(status(portable_checklist(plan).rstrip(JS_WHITESPACE)))


def append(plan: Plan, phase: str | None, texts: Sequence[str], *, invocation: str = INVOCATION) -> Answer:
    """Append tasks to a phase, which is created if none matches; without a phase, to the last one."""
    tasks = tuple(Task(capitalized(text)) for text in texts)
    if not tasks or not all(task.text for task in tasks):
        return refusal(FailureReason.USAGE, f"What is to be done? {invocation} append [PHASE] TEXT")
    name, destination = _phase_for(plan, phase)
    added = "; ".join(single_line(task.text) for task in tasks)
    return Answer(status(f"Added{destination}: {added}"), (Append(tasks, name),), enforces_rules=False)


def start(plan: Plan, query: str, *, invocation: str = INVOCATION, numbered: bool = False) -> Answer:
    """Mark one task as in progress."""
    if not query:
        return refusal(FailureReason.USAGE, f"Start which task? {invocation} start TASK")
    matched = _task(plan, query, numbered=numbered)
    if isinstance(matched, Answer):
        return matched
    target, label = matched
    return Answer(status(f"Started: {label}"), (Mark(target, Status.IN_PROGRESS),))


def mark(plan: Plan, query: str, to: Status, *, numbered: bool = False) -> Answer:
    """Set the status of a task, a phase or everything."""
    if not query:
        return Answer(status(f"{MARKED_MESSAGES[to]}: everything"), (Mark(Everything(), to),))
    matched = _task_or_phase(plan, query, numbered=numbered)
    if isinstance(matched, Answer):
        return matched
    target, label = matched
    return Answer(status(f"{MARKED_MESSAGES[to]}: {label}"), (Mark(target, to),))


def remove(plan: Plan, query: str, *, numbered: bool = False) -> Answer:
    """Remove a task or the tasks of a phase; without a query, the whole plan."""
    if not query:
        return Answer(status("Removed: everything"), (Write(()),))
    matched = _task_or_phase(plan, query, numbered=numbered)
    if isinstance(matched, Answer):
        return matched
    target, label = matched
    return Answer(status(f"Removed: {label}"), (Remove(target),))


def note(plan: Plan, query: str, text: str, *, invocation: str = INVOCATION, numbered: bool = False) -> Answer:
    """Add a note to one task."""
    text = text.rstrip(JS_WHITESPACE)
    if not query or not text:
        return refusal(FailureReason.USAGE, f"Note what, and on which task? {invocation} note TASK TEXT")
    matched = _task(plan, query, numbered=numbered)
    if isinstance(matched, Answer):
        return matched
    target, label = matched
    return Answer(status(f"Noted on: {label}"), (Note(target, text),))


def copy(plan: Plan, *, invocation: str = INVOCATION) -> Answer:
    """Request that the plan is copied to the clipboard as a checklist."""
    if not plan.phases:
        return warning(FailureReason.NO_PLAN, f"There is no plan to copy; begin one with: {invocation} append TEXT")
    return Answer(request=CopyText(portable_checklist(plan)))


def export(plan: Plan, path: str, *, invocation: str = INVOCATION) -> Answer:
    """Request that the plan is written to a file, in a form that can be imported without loss."""
    if not plan.phases:
        return warning(FailureReason.NO_PLAN, f"There is no plan to export; begin one with: {invocation} append TEXT")
    return Answer(request=WriteFile(path or FILE, lossless_checklist(plan)))


def import_(path: str) -> Answer:
    """Request a file to import the plan from."""
    return Answer(request=ReadFile(path or FILE))


def edit(plan: Plan) -> Answer:
    """Request that the person edits the plan."""
    return Answer(request=OpenEditor(draft(plan)))


def draft(plan: Plan) -> str:
    """Return the text that the editor opens with."""
    return lossless_checklist(plan) if plan.phases else TEMPLATE


def after_request(request: Request, text: str = "", *, unnamed: str = FIRST_PHASE) -> Answer:
    """Return the answer once a request was carried out; `text` is what was read or typed.

    `unnamed` is the name for tasks that precede the first heading of the text.
    """
    match request:
        case CopyText():
            return Answer(status("Copied the plan as Markdown"))
        case WriteFile(path):
            return Answer(status(f"Wrote the plan to {path}"))
        case ReadFile(path):
            return _read(text, unnamed, f"Imported {path}", f"Could not read {path} as a plan")
        case OpenEditor():  # exhaustive
            return _read(text, unnamed, "Saved", "Could not read that as a plan")


def request_failed(request: Request, why: str) -> Answer:
    """Return the answer to a request that could not be carried out."""
    match request:
        case CopyText():
            return refusal(FailureReason.REQUEST_FAILED, f"Could not copy the plan: {why}")
        case WriteFile(path):
            return refusal(FailureReason.REQUEST_FAILED, f"Could not write {path}: {why}")
        case ReadFile(path):
            return refusal(FailureReason.REQUEST_FAILED, f"Could not read {path}: {why}")
        case OpenEditor():  # exhaustive
            return warning(FailureReason.REQUEST_FAILED, f"Nothing was edited: {why}")


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


def _task(plan: Plan, query: str, *, numbered: bool) -> tuple[Named | At, str] | Answer:
    """Return a selector for the task that the query matches, and the task's text for a message."""
    if numbered and query.isdecimal():
        return _task_at(plan, int(query))
    tasks = tasks_like(plan, query)
    if len(tasks) == 1:
        return Named(tasks[0].text), single_line(tasks[0].text)
    return _ambiguous("task", query, [task.text for task in tasks])


def _task_or_phase(plan: Plan, query: str, *, numbered: bool) -> tuple[Selector, str] | Answer:
    """Return a selector for the task that the query matches, else for the phase, with its description."""
    matched = _task(plan, query, numbered=numbered)
    if not isinstance(matched, Answer) or (numbered and query.isdecimal()):
        return matched
    phases = phases_like(plan, query)
    if len(phases) == 1:
        return InPhase(phases[0].name), f"all of {single_line(phases[0].name)}"
    candidates = [task.text for task in tasks_like(plan, query)] + [phase.name for phase in phases]
    return _ambiguous("task or phase", query, candidates)


def _task_at(plan: Plan, position: int) -> tuple[Named | At, str] | Answer:
    """Return a selector for the task at a position.

    The task is selected by its text if that is unique, since positions may shift before the change is applied.
    """
    texts = [task.text for task in plan.tasks]
    if position >= len(texts):
        existing = f"the tasks are numbered 0 to {len(texts) - 1}" if texts else "the plan is empty"
        return refusal(FailureReason.UNMATCHED, f"There is no task {position}: {existing}")
    text = texts[position]
    return Named(text) if texts.count(text) == 1 else At((position,)), single_line(text)


def _ambiguous(kind: str, query: str, candidates: list[str]) -> Answer:
    wanted = single_line(query)
    if not candidates:
        return refusal(FailureReason.UNMATCHED, f'No {kind} has "{wanted}" in it')
    listed = "; ".join(single_line(text) for text in candidates[:MAX_CANDIDATES])
    more = "; …" if len(candidates) > MAX_CANDIDATES else ""
    return refusal(FailureReason.UNMATCHED, f'"{wanted}" fits {len(candidates)}: {listed}{more}')


def _read(text: str, unnamed: str, success: str, failure: str) -> Answer:
    """Return the answer that replaces the plan with the one in the text, if every line of it can be parsed."""
    reading = read(text, unnamed)
    if reading.problems:
        lines = "".join(f"\n  {problem}" for problem in reading.problems)
        return refusal(FailureReason.UNREADABLE, f"{failure}:{lines}")
    tasks, phases = reading.plan.tasks, reading.plan.phases
    counted = f"{len(tasks)} {_plural('task', len(tasks))} in {len(phases)} {_plural('phase', len(phases))}"
    return Answer(status(f"{success}: {counted}"), (Write(phases),))


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
