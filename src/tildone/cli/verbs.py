"""Every verb of the command line, as tables."""

from tildone.cli.agents.verbs import VERBS as AGENTS
from tildone.cli.history.verbs import VERBS as HISTORY
from tildone.cli.maintenance.verbs import VERBS as MAINTENANCE
from tildone.cli.parsing.args import MANY, Option, Verb
from tildone.cli.parsing.options import DIALECT, JSON, SESSION, STORE
from tildone.cli.plan.verbs import TODO
from tildone.cli.transfer.verbs import VERBS as TRANSFER

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
CALL = Verb(
    "call",
    "TOOL [JSON]",
    "call a tool as a model would",
    run="plan.call.call",
    least=1,
    most=2,
    about=(
        "Prints what the model would get. The arguments are read from standard input if JSON is - or missing.\n"
        "Tools: write_todos, list_todos, edit_todos (indexed), todo_write (phased), TodoWrite (declared), todo (brief)."
    ),
    options=(JSON,),
    examples=(
        """tildone call todo_write '{"ops": [{"op": "append", "phase": "Build", "items": ["Parse"]}]}'""",
        "tildone call write_todos - < todos.json",
        "tildone call list_todos '{}' --json",
    ),
)
HELP = Verb(
    "help",
    "[VERB …]",
    "show help for a verb",
    run="parsing.help.help_",
    most=MANY,
    examples=("tildone help todo append",),
)

ROOT = Verb(
    "tildone",
    "VERB …",
    "The plan your agents actually finish.",
    run="parsing.help.overview",
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
    verbs=(TODO, RUN, CALL, *HISTORY, *TRANSFER, *MAINTENANCE, *AGENTS, HELP),
)
