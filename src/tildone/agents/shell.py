"""The agent whose shell runs this process.

Coding agents tell the commands that their models run which conversation they belong to, or can be found above them
among the processes. What such a command changes in a plan is the agent's own doing: the model sees the output, and need
not be told of it again. Nor does an agent speak for a person: it cannot resume itself.
"""

from __future__ import annotations

import os

from tildone.agents.identity import ANY_AGENT, KNOWN, Known, agent_id
from tildone.agents.processes import agent_process, began_with, processes_above, runs_program
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tildone.agents.registry import Agent


TYPED_SOCKET = "TILDONE_TYPED_SOCKET"
"""The variable with the number of the socket that says that a person typed the command."""


def agent_of_shell(environ: Mapping[str, str], agents: Iterable[Agent] = (), known: Mapping[str, Known] = KNOWN) -> str:
    """Return the text of the id of the agent whose shell this is; empty if it is nobody's, or not known.

    `known` are the coding agents whose variables count. `agents` are the agents at work. They are looked for among the
    processes above this one, whose environment may be another one. A process of such an agent counts if it runs its
    program, or if one below it was started with the variables of the agent: others may be above this one, too, if an
    agent was registered from a script.
    """
    for name, facts in known.items():
        if environ.get(facts.conversation):
            return str(agent_id(name, environ[facts.conversation], 0))
    above = processes_above()
    for agent in agents if above else ():
        is_above = agent.pid in above and (runs_program(agent.pid, _programs(agent)) or _is_marked(agent, above, known))
        if is_above and not is_typed_in(agent.pid):
            return str(agent.id)
    marked = next((name for name, facts in known.items() if any(map(environ.get, facts.marks))), "")
    if marked or environ.get(ANY_AGENT):
        return str(agent_id(marked, "", agent_process()))
    return ""


def _programs(agent: Agent) -> tuple[str, ...]:
    """Return the names that the program of an agent may have."""
    known = KNOWN.get(agent.id.integration)
    return (known.executable, known.package) if known else (agent.id.integration,)


def _is_marked(agent: Agent, above: list[int], known: Mapping[str, Known]) -> bool:
    """Return whether a process between this one and that of the agent was started with the agent's variables."""
    facts = known.get(agent.id.integration)
    variables = {facts.conversation, *facts.marks} - {""} if facts else set[str]()
    return any(began_with(pid, variables) for pid in above[: above.index(agent.pid)])


def is_typed_in(pid: int) -> bool:
    """Return whether a person typed this command in the program of an agent, as they type `/todo` in `tildone run`.

    The program has passed on a socket that it made. The kernel tells who made it; the commands of a model are started
    without it.
    """
    number = os.environ.get(TYPED_SOCKET, "")
    if not number.isdecimal():
        return False
    # Late, because few commands are typed there.
    import socket  # noqa: PLC0415  see above
    import struct  # noqa: PLC0415  see above

    peer = getattr(socket, "SO_PEERCRED", None)
    if peer is None:
        return False
    form = struct.Struct("3i")
    try:
        with socket.socket(fileno=os.dup(int(number))) as passed:
            made_by, *_ = form.unpack(passed.getsockopt(socket.SOL_SOCKET, peer, form.size))
    except (OSError, OverflowError):
        return False
    return bool(made_by == pid)
