"""`tildone uninstall`: remove the plan's tools and hooks from coding agents."""

from __future__ import annotations

from tildone.cli.agents.installing import change_each, site_for
from tildone.cli.parsing.args import ParsedArgs
from tildone.integrations.settings import files


def run(args: ParsedArgs) -> int:
    """Remove what an installation added."""
    return change_each(args, site_for(args), files.uninstalling, files.uninstall, "Removed from", "has nothing of ours")
