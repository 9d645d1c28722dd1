"""The registry record of the agent behind a connection: which session it works on, and what its model has seen.

Theory of operation. An agent's hooks and its MCP server are different processes that share the agent's record. The
hooks may learn the conversation id after the server has registered the agent by its process, or learn a new one
when the person clears the conversation. So the record is read again for every request, and the server follows the
identity that the hooks have given it. The server writes one fact only: the head that the model has seen. It does so
after the reply is sent, because nobody needs it before the model has read the reply; the next request, or the
close of the connection, waits for it. A registry that cannot be written does not stop the agent: the error is
logged, and the agent works on the session that it would have got first.
"""

from __future__ import annotations

from tildone.agents.assignment import assign_session
from tildone.agents.identity import AgentId
from tildone.agents.registry import CALLER_NOTE, Agent, AgentRegistry
from tildone.errors import StoreError
from tildone.ids import now
from tildone.mcp.callers import Caller, Retention
from tildone.mcp.reporting import log_error
from tildone.value import replace


class CallingAgent:
    """The agent behind one caller. Not thread-safe: one thread does all the work of a connection."""

    def __init__(self, caller: Caller, agents: AgentRegistry) -> None:
        self._caller = caller
        self._agents = agents
        self._id = caller.id
        self._unsaved: Agent | None = None

    def current(self, *, known_head: str | None) -> Agent:
        """The agent and the session it works on now. `known_head` counts as seen where the registry fails."""
        self.save()
        noted, session = self._noted_by_hooks(), self._caller.named_session
        agent_id = noted or self._id
        if self._caller.retention is not Retention.REGISTRY and session:
            return Agent(agent_id, session)
        record = self._agents.get(agent_id)
        if record is None or not self._is_current(record):
            found = agent_id if noted or record else self._id_from_hooks()
            pid = self._caller.pid or (record.pid if record else 0)
            try:
                record = assign_session(self._agents, found, pid, now(), session)
            except StoreError as error:
                log_error(error)
                return Agent(agent_id, session or self._agents.project, known_head)
        self._id = record.id
        return record if self._caller.retention is Retention.REGISTRY else replace(record, seen_head=None)

    def saw(self, agent: Agent, head: str | None) -> bool:
        """Note which head the model has seen; whether that is to be saved."""
        if self._caller.retention is not Retention.REGISTRY or head == agent.seen_head:
            return False
        self._unsaved = replace(agent, seen_head=head)
        return True

    def save(self) -> None:
        """Write what was noted, if anything was."""
        agent, self._unsaved = self._unsaved, None
        if agent is None:
            return
        try:
            self._agents.save(agent)
        except StoreError as error:
            log_error(error)

    def release(self) -> None:
        """Remove the record of an agent that is known to nobody but this server, so that others get its session.

        Its process may be a terminal or an editor that runs for days. The record of any other agent is left to its
        hooks, or expires with its process.
        """
        if self._id != AgentId(pid=self._caller.pid):
            return
        self.save()
        try:
            self._agents.remove(self._id)
        except StoreError as error:
            log_error(error)

    def _is_current(self, record: Agent) -> bool:
        """Whether `assign_session` would return the record unchanged: then the file is not read twice."""
        pid = self._caller.pid or record.pid
        same_session = self._caller.named_session in (None, record.session)
        return record.pid == pid and record.is_fresh(pid, now()) and same_session

    def _noted_by_hooks(self) -> AgentId | None:
        """The agent that hooks have noted as the next to call, where one process runs several agents."""
        process = self._caller.id
        if not process.is_anonymous or not process.integration:
            return None
        try:
            noted = AgentId.parse(self._agents.note(process, CALLER_NOTE))
        except ValueError:
            return None
        record = self._agents.get(noted)
        # A note may be left from an earlier process with the same id.
        return None if record is not None and record.pid != self._caller.pid else noted

    def _id_from_hooks(self) -> AgentId:
        """The identity under which hooks have registered an agent of this process; else the caller's own."""
        own, pid = self._caller.id, self._caller.pid
        if not pid or self._caller.certain:
            return own
        same_process = (agent.id for agent in self._agents.active(now()) if agent.pid == pid)
        return next((other for other in same_process if own.integration in ("", other.integration)), own)
