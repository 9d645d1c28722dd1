"""Dispatch of a command line: parse it, import the module of its verb, run it."""

from __future__ import annotations

from tildone.cli.output import screen
from tildone.cli.parsing.args import parse
from tildone.cli.parsing.table import implementation
from tildone.cli.verbs import ROOT, TABLES
from tildone.typing import TYPE_CHECKING
from tildone.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


def run_verb(argv: Sequence[str]) -> int:
    """Run the verb that `argv` names and return its exit code."""
    screen.prepare()
    args = parse(ROOT, argv)
    if args.has("help"):
        return TABLES["program"]["help"](args)
    if args.has("version"):
        screen.put(f"tildone {__version__}")
        return 0
    return implementation(args.path)(args)
