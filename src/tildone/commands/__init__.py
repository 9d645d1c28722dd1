"""The `/todo` command that a person types into a host: the text after it and the plan in, an `Answer` out.

Nothing happens here. A shell applies the answer's steps, shows its messages and carries out its request; then
`resumed` or `failed` says what follows. `edit_reminder` is how the model learns of the change.
"""

from __future__ import annotations

from tildone.commands.answer import Answer, Trouble, refused, status
from tildone.commands.typed import verb_and_rest, words
from tildone.commands.verbs import MARKS, append, copy, edit, export, import_, mark, remove, show, start
from tildone.core.plan import Plan
from tildone.formats.markdown.writer import portable_checklist
from tildone.views.sanitize import escape_reminder_tags, single_line

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
    """What comes of `/todo` followed by `text`."""
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
            return refused(Trouble.MISUSED, f'"{single_line(verb)}" is no verb of /todo.\n{HELP}')


def edit_reminder(plan: Plan) -> str:
    """What tells the model that a person changed the plan by hand, and what it is now."""
    if plan.phases:
        said = (
            "The user changed the todo list by hand. It is now:\n\n"
            f"{escape_reminder_tags(portable_checklist(plan))}\nWork from it; do not bring back what is gone."
        )
    else:
        said = "The user cleared the todo list by hand. Leave it empty unless asked for a new one."
    return f"<system-reminder>\n{said}\n</system-reminder>"


def _append(plan: Plan, typed: list[str]) -> Answer:
    """One word is the task; of several, the first names the phase."""
    if len(typed) < 2:  # noqa: PLR2004  a phase needs something to do in it
        return append(plan, None, typed)
    return append(plan, typed[0], [" ".join(typed[1:])])
