"""The native list of an agent, as it was after its last call, in a note about the agent.

The log is not enough to tell what a model changed in its list: a call that changes nothing in the plan leaves no event.
The list belongs to a conversation, and so does the note: it outlives the agent's record, because a conversation that
is resumed still has its list. It expires with other notes.
"""

from __future__ import annotations

from tildone.agents.registry import LIST_NOTE
from tildone.hooks.native_lists import NativeTask, status_named
from tildone.log import codec
from tildone.log.json_scanner import parse
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.agents.identity import AgentId
    from tildone.agents.registry import AgentRegistry


def read_list(agents: AgentRegistry, agent_id: AgentId, session: str) -> list[NativeTask] | None:
    """Return the agent's list and its tasks in a session; None if nothing is known of it."""
    try:
        noted = parse(agents.note(agent_id, LIST_NOTE))
        if noted["session"] != session:
            return None
        return [
            NativeTask(str(text), status_named(status), str(name), int(number), bool(from_user))
            for name, text, status, number, from_user in noted["tasks"]
        ]
    except (ValueError, TypeError, KeyError):
        return None


def write_list(agents: AgentRegistry, agent_id: AgentId, session: str, tasks: Sequence[NativeTask]) -> None:
    """Note the agent's list, with the tasks of a session that its tasks are.

    Raises:
        StoreError: it cannot be written.
    """
    rows = [[task.id, task.text, task.status.value, task.number, task.from_user] for task in tasks]
    agents.set_note(agent_id, LIST_NOTE, codec.dump({"session": session, "tasks": rows}))
