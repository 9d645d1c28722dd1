"""Every verb of the command line, as a table."""

from tildone.cli.args import MANY, Option, Verb

SESSION = Option("session", "NAME", "which session; else $TILDONE_SESSION, else this project's")
STORE = Option("store", "FILE", "where plans are kept; else $TILDONE_STORE, else your own data folder")
DIALECT = Option("dialect", "NAME", "indexed, phased or declared; else $TILDONE_DIALECT, else the session's own")
FORCE = Option("force", "", "do it all the same")
JSON = Option("json", "", "print JSON")

APPEND = Verb(
    "append",
    "[PHASE] TEXT…",
    "add tasks to the plan",
    run="todo.append",
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
    run="todo.start",
    least=1,
    most=MANY,
    about="TASK is a part of the task's text. Where it fits several, the only open one is meant.",
    examples=("tildone todo start parser",),
)
DONE = Verb(
    "done",
    "[TASK|PHASE]",
    "mark a task, a phase or everything completed",
    run="todo.done",
    most=MANY,
    examples=("tildone todo done parser", "tildone todo done"),
)
DROP = Verb(
    "drop",
    "[TASK|PHASE]",
    "mark a task, a phase or everything abandoned",
    run="todo.drop",
    most=MANY,
    examples=("tildone todo drop release notes",),
)
RM = Verb(
    "rm",
    "[TASK|PHASE]",
    "remove a task, the tasks of a phase, or everything",
    run="todo.rm",
    most=MANY,
    about="What is removed is not lost: tildone undo brings it back.",
    examples=("tildone todo rm release notes", "tildone todo rm"),
)
NOTE = Verb(
    "note",
    "TASK TEXT",
    "add a note to a task",
    run="todo.note",
    least=2,
    most=MANY,
    about="The first word names the task by a part of its text; the rest is the note.",
    examples=('tildone todo note parser "The grammar is in docs/grammar.md"',),
)
EDIT = Verb(
    "edit",
    "",
    "edit the plan in $VISUAL or $EDITOR",
    run="edit.edit",
    about="What you typed is kept when it cannot be read, or when the plan changed meanwhile.",
    examples=("EDITOR=nano tildone todo edit",),
)
COPY = Verb("copy", "", "copy the plan as Markdown", run="copy.copy", examples=("tildone todo copy",))
EXPORT = Verb(
    "export",
    "[FILE]",
    "write the plan to a file as Markdown",
    run="files.export",
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
    run="files.import_",
    most=1,
    about=(
        "FILE is TODO.md unless named; - is standard input. The file takes the plan's place as a whole. Where a\n"
        "line cannot be read nothing changes, and a file without a task replaces a plan only if you --force it."
    ),
    options=(FORCE,),
    examples=("tildone todo import plan.md", "tildone todo export - | tildone todo import - --session copy"),
)
SHOW = Verb("show", "", "show the plan", run="show.show", examples=("tildone todo show",))

TODO = Verb(
    "todo",
    "[VERB …]",
    "show the plan, and change it by hand",
    run="show.show",
    about="Without a verb, the plan is shown. Tasks and phases are named by a part of their text.",
    examples=("tildone todo", 'tildone todo append "Write the parser"', "tildone todo done parser"),
    verbs=(SHOW, APPEND, START, DONE, DROP, RM, NOTE, EDIT, COPY, EXPORT, IMPORT),
)
CALL = Verb(
    "call",
    "TOOL [JSON]",
    "call a tool as a model would",
    run="call.call",
    least=1,
    most=2,
    about=(
        "Prints what the model would get. The arguments are read from standard input if JSON is - or missing.\n"
        "Tools: write_todos, list_todos, edit_todos (indexed), todo_write (phased), TodoWrite (declared)."
    ),
    options=(JSON,),
    examples=(
        """tildone call todo_write '{"ops": [{"op": "append", "phase": "Build", "items": ["Parse"]}]}'""",
        "tildone call write_todos - < todos.json",
        "tildone call list_todos '{}' --json",
    ),
)
LOG = Verb(
    "log",
    "",
    "show what happened to the plan, newest first",
    run="log.log",
    options=(
        Option("limit", "N", "how many events (20)"),
        Option("all", "", "other branches, too: what was undone and left behind"),
        JSON,
    ),
    examples=("tildone log", "tildone log --limit 5", "tildone log --all --json"),
)
UNDO = Verb(
    "undo",
    "",
    "take back the newest change of the plan",
    run="undo.undo",
    about="Whoever made it. Nothing is lost: tildone redo brings it back.",
    examples=("tildone undo",),
)
REDO = Verb(
    "redo",
    "",
    "take back the newest undo",
    run="undo.redo",
    examples=("tildone redo",),
)
SESSIONS = Verb(
    "sessions",
    "",
    "list the sessions in the store",
    run="sessions.sessions",
    options=(JSON,),
    examples=("tildone sessions", "tildone todo --session /path/to/another/project"),
)
RUN = Verb(
    "run",
    "[TASK|PLAN.md]",
    "let an agent work through a task or a plan",
    run="run.run",
    most=MANY,
    about=(
        "TASK is what a model is told to do; - reads it from standard input, and without one you type it. PLAN.md is\n"
        "a checklist. Where no model is named, tildone itself carries out a plan whose tasks end in a command in\n"
        "backticks. Commands are asked for at a terminal; anywhere else they run only if --allow lets them."
    ),
    options=(
        Option("model", "SPEC", "provider:name, or shell; else $TILDONE_MODEL"),
        Option("mode", "MODE", "terminal, print (the last answer), json (events) or rpc"),
        Option("continue", "", "go on with the newest conversation of this folder"),
        Option("resume", "ID|FILE", "go on with this conversation"),
        Option("session", "ID|FILE", "the same; begin one of that id if there is none"),
        Option("fork", "ENTRY", "go another way from a message of yours on"),
        Option("session-dir", "DIR", "where conversations are kept; else $TILDONE_SESSION_DIR"),
        Option("no-session", "", "keep nothing"),
        Option("max-nudges", "N", "how often it is told to go on without progress (20)"),
        Option("allow", "PATTERN", "run commands like this without asking ('git *', '*'); may be given again"),
        Option("outside", "", "let files outside the working folder be read and written"),
        Option("no-builtin-tools", "", "no read, write, edit and bash"),
    ),
    examples=(
        "tildone run examples/hello.md --allow '*'",
        'tildone run "Add a --version flag, with a test" --model anthropic:claude-sonnet-5-5',
        "tildone run --continue",
    ),
)
HELP = Verb(
    "help",
    "[VERB …]",
    "show help for a verb",
    run="help.help_",
    most=MANY,
    examples=("tildone help todo append",),
)

ROOT = Verb(
    "tildone",
    "VERB …",
    "The plan your agents actually finish.",
    run="help.overview",
    about=(
        "A session is an agent's plan and its history. Each project (a git repository, or else the working folder)\n"
        "has its own, named by its path."
    ),
    options=(
        SESSION,
        STORE,
        DIALECT,
        Option("help", "", "show this help; -h for short"),
        Option("version", "", "show the version"),
    ),
    examples=('tildone todo append Build "Write the parser"', "tildone todo", "tildone log"),
    verbs=(TODO, RUN, CALL, LOG, UNDO, REDO, SESSIONS, HELP),
)
