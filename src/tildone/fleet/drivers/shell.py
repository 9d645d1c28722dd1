"""The shell agent, which needs no model: it runs the checks of the tasks as their commands."""

import sys

from tildone.fleet.drivers.launch import AgentContext, AgentLaunch, agent_environment

MODULE = "tildone.fleet.shell_agent"
"""The module of its process."""


def launch(context: AgentContext) -> AgentLaunch:
    return AgentLaunch((sys.executable, "-m", MODULE), agent_environment(context))
