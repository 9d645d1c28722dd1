"""The verbs that show the plan and change it by hand."""

from tildone.cli.parsing.args import MANY, Verb
from tildone.cli.parsing.options import FORCE
from tildone.core.plan import Status

APPEND = Verb(
    "append",
    "[PHASE] TEXT…",
    "add tasks to the plan",
    run="plan.todo.append",
    least=1,
    most=MANY,
    about=(
        "One word (or text in quotes) is a task, added to the last phase. Of several, the first names the phase,\n"
        "by a part of its name or as a new one, and every other is a task."
    ),
    examples=(
        'tildone todo append "Write the parser"',
        'tildone todo append Build "Write the parser" "Wire up the command line"',
    ),
)
START = Verb(
    "start",
    "TASK",
    "work on a task",
    run="plan.todo.start",
    least=1,
    most=MANY,
    about="TASK is a part of the task's text. Where it fits several, the only open one is meant.",
    examples=("tildone todo start parser",),
)
_MARK_EXAMPLES = {
    Status.COMPLETED: ("tildone todo done parser", "tildone todo done"),
    Status.ABANDONED: ("tildone todo drop release notes",),
}
MARKS = tuple(
    Verb(
        status.verb,
        "[TASK|PHASE]",
        f"mark a task, a phase or everything {status.value}",
        run="plan.todo.mark",
        most=MANY,
        examples=_MARK_EXAMPLES.get(status, (f"tildone todo {status.verb} parser",)),
    )
    for status in Status
    if status.verb and status is not Status.IN_PROGRESS
)
"""One verb for each status that has one; `start` takes one task and is apart."""
RM = Verb(
    "rm",
    "[TASK|PHASE]",
    "remove a task, the tasks of a phase, or everything",
    run="plan.todo.rm",
    most=MANY,
    about="What is removed is not lost: tildone undo brings it back.",
    examples=("tildone todo rm release notes", "tildone todo rm"),
)
NOTE = Verb(
    "note",
    "TASK TEXT",
    "add a note to a task",
    run="plan.todo.note",
    least=2,
    most=MANY,
    about="The first word names the task by a part of its text; the rest is the note.",
    examples=('tildone todo note parser "The grammar is in docs/grammar.md"',),
)
EDIT = Verb(
    "edit",
    "",
    "edit the plan in $VISUAL or $EDITOR",
    run="plan.edit.edit",
    about="What you typed is kept when it cannot be read, or when the plan changed meanwhile.",
    examples=("EDITOR=nano tildone todo edit",),
)
COPY = Verb("copy", "", "copy the plan as Markdown", run="plan.copy.copy", examples=("tildone todo copy",))
EXPORT = Verb(
    "export",
    "[FILE]",
    "write the plan to a file as Markdown",
    run="plan.files.export",
    most=1,
    about=(
        "FILE is TODO.md unless named; - is standard output. A file that holds anything but a checklist is kept\n"
        "unless you --force it."
    ),
    options=(FORCE,),
    examples=("tildone todo export", "tildone todo export - | less"),
)
IMPORT = Verb(
    "import",
    "[FILE]",
    "read the plan from a file of Markdown",
    run="plan.files.import_",
    most=1,
    about=(
        "FILE is TODO.md unless named; - is standard input. The file takes the plan's place as a whole. Where a\n"
        "line cannot be read nothing changes, and a file without a task replaces a plan only if you --force it."
    ),
    options=(FORCE,),
    examples=("tildone todo import plan.md", "tildone todo export - | tildone todo import - --session copy"),
)
SHOW = Verb("show", "", "show the plan", run="plan.show.show", examples=("tildone todo show",))
TODO = Verb(
    "todo",
    "[VERB …]",
    "show the plan, and change it by hand",
    run="plan.show.show",
    about="Without a verb, the plan is shown. Tasks and phases are named by a part of their text.",
    examples=("tildone todo", 'tildone todo append "Write the parser"', "tildone todo done parser"),
    verbs=(SHOW, APPEND, START, *MARKS, RM, NOTE, EDIT, COPY, EXPORT, IMPORT),
)
