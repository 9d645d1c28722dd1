"""Verbs that import and export plans and sessions."""

from __future__ import annotations

from tildone.base import TYPE_CHECKING, Registry
from tildone.cli.table import DRY_RUN, FORCE, JSON, Option, Verb

if TYPE_CHECKING:
    from tildone.cli.table import VerbTable


VERBOSE = Option("verbose", "", "List everything that cannot be represented, line by line.")

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "import_files": Verb(
            "import FILE…",
            "Import plans and histories from the files of other programs.",
            description=(
                "Formats: pi (session files, with all their branches), claude (a task folder or task file of Claude "
                "Code), markdown (any checklist), todo.txt, json (written by tildone export). FILE may be a task "
                "folder; - is standard input. A plan replaces the plan of the session; a plan without tasks does so "
                "only with --force. A history goes into the session that the file names, unless --session is given. "
                "Content that a plan cannot represent is reported."
            ),
            options=(
                Option("from", "FORMAT", "pi, claude, markdown, todo.txt or json; default: detected."),
                Option("into", "SESSION", "The same as --session."),
                Option("watch", "", "Import again whenever the file changes, until Ctrl-C."),
                FORCE,
                DRY_RUN,
                VERBOSE,
                JSON,
            ),
            examples=(
                "tildone import TODO.md notes/todo.txt",
                "tildone import ~/.claude/tasks/SESSION --watch",
                "gh issue view 12 --json body --jq .body | tildone import - --from markdown",
            ),
        ),
        "export": Verb(
            "export [FILE]",
            "Write the plan, or the session with its whole history, to a file.",
            description=(
                "The suffix of FILE selects the format: .md, .txt (todo.txt), .json (the whole session, for tildone "
                "import) or .jsonl (a pi session with all its branches). Without FILE, or with -, writes Markdown to "
                "standard output unless --as is given. A file with other content is not overwritten without --force."
            ),
            options=(
                Option("as", "FORMAT", "markdown, todo.txt, json or pi; default: by the suffix of FILE."),
                FORCE,
                VERBOSE,
            ),
            examples=("tildone export plan.md", "tildone export --as todo.txt", "tildone export session.json"),
        ),
    },
)
