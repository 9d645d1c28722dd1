"""The check of the coding agents: what is installed in them is started, and asked whether it works."""

from __future__ import annotations

from importlib.metadata import version

from tildone.cli.agents.installing import agents_named, sites
from tildone.distribution import program
from tildone.integrations import INTEGRATIONS
from tildone.integrations.checks.host_version import too_old
from tildone.integrations.checks.probe import probe_all
from tildone.integrations.checks.report import examine_all, is_present, report
from tildone.log.findings import Finding, Severity
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.cli.maintenance.checks.context import CheckContext


def coding_agents(context: CheckContext) -> Iterator[Finding]:
    """The coding agents on this machine, and whether tildone works in each."""
    project = context.settings.project
    here = sites(project)
    agents = agents_named(context.agents or tuple(INTEGRATIONS), here[0])
    installed = {agent.name: examine_all(agent, here) for agent in agents}
    launches = [launch for found in installed.values() for each in found for launch in each.launches]
    results = probe_all(
        launches, project, lambda done, total: context.progress("checking the agents", done, total, "commands")
    )
    this = version("tildone")
    for agent in agents:
        for each in installed[agent.name]:
            yield from report(each, results, this)
        if installed[agent.name]:
            yield from too_old(agent)
        if not installed[agent.name] and (context.agents or is_present(agent, here[0])):
            where = "is here" if is_present(agent, here[0]) else "is not here"
            remedy = f"{program()} install {agent.name}"
            yield Finding(Severity.OK, f"{agent.title} {where}; tildone is not installed in it", remedy)
