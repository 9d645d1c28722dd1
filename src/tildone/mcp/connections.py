"""Desks: a place for each agent that calls, where its plan is at hand and its calls are carried out one by one."""

from __future__ import annotations

import sys
from collections import OrderedDict
from time import monotonic

from tildone.agents.assignment import assign_session
from tildone.agents.identity import AgentId
from tildone.agents.registry import CALLER_NOTE, Agent, AgentRegistry
from tildone.config import Settings
from tildone.dialects.base import Dialect, Reply
from tildone.errors import StoreError, TildoneError
from tildone.ids import now
from tildone.kit.schema import Problem
from tildone.log.state import State, latest_state
from tildone.log.store import Store
from tildone.mcp.callers import CODEX, HTTP_CALLER, OPENCODE, Caller, Memory
from tildone.mcp.executor import SerialExecutor
from tildone.session import Session
from tildone.value import replace, value
from tildone.views.sanitize import printable
from tildone.wiring import open_agents, open_session

MOST_DESKS = 200
PATIENCE = 1.0


@value
class SessionView:
    """A session as it was found."""

    session: str
    state: State


class Connections:
    """Every desk that is in use, all on one store."""

    def __init__(self, settings: Settings, dialect: Dialect, store: Store) -> None:
        self.dialect = dialect
        self.store = store
        self._settings = settings
        self._agents = open_agents(settings)
        self._desks: OrderedDict[Caller, Connection] = OrderedDict()

    def of(self, caller: Caller) -> Connection:
        """The caller's desk."""
        desk = self._desks.get(caller)
        if desk is None:
            desk = self._desks[caller] = Connection(caller, self._settings, self.dialect, self.store, self._agents)
            if len(self._desks) > MOST_DESKS:
                _, idle = self._desks.popitem(last=False)
                idle.close()
        self._desks.move_to_end(caller)
        return desk

    def close(self) -> None:
        """Wait a moment for what is being done, and let go of the store, unless that would be waiting for longer."""
        until = monotonic() + PATIENCE
        for desk in self._desks.values():
            desk.close()
        if all(desk.over(until - monotonic()) for desk in self._desks.values()):
            self.store.close()


