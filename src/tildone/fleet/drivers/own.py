"""The agents that are part of tildone: `tildone run`, and the shell agent, which needs no model."""

from __future__ import annotations

import sys

from tildone.fleet.drivers.environment import agent_environment, providers_of
from tildone.fleet.drivers.launch import AgentContext, AgentLaunch

SHELL_AGENT = "tildone.wiring.shell_agent"
"""The module of the shell agent's process."""


def launch_run(context: AgentContext) -> AgentLaunch:
    """Return how `tildone run` is started. Without a model, it runs the commands in the texts of the tasks."""
    arguments = [sys.executable, "-m", "tildone", "run", "--mode", "json", "--allow-write", "*"]
    arguments += [f"--allow={pattern}" for pattern in context.allow]
    if context.model:
        arguments += [f"--model={context.model}", "--", context.prompt]
    environ = agent_environment(context, providers_of(context.model) if context.model else ())
    return AgentLaunch(tuple(arguments), environ | {"TILDONE_COUNTDOWN": "0"})


def launch_shell(context: AgentContext) -> AgentLaunch:
    """Return how the shell agent is started."""
    return AgentLaunch((sys.executable, "-m", SHELL_AGENT), agent_environment(context))
