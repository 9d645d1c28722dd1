"""The registry record of the agent behind a connection: the session it works on, and the name of its reader.

Theory of operation. An agent's hooks and its MCP server are different processes that share the agent's record. The
hooks may learn the conversation id after the server has registered the agent by its process, or learn a new one
when the person clears the conversation. So the record is read again whenever the registry has changed, and the server
adopts the identity that the hooks have recorded. Which head the model has seen is in the store, under the name of the
agent's reader. A registry that cannot be written does not stop the agent: the error is logged, and the agent works on
the session that it named, or else on the project's; without a reader, only the connection knows what its model has
seen.
"""

from __future__ import annotations

from tildone.agents.assignment import assign_session
from tildone.agents.identity import AgentId
from tildone.agents.registry import CALLER_NOTE, Agent
from tildone.agents.subagents import register, subagent_of
from tildone.errors import StoreError
from tildone.ids import now
from tildone.mcp.callers import Retention
from tildone.mcp.registry_stamp import registry_stamp
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.agents.registry import AgentRegistry
    from tildone.mcp.callers import Caller


class CallingAgent:
    """The agent behind one caller. Not thread-safe: one thread does all the work of a connection."""

    def __init__(self, caller: Caller, agents: AgentRegistry, report: Callable[[Exception], None]) -> None:
        self._caller = caller
        self._agents = agents
        self._report = report
        self._id = caller.id
        self._stamp: int | None = None
        self._last: Agent | None = None

    def current(self) -> Agent:
        """Return the agent's current record, without a reader if the store is not to record what its model has seen.

        It is the same object as long as neither the record nor a note has changed.
        """
        stamp = registry_stamp(self._agents.folder)
        if stamp is None or stamp != self._stamp or self._last is None or not self._is_current(self._last):
            self._last = self._read()
        self._stamp = stamp
        return self._last

    def _read(self) -> Agent:
        noted, session = self._noted_by_hooks(), self._caller.named_session
        agent_id = noted or self._id
        if self._caller.retention is not Retention.STORE and session:
            return Agent(agent_id, session)
        record = self._agents.get(agent_id)
        if record is None or not self._is_current(record):
            known_id = agent_id if noted or record else self._id_from_hooks()
            pid = self._caller.pid or (record.pid if record else 0)
            try:
                record = assign_session(self._agents, known_id, pid, now(), session)
            except StoreError as error:
                self._report(error)
                return Agent(agent_id, session or self._agents.project)
        self._id = record.id
        if self._caller.subagent:
            return self._subagent(record)
        return record if self._caller.retention is Retention.STORE else replace(record, reader="")

    def note(self, agent: Agent, name: str) -> str:
        """Return a note on the agent; empty if there is none."""
        return self._agents.note(agent.id, name)

    def cost(self, agent: Agent) -> float:
        """Return what the agent's conversation has cost so far, in dollars, as its hooks noted it."""
        return self._agents.cost(agent.id)

    def _subagent(self, parent: Agent) -> Agent:
        """Return the record of the subagent that calls. Its list is its own, and never the parent's."""
        subagent = subagent_of(self._agents, parent, self._caller.subagent, now())
        try:
            register(self._agents, subagent)
        except StoreError as error:
            self._report(error)
        return subagent

    def release(self) -> None:
        """Remove the record of an agent that only this server knows, so that its session becomes available.

        Its process may be a terminal or an editor that runs for days. Any other agent's record is removed by the
        agent's hooks, or expires with its process.
        """
        if self._id != AgentId(pid=self._caller.pid):
            return
        try:
            self._agents.remove(self._id)
        except StoreError as error:
            self._report(error)

    def _is_current(self, record: Agent) -> bool:
        """Return whether `assign_session` would return the record unchanged, which saves reading the file again."""
        pid = self._caller.pid or record.pid
        same_session = self._caller.named_session in (None, record.session)
        return record.pid == pid and record.is_fresh(pid, now()) and same_session

    def _noted_by_hooks(self) -> AgentId | None:
        """Return the agent that hooks have noted as the next to call, where one process runs several agents."""
        process = self._caller.id
        if not process.is_anonymous or not process.integration:
            return None
        try:
            noted = AgentId.parse(self._agents.note(process, CALLER_NOTE))
        except ValueError:
            return None
        record = self._agents.get(noted)
        # The note may be from an earlier process with the same PID.
        return None if record is not None and record.pid != self._caller.pid else noted

    def _id_from_hooks(self) -> AgentId:
        """Return the identity under which hooks have registered an agent of this process; else the caller's own."""
        own, pid = self._caller.id, self._caller.pid
        if not pid or self._caller.certain:
            return own
        same_process = (agent.id for agent in self._agents.active(now()) if agent.pid == pid)
        return next((other for other in same_process if own.integration in ("", other.integration)), own)
