"""The table of all verbs: the groups, in the order in which the help lists them."""

from tildone.cli import agents, fleet, history, maintenance, plan, program, transfer
from tildone.cli.parsing.options import DIALECT, SESSION, STORE
from tildone.cli.parsing.table import Group, Option, Verb

ROOT = Verb(
    "tildone",
    "[VERB …]",
    "The plan your agents actually finish.",
    description=(
        "A session is an agent's plan and its history. Each project (a git repository, or else the working folder) "
        "has its own session, named by its path. Without a verb, shows where this project stands."
    ),
    options=(
        SESSION,
        STORE,
        DIALECT,
        Option("help", "", "Show this help (short: -h)."),
        Option("version", "", "Show the version (short: -V)."),
    ),
    examples=('tildone todo add "Write the parser"', "tildone todo", "tildone log"),
    groups=(
        Group("plan", plan.VERBS),
        Group("history", history.VERBS),
        Group("agent", agents.VERBS),
        Group("fleet", fleet.FLEET),
        Group("transfer", transfer.VERBS),
        Group("maintenance", maintenance.VERBS),
        Group("other", program.VERBS),
    ),
    default="overview",
)
HELP = program.VERBS.entries["help"]
