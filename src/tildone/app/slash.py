"""The verbs of the documented `/todo` command: functions from the plan and the verb's arguments to an `Answer`.

Tasks and phases are named by a part of their text, and the texts of new ones are capitalized, as in the original.
"""

from collections.abc import Sequence

from tildone.app.commands import (
    MARKED_MESSAGES,
    Answer,
    CopyText,
    FailureReason,
    OpenEditor,
    ReadFile,
    Request,
    WriteFile,
    capitalized,
    phases_like,
    refusal,
    status,
    tasks_like,
    title,
    verb_and_rest,
    warning,
    words,
)
from tildone.plan.formats import JS_WHITESPACE
from tildone.plan.formats.markdown import lossless_checklist, portable_checklist
from tildone.plan.formats.markdown_reader import read_checklist
from tildone.plan.model import Plan, Status, Task
from tildone.plan.ops import Append, Everything, InPhase, Mark, Named, Remove, Selector, Write
from tildone.plan.rare_steps import written
from tildone.plan.text.safe import single_line

FIRST_PHASE = "Todos"
MARKS = {status.verb: status for status in Status if status.verb and status is not Status.IN_PROGRESS}
"""The verbs that mark a task, a phase or everything. `start` is not one of them: it takes a single task."""

MAX_CANDIDATES = 5
BEGIN = "begin one with: /todo append TEXT"
"""The hint for an empty plan."""


def show(plan: Plan) -> Answer:
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
    if not query:
        return refusal(FailureReason.USAGE, "Start which task? /todo start TASK")
    matched = _task(plan, query)
    if isinstance(matched, Answer):
        return matched
    target, label = matched
    return Answer(status(f"Started: {label}"), (Mark(target, Status.IN_PROGRESS),))


def mark(plan: Plan, query: str, to: Status) -> Answer:
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


FILE = "TODO.md"
TEMPLATE = f"# {FIRST_PHASE}\n- [ ] (replace this with your tasks)\n"


def copy(plan: Plan) -> Answer:
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


def edit(plan: Plan) -> Answer:
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
    reading = read_checklist(text, unnamed)
    if reading.problems:
        lines = "".join(f"\n  {problem}" for problem in reading.problems)
        return refusal(FailureReason.UNREADABLE, f"{failure}:{lines}")
    tasks, phases = reading.plan.tasks, reading.plan.phases
    counted = f"{len(tasks)} {_plural('task', len(tasks))} in {len(phases)} {_plural('phase', len(phases))}"
    return Answer(status(f"{success}: {counted}"), written(reading.plan))


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


_MARKING = "\n".join(
    f"/todo {verb} [TASK|PHASE]".ljust(30) + f"mark a task, a phase or everything {status.value}"
    for verb, status in MARKS.items()
)
HELP = f"""\
/todo                         show the plan
/todo append [PHASE] TEXT     add a task; PHASE by a part of its name, or a new one
/todo start TASK              work on a task, named by a part of its text
{_MARKING}
/todo rm [TASK|PHASE]         remove a task, the tasks of a phase, or everything
/todo edit                    edit the plan in $VISUAL or $EDITOR
/todo copy                    copy the plan as Markdown
/todo export [FILE]           write the plan to a file (TODO.md)
/todo import [FILE]           read the plan from a file (TODO.md)"""


def command(text: str, plan: Plan) -> Answer:
    verb, rest = verb_and_rest(text)
    match verb:
        case "":
            return show(plan)
        case "append":
            return _append(plan, words(rest))
        case "start":
            return start(plan, rest)
        case _ if verb in MARKS:
            return mark(plan, rest, MARKS[verb])
        case "rm":
            return remove(plan, rest)
        case "edit":
            return edit(plan)
        case "copy":
            return copy(plan)
        case "export":
            return export(plan, rest)
        case "import":
            return Answer(request=ReadFile(rest or FILE))
        case "help" | "?":
            return Answer(status(HELP))
        case _:
            return refusal(FailureReason.USAGE, f'"{single_line(verb)}" is no verb of /todo.\n{HELP}')


def _append(plan: Plan, args: list[str]) -> Answer:
    """A single word is the task. Otherwise the first word names the phase."""
    if len(args) < 2:  # noqa: PLR2004  a phase and a task
        return append(plan, None, args)
    return append(plan, args[0], [" ".join(args[1:])])
