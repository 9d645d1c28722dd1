"""Desks: a place for each agent that calls, where its plan is at hand and its calls are carried out one by one."""

from __future__ import annotations

import sys
from collections import OrderedDict
from time import monotonic

from tildone.agents.registry import CALLER, HOUR, Agent, Agents
from tildone.config import Settings
from tildone.dialects.base import Dialect, Reply
from tildone.errors import StoreError, TildoneError
from tildone.ids import now
from tildone.kit.schema import SchemaProblem
from tildone.log.state import State, latest_state
from tildone.log.store import Store
from tildone.mcp.whose import CODEX, OPENCODE, Caller, Memory, nameless
from tildone.mcp.worker import Worker
from tildone.session import Session
from tildone.value import replace, value
from tildone.views.sanitize import printable
from tildone.wiring import open_agents, open_session

MOST_DESKS = 200
PATIENCE = 1.0


@value
class Found:
    """A session as it was found."""

    session: str
    state: State


class Desks:
    """Every desk that is in use, all on one store."""

    def __init__(self, settings: Settings, dialect: Dialect, store: Store) -> None:
        self.dialect = dialect
        self.store = store
        self._settings = settings
        self._agents = open_agents(settings)
        self._desks: OrderedDict[Caller, Desk] = OrderedDict()

    def of(self, caller: Caller) -> Desk:
        """The caller's desk."""
        desk = self._desks.get(caller)
        if desk is None:
            desk = self._desks[caller] = Desk(caller, self._settings, self.dialect, self.store, self._agents)
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


class Desk:
    """One agent's place. Its calls wait for each other; those of other agents do not wait for them."""

    def __init__(self, caller: Caller, settings: Settings, dialect: Dialect, store: Store, agents: Agents) -> None:
        self._caller = caller
        self._settings = settings
        self._dialect = dialect
        self._store = store
        self._agents = agents
        self._key = caller.key
        self._session: Session | None = None
        self._to_keep: Agent | None = None
        self._worker = Worker(caller.key)

    async def call(self, tool: str, arguments: dict[str, object]) -> Reply:
        """Carry out a tool call. Whatever goes wrong comes back as a reply, in the words of the dialect."""
        return await self._worker.do(lambda: self._call(tool, arguments))

    async def look(self, session: str | None = None) -> Found:
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
            if self._caller.memory is Memory.KEPT and session.seen_head != agent.seen:
                # When the answer is on its way: nobody asks for this before the model has read it.
                self._to_keep = replace(agent, seen=session.seen_head)
                self._worker.then(self._keep)
            return reply
        except Exception as error:  # noqa: BLE001  the outermost function of a call: the model is told, and a person
            return self._broken(tool, arguments, error)

    def _look(self, name: str | None) -> Found:
        name = name or self._agent().session
        return Found(name, latest_state(self._store.history(name)))

    def _session_of(self, agent: Agent) -> Session:
        """The agent's session, which knows what its model has seen."""
        if self._session is None or self._session.name != agent.session:
            self._session = open_session(replace(self._settings, session=agent.session), self._dialect, self._store)
        if self._caller.memory is not Memory.CONNECTED:
            self._session.set_seen_head(agent.seen)
        return self._session

    def _agent(self) -> Agent:
        """What is known of the agent. Where that can't be written down it works on the plan it would have got first."""
        self._keep()
        named, handle = self._named(), self._caller.handle
        key = named or self._key
        if self._caller.memory is not Memory.KEPT and handle:
            return Agent(key, handle)
        known = self._agents.known(key)
        pid = self._caller.pid or (known.pid if known else 0)
        if known and known.pid == pid and now() - known.at < HOUR and handle in (None, known.session):
            # As it would be admitted, without reading the same file twice.
            agent = known
        else:
            try:
                agent = self._agents.admit(key if named or known else self._recognised(), pid, now(), handle)
            except StoreError as error:
                complain(error)
                return Agent(key, handle or self._settings.project, self._session.seen_head if self._session else None)
        self._key = agent.key
        return agent if self._caller.memory is Memory.KEPT else replace(agent, seen=None)

    def _named(self) -> str:
        """Which agent hooks of opencode say it is that calls now: its process may have several. Empty if they don't."""
        if not self._caller.key.startswith(f"{OPENCODE}:"):
            return ""
        key = self._agents.jotted(self._caller.key, CALLER)
        other = self._agents.known(key) if key else None
        return "" if other is not None and other.pid != self._caller.pid else key

    def _recognised(self) -> str:
        """What an agent is known by now whose key is not known, or no longer.

        Hooks may have given it another: they were told a session where we were not, or a new one for the same agent.
        Codex has many agents in a process, and tells with each call whose it is; for opencode, see `_named`.
        """
        key, pid = self._caller.key, self._caller.pid
        host = f"{key.partition(':')[0]}:"
        if not pid or host == f"{CODEX}:":
            return key
        same = (agent.key for agent in self._agents.at_work(now()) if agent.pid == pid)
        return next((other for other in same if key == nameless(pid) or other.startswith(host)), key)

    def _keep(self) -> None:
        """Write down what the model has seen, if that is still to be done."""
        agent, self._to_keep = self._to_keep, None
        if agent is None:
            return
        try:
            self._agents.keep(agent)
        except StoreError as error:
            complain(error)

    def _leave(self) -> None:
        """Let others have the project's plan, if this agent has it and nobody but us would ever know that it is gone.

        Its process may be a terminal or an editor, which goes on for days. Whoever has a name is left to its hooks, or
        to the end of its process.
        """
        if self._key == nameless(self._caller.pid):
            self._keep()
            try:
                self._agents.forget(self._key)
            except StoreError as error:
                complain(error)

    def _broken(self, tool: str, arguments: dict[str, object], error: Exception) -> Reply:
        complain(error)
        known = self._dialect.tool(tool)
        why = told(error)
        return (
            self._dialect.refuse(known, [SchemaProblem("", why)], arguments) if known else Reply(why, {}, is_error=True)
        )


def told(error: Exception) -> str:
    """What went wrong, as much as a client may know of it."""
    return str(error) if isinstance(error, TildoneError) else f"tildone itself is at fault: {type(error).__name__}"


def complain(error: Exception) -> None:
    """Tell a person, in one line."""
    said = str(error) if isinstance(error, TildoneError) else repr(error)
    sys.stderr.write(f"tildone mcp: {printable(said)}\n")