class Connection:
    """One agent's place. Its calls wait for each other; those of other agents do not wait for them."""

    def __init__(
        self, caller: Caller, settings: Settings, dialect: Dialect, store: Store, agents: AgentRegistry
    ) -> None:
        self._caller = caller
        self._settings = settings
        self._dialect = dialect
        self._store = store
        self._agents = agents
        self._id = caller.id
        self._session: Session | None = None
        self._to_keep: Agent | None = None
        self._worker = SerialExecutor(str(caller.id))

    async def call(self, tool: str, arguments: dict[str, object]) -> Reply:
        """Carry out a tool call. Whatever goes wrong comes back as a reply, in the words of the dialect."""
        return await self._worker.do(lambda: self._call(tool, arguments))

    async def look(self, session: str | None = None) -> SessionView:
        """The agent's own session as it is now, or another."""
        return await self._worker.do(lambda: self._look(session))

    async def sessions(self) -> list[str]:
        """The names of all sessions, the one written to last first."""
        return await self._worker.do(lambda: [info.name for info in self._store.sessions()])

    def close(self) -> None:
        """Take no more calls."""
        self._worker.then(self._leave)
        self._worker.close()

    def over(self, patience: float) -> bool:
        """Whether all calls have been carried out, after no more than so many seconds."""
        return self._worker.over(patience)

    def _call(self, tool: str, arguments: dict[str, object]) -> Reply:
        try:
            agent = self._agent()
            session = self._session_of(agent)
            reply = session.call(tool, arguments)
            if self._caller.memory is Memory.KEPT and session.seen_head != agent.seen_head:
                # When the answer is on its way: nobody asks for this before the model has read it.
                self._to_keep = replace(agent, seen_head=session.seen_head)
                self._worker.then(self._keep)
            return reply
        except Exception as error:  # noqa: BLE001  the outermost function of a call: the model is told, and a person
            return self._broken(tool, arguments, error)

    def _look(self, name: str | None) -> SessionView:
        name = name or self._agent().session
        return SessionView(name, latest_state(self._store.history(name)))

    def _session_of(self, agent: Agent) -> Session:
        """The agent's session, which knows what its model has seen."""
        if self._session is None or self._session.name != agent.session:
            self._session = open_session(replace(self._settings, session=agent.session), self._dialect, self._store)
        if self._caller.memory is not Memory.CONNECTED:
            self._session.set_seen_head(agent.seen_head)
        return self._session

    def _agent(self) -> Agent:
        """What is known of the agent. Where that can't be written down it works on the plan it would have got first."""
        self._keep()
        noted, named_session = self._noted(), self._caller.named_session
        agent_id = noted or self._id
        if self._caller.memory is not Memory.KEPT and named_session:
            return Agent(agent_id, named_session)
        known = self._agents.get(agent_id)
        pid = self._caller.pid or (known.pid if known else 0)
        if known and known.pid == pid and known.is_fresh(pid, now()) and named_session in (None, known.session):
            # What `assign_session` would return, without reading the same file twice.
            agent = known
        else:
            try:
                found = agent_id if noted or known else self._recognised()
                agent = assign_session(self._agents, found, pid, now(), named_session)
            except StoreError as error:
                log_error(error)
                seen_head = self._session.seen_head if self._session else None
                return Agent(agent_id, named_session or self._settings.project, seen_head)
        self._id = agent.id
        return agent if self._caller.memory is Memory.KEPT else replace(agent, seen_head=None)

    def _noted(self) -> AgentId | None:
        """The agent that opencode's hooks have noted as the one that calls now: its process may run several."""
        if self._caller.id.integration != OPENCODE:
            return None
        note = self._agents.note(self._caller.id, CALLER_NOTE)
        try:
            noted = AgentId.parse(note)
        except ValueError:
            return None
        other = self._agents.get(noted)
        return None if other is not None and other.pid != self._caller.pid else noted

    def _recognised(self) -> AgentId:
        """What an agent is known by now whose key is not known, or no longer.

        Hooks may have given it another: they were told a session where we were not, or a new one for the same agent.
        Codex has many agents in a process, and tells with each call whose it is; for opencode, see `_named`.
        """
        own, pid = self._caller.id, self._caller.pid
        if not pid or own.integration == CODEX or own == HTTP_CALLER:
            return own
        same = (agent.id for agent in self._agents.active(now()) if agent.pid == pid)
        return next((other for other in same if own.integration in ("", other.integration)), own)

    def _keep(self) -> None:
        """Write down what the model has seen, if that is still to be done."""
        agent, self._to_keep = self._to_keep, None
        if agent is None:
            return
        try:
            self._agents.save(agent)
        except StoreError as error:
            log_error(error)

    def _leave(self) -> None:
        """Let others have the project's plan, if this agent has it and nobody but us would ever know that it is gone.

        Its process may be a terminal or an editor, which goes on for days. Whoever has a name is left to its hooks, or
        to the end of its process.
        """
        if self._id == AgentId(pid=self._caller.pid):
            self._keep()
            try:
                self._agents.remove(self._id)
            except StoreError as error:
                log_error(error)

    def _broken(self, tool: str, arguments: dict[str, object], error: Exception) -> Reply:
        log_error(error)
        known = self._dialect.tool(tool)
        why = client_message(error)
        return self._dialect.refuse(known, [Problem("", why)], arguments) if known else Reply(why, {}, is_error=True)


def client_message(error: Exception) -> str:
    """What went wrong, as much as a client may know of it."""
    return str(error) if isinstance(error, TildoneError) else f"tildone itself is at fault: {type(error).__name__}"


def log_error(error: Exception) -> None:
    """Tell a person, in one line."""
    said = str(error) if isinstance(error, TildoneError) else repr(error)
    sys.stderr.write(f"tildone mcp: {printable(said)}\n")
