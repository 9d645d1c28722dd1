"""`tildone install`: install the plan's tools and hooks into coding agents."""

from __future__ import annotations

from tildone.cli.agents.installing import change_each, list_agents, site_for, write_plugin
from tildone.cli.parsing.args import ParsedArgs
from tildone.integrations.settings import files


def run(args: ParsedArgs) -> int:
    """Install into the named agents; without a name, list the supported agents."""
    site = site_for(args)
    if not args.positional:
        return list_agents(site)
    folder = args.options.get("as-plugin")
    if folder:
        return write_plugin(args, site, folder)
    return change_each(args, site, files.installing, files.install, "Installed into", "is set up already")
