"""The agent whose shell runs this process.

Coding agents tell the commands that their models run which conversation they belong to, or can be found above them
among the processes. What such a command changes in a plan is the agent's own doing: the model sees the output, and need
not be told of it again. Nor does an agent speak for a person: it cannot resume itself.
"""

from __future__ import annotations

from tildone.agents.identity import agent_id
from tildone.agents.processes import is_below, runs_program
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tildone.agents.registry import Agent

VARIABLES = {"CLAUDE_CODE_SESSION_ID": "claude", "CODEX_SESSION_ID": "codex", "PI_SESSION_ID": "pi"}
"""The variables with the conversation's id, and the integrations; observed in the shells of the running programs."""


def agent_of_shell(
    environ: Mapping[str, str], agents: Iterable[Agent] = (), program: Callable[[Agent], str] = lambda _: ""
) -> str:
    """Return the text of the id of the agent whose shell this is; empty if it is nobody's, or not known.

    `agents` are the agents at work, and `program` returns the name of the program of one. They are looked for among the
    processes above this one.
    """
    for variable, integration in VARIABLES.items():
        if environ.get(variable):
            return str(agent_id(integration, environ[variable], 0))
    above = (agent for agent in agents if agent.pid and is_below(agent.pid))
    return next((str(agent.id) for agent in above if runs_program(agent.pid, (program(agent),))), "")
