"""The `/todo` command of a `phased` conversation: parses its text and returns an `Answer`."""

from __future__ import annotations

from tildone.commands.answer import Answer, FailureReason, refusal, status
from tildone.commands.requests import copy, edit, export, import_
from tildone.commands.typed import verb_and_rest, words
from tildone.commands.verbs import MARKS, append, mark, remove, show, start
from tildone.core.plan import Plan
from tildone.views.sanitize import single_line

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
    """Return the answer to `/todo` followed by `text`."""
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
            return import_(rest)
        case "help" | "?":
            return Answer(status(HELP))
        case _:
            return refusal(FailureReason.USAGE, f'"{single_line(verb)}" is no verb of /todo.\n{HELP}')


def _append(plan: Plan, args: list[str]) -> Answer:
    """A single word is the task. Otherwise the first word names the phase."""
    if len(args) < 2:  # noqa: PLR2004  a phase and a task
        return append(plan, None, args)
    return append(plan, args[0], [" ".join(args[1:])])
