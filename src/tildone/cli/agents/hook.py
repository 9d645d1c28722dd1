"""`tildone hook` when options precede the verb; `tildone.cli.main` handles the usual order before parsing."""

from __future__ import annotations

from tildone.cli import run_hook
from tildone.cli.parsing.table import ParsedArgs


def run(args: ParsedArgs) -> int:
    return run_hook([*args.positional, *(f"--{name}={given}" for name, given in args.options.items())])
