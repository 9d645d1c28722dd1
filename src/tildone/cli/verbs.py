"""The table of all verbs: the groups, in the order in which the help lists them."""

from __future__ import annotations

from tildone.cli.parsing.options import DIALECT, SESSION, STORE
from tildone.cli.parsing.table import Group, Option, Verb
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.parsing.table import VerbTable

TABLES: Registry[VerbTable, tuple[str, str]] = Registry(
    "tildone.cli",
    "VERBS",
    {
        "plan": ("plan", "todo verify approve call"),
        "history": ("history", "log stats diff blame undo redo checkout branch label"),
        "agents": (
            "agent",
            "run extensions install uninstall mcp hook pause resume stop answer share status watch board",
        ),
        "fleet": ("fleet", "fleet"),
        "transfer": ("transfer", "import export"),
        "maintenance": ("maintenance", "sessions doctor trust backup restore prune migrate"),
        "program": ("other", "help completion complete-words overview"),
    },
)
"""The packages of verbs: the title of each in the help, and its verbs. A command imports only its own package."""


def _group(package: str) -> Group:
    title, words = TABLES.entries[package]
    return Group(title, lambda: TABLES[package], tuple(words.split()))


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
    groups=tuple(map(_group, TABLES)),
    default="overview",
)
