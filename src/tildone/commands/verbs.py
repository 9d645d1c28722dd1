"""What each verb of the command does, given the plan and what was typed after it.

Where a function takes `me`, that is how the person calls the command, so that hints can be typed as they stand. Where
it takes `numbered`, a number is the position of a task, for lists that show it.
"""

from __future__ import annotations

from tildone.commands.answer import (
    Answer,
    CopyText,
    OpenEditor,
    ReadFile,
    Request,
    Trouble,
    WriteFile,
    refused,
    status,
    warned,
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

ME = "/todo"
FILE = "TODO.md"
FIRST_PHASE = "Todos"
TEMPLATE = f"# {FIRST_PHASE}\n- [ ] (replace this with your tasks)\n"
MARKS = {status.verb: status for status in Status if status.verb and status is not Status.IN_PROGRESS}
"""The verbs that mark a task, a phase or everything; `start` takes one task and is apart."""

MARKED = {status: status.value.capitalize() for status in Status}
MARKED |= {Status.COMPLETED: "Done", Status.ABANDONED: "Dropped"}
MAX_CANDIDATES = 5


def show(plan: Plan, *, me: str = ME) -> Answer:
    """The whole plan, as a checklist."""
    if not plan.phases:
        return Answer(status(f"No plan yet. Begin one with: {me} append TEXT"))
    return Answer(status(portable_checklist(plan).rstrip(JS_WHITESPACE)))


def append(plan: Plan, phase: str | None, texts: Sequence[str], *, me: str = ME) -> Answer:
    """New tasks at the end of a phase, which is made if no phase is meant; without one, of the last phase."""
    tasks = tuple(Task(capitalized(text)) for text in texts)
    if not tasks or not all(task.text for task in tasks):
        return refused(Trouble.MISUSED, f"What is to be done? {me} append [PHASE] TEXT")
    name, where = _phase_for(plan, phase)
    added = "; ".join(single_line(task.text) for task in tasks)
    return Answer(status(f"Added{where}: {added}"), (Append(tasks, name),), settles=False)


def start(plan: Plan, query: str, *, me: str = ME, numbered: bool = False) -> Answer:
    """One task in progress."""
    if not query:
        return refused(Trouble.MISUSED, f"Start which task? {me} start TASK")
    found = _task(plan, query, numbered=numbered)
    if isinstance(found, Answer):
        return found
    target, shown = found
    return Answer(status(f"Started: {shown}"), (Mark(target, Status.IN_PROGRESS),))


def mark(plan: Plan, query: str, to: Status, *, numbered: bool = False) -> Answer:
    """A task, a phase or everything marked with a status."""
    if not query:
        return Answer(status(f"{MARKED[to]}: everything"), (Mark(Everything(), to),))
    found = _task_or_phase(plan, query, numbered=numbered)
    if isinstance(found, Answer):
        return found
    target, shown = found
    return Answer(status(f"{MARKED[to]}: {shown}"), (Mark(target, to),))


def remove(plan: Plan, query: str, *, numbered: bool = False) -> Answer:
    """A task or the tasks of a phase taken out; without a word about which, the whole plan."""
    if not query:
        return Answer(status("Removed: everything"), (Write(()),))
    found = _task_or_phase(plan, query, numbered=numbered)
    if isinstance(found, Answer):
        return found
    target, shown = found
    return Answer(status(f"Removed: {shown}"), (Remove(target),))


def note(plan: Plan, query: str, text: str, *, me: str = ME, numbered: bool = False) -> Answer:
    """A note added to one task."""
    text = text.rstrip(JS_WHITESPACE)
    if not query or not text:
        return refused(Trouble.MISUSED, f"Note what, and on which task? {me} note TASK TEXT")
    found = _task(plan, query, numbered=numbered)
    if isinstance(found, Answer):
        return found
    target, shown = found
    return Answer(status(f"Noted on: {shown}"), (Note(target, text),))


def copy(plan: Plan, *, me: str = ME) -> Answer:
    """The checklist for the clipboard."""
    if not plan.phases:
        return warned(Trouble.NOTHING_THERE, f"There is no plan to copy; begin one with: {me} append TEXT")
    return Answer(request=CopyText(portable_checklist(plan)))


def export(plan: Plan, path: str, *, me: str = ME) -> Answer:
    """The plan for a file, in a form that gives the same plan back."""
    if not plan.phases:
        return warned(Trouble.NOTHING_THERE, f"There is no plan to export; begin one with: {me} append TEXT")
    return Answer(request=WriteFile(path or FILE, lossless_checklist(plan)))


def import_(path: str) -> Answer:
    """A plan wanted from a file."""
    return Answer(request=ReadFile(path or FILE))


def edit(plan: Plan) -> Answer:
    """The plan wanted back from the person's editor."""
    return Answer(request=OpenEditor(draft(plan)))


def draft(plan: Plan) -> str:
    """What an editor opens with."""
    return lossless_checklist(plan) if plan.phases else TEMPLATE


def after_request(request: Request, text: str = "", *, unnamed: str = FIRST_PHASE) -> Answer:
    """What follows when a request was carried out; `text` is what was read or typed.

    `unnamed` is what a phase is called that the text gives no name to.
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
    """What to say when a request could not be carried out."""
    match request:
        case CopyText():
            return refused(Trouble.OUTSIDE, f"Could not copy the plan: {why}")
        case WriteFile(path):
            return refused(Trouble.OUTSIDE, f"Could not write {path}: {why}")
        case ReadFile(path):
            return refused(Trouble.OUTSIDE, f"Could not read {path}: {why}")
        case OpenEditor():  # exhaustive
            return warned(Trouble.OUTSIDE, f"Nothing was edited: {why}")


def _phase_for(plan: Plan, phase: str | None) -> tuple[str | None, str]:
    """The exact name of the phase to append to (none for the last one), and how to say where that is."""
    if phase is None or not phase.strip(JS_WHITESPACE):
        if not plan.phases:
            return FIRST_PHASE, f" to {FIRST_PHASE}"
        last = plan.phases[-1].name
        return None, f" to {single_line(last)}" if last else ""
    found = phases_like(plan, phase)
    if len(found) == 1:
        return found[0].name, f" to {single_line(found[0].name)}"
    name = title(phase)
    return name, f" to the new phase {name}"


def _task(plan: Plan, query: str, *, numbered: bool) -> tuple[Named | At, str] | Answer:
    """The one task that is meant, and how to say which."""
    if numbered and query.isdecimal():
        return _task_at(plan, int(query))
    tasks = tasks_like(plan, query)
    if len(tasks) == 1:
        return Named(tasks[0].text), single_line(tasks[0].text)
    return _unclear("task", query, [task.text for task in tasks])


def _task_or_phase(plan: Plan, query: str, *, numbered: bool) -> tuple[Selector, str] | Answer:
    """The task that is meant, else the phase."""
    found = _task(plan, query, numbered=numbered)
    if not isinstance(found, Answer) or (numbered and query.isdecimal()):
        return found
    phases = phases_like(plan, query)
    if len(phases) == 1:
        return InPhase(phases[0].name), f"all of {single_line(phases[0].name)}"
    candidates = [task.text for task in tasks_like(plan, query)] + [phase.name for phase in phases]
    return _unclear("task or phase", query, candidates)


def _task_at(plan: Plan, position: int) -> tuple[Named | At, str] | Answer:
    """The task at a position; by its text where that is enough, since the plan may change under our hands."""
    texts = [task.text for task in plan.tasks]
    if position >= len(texts):
        known = f"they are numbered 0 to {len(texts) - 1}" if texts else "there is none"
        return refused(Trouble.UNMATCHED, f"No task has the number {position}: {known}")
    text = texts[position]
    return Named(text) if texts.count(text) == 1 else At((position,)), single_line(text)


def _unclear(kind: str, query: str, candidates: list[str]) -> Answer:
    wanted = single_line(query)
    if not candidates:
        return refused(Trouble.UNMATCHED, f'No {kind} has "{wanted}" in it')
    listed = "; ".join(single_line(text) for text in candidates[:MAX_CANDIDATES])
    more = "; …" if len(candidates) > MAX_CANDIDATES else ""
    return refused(Trouble.UNMATCHED, f'"{wanted}" fits {len(candidates)}: {listed}{more}')


def _read(text: str, unnamed: str, success: str, failure: str) -> Answer:
    """The plan that a text stands for in place of the one there is, if every line of it can be read."""
    reading = read(text, unnamed)
    if reading.problems:
        lines = "".join(f"\n  {problem}" for problem in reading.problems)
        return refused(Trouble.UNREADABLE, f"{failure}:{lines}")
    tasks, phases = reading.plan.tasks, reading.plan.phases
    counted = f"{len(tasks)} {_plural('task', len(tasks))} in {len(phases)} {_plural('phase', len(phases))}"
    return Answer(status(f"{success}: {counted}"), (Write(phases),))


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
