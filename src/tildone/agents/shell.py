"""The agent whose shell runs this process.

Coding agents tell the commands that their models run which conversation they belong to, or can be found above them
among the processes. What such a command changes in a plan is the agent's own doing: the model sees the output, and need
not be told of it again. Nor does an agent speak for a person: it cannot resume itself.
"""

from __future__ import annotations

from tildone.agents.identity import agent_id
from tildone.agents.processes import agent_process, is_below, runs_program
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Protocol

    from tildone.agents.registry import Agent

    class Known(Protocol):
        """The variables in the shells of a coding agent's model."""

        @property
        def conversation(self) -> str:
            """The one with the id of the conversation."""

        @property
        def marks(self) -> tuple[str, ...]:
            """Others that are set there and nowhere else."""


ANY_AGENT = "AI_AGENT"
"""The variable by which coding agents that tildone does not know mark the shells of their models."""


def agent_of_shell(
    environ: Mapping[str, str],
    known: Mapping[str, Known],
    agents: Iterable[Agent] = (),
    program: Callable[[Agent], str] = lambda _: "",
) -> str:
    """Return the text of the id of the agent whose shell this is; empty if it is nobody's, or not known.

    `known` are the variables of coding agents. `agents` are the agents at work, and `program` returns the name of the
    program of one. They are looked for among the processes above this one.
    """
    for name, facts in known.items():
        if environ.get(facts.conversation):
            return str(agent_id(name, environ[facts.conversation], 0))
    for agent in agents:
        if agent.pid and is_below(agent.pid) and runs_program(agent.pid, (program(agent),)):
            return str(agent.id)
    marked = next((name for name, facts in known.items() if any(map(environ.get, facts.marks))), "")
    if marked or environ.get(ANY_AGENT):
        return str(agent_id(marked, "", agent_process()))
    return ""
