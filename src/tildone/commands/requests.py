"""Copying, exporting, importing and editing a plan: what the shell is asked to do, and the answer once it is done."""

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
from tildone.commands.verbs import BEGIN, FIRST_PHASE
from tildone.core.arrange import written
from tildone.core.plan import Plan
from tildone.formats.markdown.reader import read
from tildone.formats.markdown.writer import lossless_checklist, portable_checklist

FILE = "TODO.md"
TEMPLATE = f"# {FIRST_PHASE}\n- [ ] (replace this with your tasks)\n"


def copy(plan: Plan) -> Answer:
    """Request that the plan is copied to the clipboard as a checklist."""
    if not plan.phases:
        return warning(FailureReason.NO_PLAN, f"There is no plan to copy; {BEGIN}")
    return Answer(request=CopyText(portable_checklist(plan)))


def export(plan: Plan, path: str, begin: str = BEGIN, *, unnamed: str = FIRST_PHASE) -> Answer:
    """Request that the plan is written to a file, in a form that can be imported without loss.

    `begin` is the hint for an empty plan, and `unnamed` the name that `after_request` will be given.
    """
    if not plan.phases:
        return warning(FailureReason.NO_PLAN, f"There is no plan to export; {begin}")
    return Answer(request=WriteFile(path or FILE, lossless_checklist(plan, all_headings=bool(unnamed))))


def import_(path: str) -> Answer:
    """Request a file to import the plan from."""
    return Answer(request=ReadFile(path or FILE))


def edit(plan: Plan) -> Answer:
    """Request that the person edits the plan."""
    return Answer(request=OpenEditor(draft(plan)))


def draft(plan: Plan, *, unnamed: str = FIRST_PHASE) -> str:
    """Return the text that the editor opens with; `unnamed` is the name that `after_request` will be given."""
    return lossless_checklist(plan, all_headings=bool(unnamed)) if plan.phases else TEMPLATE


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


def _read(text: str, unnamed: str, success: str, failure: str) -> Answer:
    """Return the answer that replaces the plan with the one in the text, if every line of it can be parsed."""
    reading = read(text, unnamed)
    if reading.problems:
        lines = "".join(f"\n  {problem}" for problem in reading.problems)
        return refusal(FailureReason.UNREADABLE, f"{failure}:{lines}")
    tasks, phases = reading.plan.tasks, reading.plan.phases
    counted = f"{len(tasks)} {_plural('task', len(tasks))} in {len(phases)} {_plural('phase', len(phases))}"
    return Answer(status(f"{success}: {counted}"), written(reading.plan))


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
