"""`tildone install`: install the plan's tools and hooks into coding agents."""

from __future__ import annotations

import os

from tildone.cli.agents.installing import agents_named, apply_changes, install_plugin, list_agents, site_for
from tildone.cli.parsing.table import ParsedArgs
from tildone.integrations.settings import files
from tildone.integrations.settings.installation import edits_for


def run(args: ParsedArgs) -> int:
    """Install into the named coding agents; without a name, list them."""
    site = site_for(args)
    if not args.positional:
        return list_agents(site)
    agents = agents_named(args, site)
    folder = args.options.get("as-plugin")
    if folder:
        return install_plugin(args, site, agents, os.path.abspath(folder))
    # All changes are computed before any is written, so that a refusal leaves every file as it was.
    changes = [(agent, files.install_changes(edits_for(agent.configure, site))) for agent in agents]
    return apply_changes(args, changes, files.install, done="Installed into", nothing="is set up already")
