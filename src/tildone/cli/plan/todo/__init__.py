"""The verbs of `tildone todo`."""

from __future__ import annotations

from tildone.cli.parsing.options import FORCE
from tildone.cli.parsing.table import UNLIMITED, Verb
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.parsing.table import VerbTable

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "show": Verb("show", "", "Show the plan.", examples=("tildone todo show",)),
        "append": Verb(
            "append",
            "[PHASE] TEXT…",
            "Add tasks to the plan.",
            min_args=1,
            max_args=UNLIMITED,
            description=(
                "A single argument is a task, added to the last phase. Of several arguments, the first names the "
                "phase (a part of its name is enough; an unknown name creates a phase), and each of the others is a "
                "task."
            ),
            examples=(
                'tildone todo append "Write the parser"',
                'tildone todo append Build "Write the parser" "Wire up the command line"',
            ),
        ),
        "start": Verb(
            "start",
            "TASK",
            "Mark a task as in progress.",
            min_args=1,
            max_args=UNLIMITED,
            description="TASK is a part of the task's text. If several tasks match, the only open one is chosen.",
            examples=("tildone todo start parser",),
        ),
        "done": Verb(
            "done",
            "[TASK|PHASE]",
            "Mark a task, a phase or the whole plan as completed.",
            max_args=UNLIMITED,
            examples=("tildone todo done parser", "tildone todo done"),
        ),
        "drop": Verb(
            "drop",
            "[TASK|PHASE]",
            "Mark a task, a phase or the whole plan as abandoned.",
            max_args=UNLIMITED,
            examples=("tildone todo drop release notes",),
        ),
        "rm": Verb(
            "rm",
            "[TASK|PHASE]",
            "Remove a task, the tasks of a phase, or all tasks.",
            max_args=UNLIMITED,
            description="Removed tasks are not lost: tildone undo restores them.",
            examples=("tildone todo rm release notes", "tildone todo rm"),
        ),
        "note": Verb(
            "note",
            "TASK TEXT",
            "Add a note to a task.",
            min_args=2,
            max_args=UNLIMITED,
            description="The first argument is a part of the task's text; the others are the note.",
            examples=('tildone todo note parser "The grammar is in docs/grammar.md"',),
        ),
        "edit": Verb(
            "edit",
            "",
            "Edit the plan in $VISUAL or $EDITOR.",
            description="Your text is kept if it cannot be parsed, or if the plan has changed in the meantime.",
            examples=("EDITOR=nano tildone todo edit",),
        ),
        "copy": Verb("copy", "", "Copy the plan to the clipboard as Markdown.", examples=("tildone todo copy",)),
        "export": Verb(
            "export",
            "[FILE]",
            "Write the plan to a file as Markdown.",
            max_args=1,
            description=(
                "FILE defaults to TODO.md; - is standard output. A file that contains anything but a checklist is not "
                "overwritten without --force."
            ),
            options=(FORCE,),
            examples=("tildone todo export", "tildone todo export - | less"),
        ),
        "import_file": Verb(
            "import",
            "[FILE]",
            "Read the plan from a Markdown file.",
            max_args=1,
            description=(
                "FILE defaults to TODO.md; - is standard input. The file replaces the whole plan. If a line cannot be "
                "parsed, nothing changes; a file without tasks replaces a plan only with --force."
            ),
            options=(FORCE,),
            examples=("tildone todo import plan.md", "tildone todo export - | tildone todo import - --session copy"),
        ),
    },
)
