"""Whether an agent's model has our tools, and how the agent is held to its plan if it has none.

A model without our tools cannot close a task by a tool call, but it can run a command. It is told the command once; if
the plan is unchanged when the agent next stops, the person is told instead, because the agent may not run commands
either. A plan that follows the agent's native list needs no tool of ours.
"""

from __future__ import annotations

import os

from tildone.agents.processes import runs_program
from tildone.agents.servers import has_tools
from tildone.config import load_valid
from tildone.dialects.native import NATIVE
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from tildone.agents.registry import Agent
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent
    from tildone.session import Session

MAX_NUDGES = 1
"""How often a model without our tools is told the command before the plan changes."""


def can_use_tools(event: HookEvent, agent: Agent, settings: Settings) -> bool:
    """Return whether the agent's model has our tools. If that cannot be determined, the answer is yes.

    It is determined by process, so the process has to be that of the coding agent, and not of a person who tries the
    hook or of a program in between.
    """
    if not event.hooks.starts_servers or has_tools(settings.agents_dir, agent.pid):
        return True
    return not runs_program(agent.pid, (event.integration.executable,))


def held_by_command(session: Session, settings: Settings) -> Session | None:
    """Return the session with nudges that name a command instead of a tool; None if they name no tool anyway."""
    if session.dialect is NATIVE:
        return None
    from tildone.dialects.by_command import by_command  # noqa: PLC0415  most models have our tools
    from tildone.distribution import program  # noqa: PLC0415  the same

    patience = replace(session.patience, nudges=min(session.patience.nudges, MAX_NUDGES))
    return session.using(dialect=by_command(f"{program()} todo", _options(settings)), patience=patience)


def missing_tools(event: HookEvent) -> str:
    """Return why the agent is let go and what the person can do, as two sentences."""
    from tildone.distribution import program  # noqa: PLC0415  see `held_by_command`

    title, name = event.integration.title, event.integration.name
    return (
        f"tildone lets the agent go: its model has no todo tool, because {title} runs no MCP server of tildone. "
        f"To find the cause: {program()} doctor {name}"
    )


def _options(settings: Settings) -> str:
    """The options without which the command would edit another plan."""
    from tildone.distribution import quoted  # noqa: PLC0415  see `held_by_command`

    default, _ = load_valid({}, os.environ, settings.project)
    options = [f" --session {quoted(settings.session)}"] if settings.session != default.session else []
    options += [f" --store {quoted(str(settings.store))}"] if settings.store != default.store else []
    return "".join(options)
