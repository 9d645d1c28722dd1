"""The verbs that take plans and their histories in and out of the store."""

from __future__ import annotations

from tildone.cli.parsing.args import MANY, Option, Verb
from tildone.cli.parsing.options import FORCE, JSON

VERBOSE = Option("verbose", "", "say of every line what has no place, not only of a few")

IMPORT = Verb(
    "import",
    "FILE…",
    "take over plans and histories from other programs' files",
    run="transfer.import_files.import_",
    least=1,
    most=MANY,
    about=(
        "Formats: pi (session files, with all their branches), claude (Claude Code's folder or file of tasks),\n"
        "markdown (any checklist), todo.txt, json (what tildone export wrote). FILE may be a folder of Claude Code's;\n"
        "- is standard input. A plan takes the place of the session's, and one without a task only if you --force it.\n"
        "A history goes into a session of its own, named in the file, unless you name one. What has no place in a\n"
        "plan is said."
    ),
    options=(
        Option("from", "FORMAT", "pi, claude, markdown, todo.txt or json; else found out"),
        Option("into", "SESSION", "the same as --session"),
        Option("watch", "", "go on for as long as the file changes; Ctrl-C ends it"),
        FORCE,
        Option("dry-run", "", "show what would come of it, and change nothing"),
        VERBOSE,
        JSON,
    ),
    examples=(
        "tildone import TODO.md notes/todo.txt",
        "tildone import ~/.claude/tasks/SESSION --watch",
        "gh issue view 12 --json body --jq .body | tildone import - --from markdown",
    ),
)
EXPORT = Verb(
    "export",
    "[FILE]",
    "write the plan, or the session with all its history, to a file",
    run="transfer.export.export",
    most=1,
    about=(
        "The format is that of the file's name: .md, .txt (todo.txt), .json (everything, to be imported again) or\n"
        ".jsonl (a session of pi's, with all its branches). Without FILE, or with -, it goes to standard output, as\n"
        "Markdown unless you say otherwise. A file that holds something else is kept unless you --force it."
    ),
    options=(Option("as", "FORMAT", "markdown, todo.txt, json or pi; else by FILE's name"), FORCE, VERBOSE),
    examples=("tildone export plan.md", "tildone export --as todo.txt", "tildone export session.json"),
)

VERBS: tuple[Verb, ...] = (IMPORT, EXPORT)
