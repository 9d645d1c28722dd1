"""How the agent of a run is started: its driver, its first prompt, and where its output and transcript are noted."""

from __future__ import annotations

import sys
from math import inf

from tildone.fleet.drivers.launch import AgentContext
from tildone.fleet.handover import with_last_messages
from tildone.fleet.minding import AgentCommand, How
from tildone.log.address import parse_address
from tildone.log.fleet.lease import TRANSCRIPT_VARIABLE
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tildone.fleet.minding import AgentEnding
    from tildone.fleet.site import WorkSite
    from tildone.fleet.workspaces import Workspace
    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease

RELEASE = "from tildone.fleet.releasing import main; main()"
"""The program with which a minder gives the lease back when the worker is gone."""

MAX_STARTS = 25
"""How often an agent that ends at its first stop is started under one lease."""


@value
class PreparedAgent:
    """An agent to be started. One that `stops_early` cannot be held to its plan: it ends at its first stop."""

    command: AgentCommand
    stops_early: bool


def agent_start(
    site: WorkSite, lease: Lease, files: Workspace, events: Sequence[Event], allow: tuple[str, ...]
) -> PreparedAgent:
    """Return how the agent of a lease is started in its working tree. `allow` are the commands that it may run.

    Raises:
        Refused: the agent cannot keep to what the worker permits.
        OSError: its settings cannot be written.
    """
    [view] = [view for view in site.leases.look(lease.run) if view.lease.hand == lease.hand]
    folder, work = files.worktree.folder, lease.work
    prompt = with_last_messages(site.prompt_for(view, events, files.worktree), files.messages_before)
    launch = site.agents[work.agent](
        AgentContext(folder, site.address, lease.session, prompt, work.model, allow, site.environ, site.ask)
    )
    command = AgentCommand(
        launch.arguments,
        folder,
        {**launch.environ, TRANSCRIPT_VARIABLE: files.transcript},
        str(lease.fence),
        files.output,
        release=(sys.executable, "-c", RELEASE, str(lease.fence)),
        grace=site.grace,
        max_frozen=_max_frozen(site),
    )
    return PreparedAgent(command, launch.stops_early)


def _max_frozen(site: WorkSite) -> float:
    """Return how long an agent may be frozen: it could hold the lock of a file, but not that of a server."""
    is_file = parse_address(site.address).path is not None
    return site.leases.settings().lease / 1000 if is_file else inf


def starts_again(start: PreparedAgent, ending: AgentEnding, newly_done: Collection[int], starts: int) -> bool:
    """Return whether an agent that ended with open tasks is started again: it stops early, but has done a task."""
    is_early = start.stops_early and ending.how is How.EXIT and not ending.number
    return is_early and bool(newly_done) and starts < MAX_STARTS
