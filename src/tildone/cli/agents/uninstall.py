"""`tildone uninstall`: remove the plan's tools and hooks from coding agents."""

from __future__ import annotations

from tildone.cli.agents.installing import agents_named, apply_changes, site_for
from tildone.cli.parsing.table import ParsedArgs
from tildone.integrations.settings import files
from tildone.integrations.settings.installation import edits_for


def run(args: ParsedArgs) -> int:
    """Remove what an installation added to the named coding agents."""
    site = site_for(args)
    agents = agents_named(args, site)
    changes = [(agent, files.uninstall_changes(edits_for(agent.configure, site))) for agent in agents]
    return apply_changes(args, changes, files.uninstall, done="Removed from", nothing="has no tildone in its settings")
