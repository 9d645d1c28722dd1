"""Parsing of the command line: the tables that describe verbs, the parser that reads them, and the help verb."""

from __future__ import annotations

from tildone.cli.parsing.table import UNLIMITED, Verb
from tildone.registry import Registry
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.parsing.table import VerbTable

VERBS: VerbTable = Registry(
    __name__,
    "run",
    {
        "help": Verb(
            "help",
            "[VERB …]",
            "Show the help of a verb.",
            max_args=UNLIMITED,
            examples=("tildone help todo append",),
        ),
    },
)
