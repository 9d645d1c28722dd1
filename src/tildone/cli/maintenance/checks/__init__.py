"""The checks of `tildone doctor`. A check yields findings; to add one, add it to `CHECKS`."""

from __future__ import annotations

from tildone.cli.maintenance.checks.agents import coding_agents
from tildone.cli.maintenance.checks.program import extras, versions
from tildone.cli.maintenance.checks.project import plan_of_project
from tildone.cli.maintenance.checks.settings import settings_in_force
from tildone.cli.maintenance.checks.store import other_processes, permissions, space, store
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tildone.cli.maintenance.checks.context import CheckContext
    from tildone.log.findings import Finding

    Check = tuple[str, Callable[[CheckContext], Iterator[Finding]]]

AGENTS = "Agents"
"""The only check that is run if coding agents are named."""

CHECKS: tuple[Check, ...] = (
    ("Program", versions),
    ("Extras", extras),
    ("Settings", settings_in_force),
    ("Project", plan_of_project),
    ("Store", store),
    ("Permissions", permissions),
    ("Space", space),
    ("In use", other_processes),
    (AGENTS, coding_agents),
)
"""The checks and their titles, in the order of the output."""
