"""`tildone install`: install the plan's tools and hooks into coding agents, and check that they answer."""

from __future__ import annotations

import os
from functools import partial
from importlib.metadata import version

from tildone.cli.agents.installing import (
    agents_named,
    backups,
    install_plugin,
    installable_program,
    list_agents,
    none_found,
    preview,
    show_changes,
    site_for,
)
from tildone.cli.agents.share import share
from tildone.cli.opening import settings_for
from tildone.cli.output.findings import finding_lines
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import put, put_spans
from tildone.cli.parsing.table import ParsedArgs
from tildone.distribution import program
from tildone.errors import TildoneError, UsageError
from tildone.integrations.checks.host_version import too_old
from tildone.integrations.checks.probe import probe_all
from tildone.integrations.checks.report import examine, report
from tildone.integrations.settings import files
from tildone.integrations.settings.installation import edits_for
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tildone.integrations.record import Integration
    from tildone.integrations.settings.files import SettingsChange
    from tildone.integrations.settings.site import Site

NEEDED_BY_OTHERS = "Everyone who uses these files needs tildone on their PATH, for example by: uv tool install tildone"
SET_UP_ALREADY = "is set up already"


def run(args: ParsedArgs) -> int:
    """Install into the named coding agents; without a name, list them."""
    site = site_for(args, installable_program)
    if not args.positional:
        return list_agents(site)
    agents = agents_named(args.positional, site)
    folder = args.options.get("as-plugin")
    if folder:
        return install_plugin(args, site, agents, os.path.abspath(folder))
    # All changes are computed before any is written, so that a refusal leaves every file as it was.
    planned = [(agent, _changes(agent, site)()) for agent in agents]
    if not planned:
        return none_found()
    if args.has("dry-run"):
        for agent, changes in planned:
            preview(agent, changes, SET_UP_ALREADY)
        return 0
    for agent, changes in planned:
        files.write_all(changes, partial(files.install, backups=backups()), _changes(agent, site))
    if args.has("share"):
        share(settings_for(args))
    found = {} if args.has("no-check") else check_agents(agents, site)
    for agent, changes in planned:
        _show(agent, changes, found.get(agent.name, [_unchecked(agent)]), site, verbose=args.has("verbose"))
    dead = any(finding.severity is Severity.ERROR for findings in found.values() for finding in findings)
    return TildoneError.exit_code if dead else 0


def check_agents(agents: Sequence[Integration], site: Site) -> dict[str, list[Finding]]:
    """Start what the settings files of these agents now contain, and return the findings by agent."""
    installed = [(agent.name, examine(agent, site)) for agent in agents]
    launches = [launch for _, found in installed if found is not None for launch in found.launches]
    with ProgressLine() as progress:
        results = probe_all(
            launches, site.project, lambda done, total: progress("checking the installation", done, total, "commands")
        )
    this = version("tildone")
    found = {name: [*report(each, results, this)] if each is not None else [] for name, each in installed}
    return {agent.name: [*found[agent.name], *too_old(agent)] for agent in agents}


def _changes(agent: Integration, site: Site) -> Callable[[], list[SettingsChange]]:
    """A function that computes the changes from the files as they are when it is called."""
    edits = edits_for(agent.configure, site)
    if not edits:
        raise UsageError(f"{agent.title} has no settings for these options; nothing was installed")
    return lambda: files.install_changes(edits, backups(), site.within)


def _unchecked(agent: Integration) -> Finding:
    return Finding(Severity.WARNING, "not checked", f"{program()} doctor {agent.name}")


def _show(
    agent: Integration, changes: Sequence[SettingsChange], found: Sequence[Finding], site: Site, *, verbose: bool
) -> None:
    put(f"Installed into {agent.title}:" if changes else f"{agent.title} {SET_UP_ALREADY}.")
    show_changes(changes, verbose=verbose)
    for finding in found:
        put_spans(finding_lines(finding))
    works = not any(finding.severity is Severity.ERROR for finding in found)
    if changes and works:
        put(f"Next: restart {agent.title}. {agent.after_install}".rstrip())
        for prompt in agent.prompts.get(site.scope, ()):
            put(f"{agent.title} will ask {prompt}.")
        if not site.for_user:
            put(NEEDED_BY_OTHERS)
