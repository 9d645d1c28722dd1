"""One connection per caller: its session, its agent record, and a thread that carries out its calls in order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from time import monotonic

from tildone.agents.registry import MODEL_NOTE, Agent, AgentRegistry
from tildone.config import Settings
from tildone.dialects.base import Dialect, Reply
from tildone.history.timeline import newest_events
from tildone.kit.schema import SchemaProblem
from tildone.log.events import Author, Event, PlanChanged
from tildone.log.state import latest_state
from tildone.log.store import Store
from tildone.mcp.callers import Caller, Retention
from tildone.mcp.calling_agent import CallingAgent
from tildone.mcp.executor import SerialExecutor
from tildone.mcp.reporting import client_message, log_error
from tildone.mcp.snapshot import SessionSnapshot
from tildone.session import Session
from tildone.value import replace
from tildone.wiring import open_agents, open_session

MAX_CONNECTIONS = 200
CLOSE_TIMEOUT_SECONDS = 1.0


class CallerConnections:
    """The connections in use, all on one store. Beyond the limit, the least recently used one is closed."""

    def __init__(self, settings: Settings, dialect: Dialect, store: Store) -> None:
        self.dialect = dialect
        self.store = store
        self._settings = settings
        self._agents = open_agents(settings)
        self._connections: OrderedDict[Caller, Connection] = OrderedDict()

    def get(self, caller: Caller) -> Connection:
        """Return the caller's connection, opened if there is none."""
        connection = self._connections.get(caller)
        if connection is None:
            connection = Connection(caller, self._settings, self.dialect, self.store, self._agents)
            self._connections[caller] = connection
            if len(self._connections) > MAX_CONNECTIONS:
                _, idle = self._connections.popitem(last=False)
                idle.close()
        self._connections.move_to_end(caller)
        return connection

    def close(self) -> None:
        """Close all connections, and the store unless a call is still running after the timeout."""
        deadline = monotonic() + CLOSE_TIMEOUT_SECONDS
        for connection in self._connections.values():
            connection.close()
        if all(connection.join(deadline - monotonic()) for connection in self._connections.values()):
            self.store.close()


class Connection:
    """One caller's connection. Its calls run one after the other, concurrently with those of other callers."""

    def __init__(
        self, caller: Caller, settings: Settings, dialect: Dialect, store: Store, agents: AgentRegistry
    ) -> None:
        self._caller = caller
        self._settings = settings
        self._dialect = dialect
        self._store = store
        self._agents = agents
        self._agent = CallingAgent(caller, agents)
        self._author = Author()
        self._session: Session | None = None
        self._executor = SerialExecutor(str(caller.id))

    async def call(self, tool: str, arguments: dict[str, object]) -> Reply:
        """Carry out a tool call. Every error becomes a reply, phrased by the dialect."""
        return await self._executor.run(lambda: self._call(tool, arguments))

    async def snapshot(self, session: str | None = None, *, events: int = 0) -> SessionSnapshot:
        """Return the current state of the named session; without a name, of the agent's own session.

        `events` is the number of the newest events to read.
        """
        return await self._executor.run(lambda: self._snapshot(session, events))

    async def session_names(self) -> list[str]:
        """Return the names of all sessions, the most recently written first."""
        return await self._executor.run(lambda: [info.name for info in self._store.sessions()])

    def close(self) -> None:
        """Accept no more calls; calls already accepted are carried out."""
        self._executor.submit(self._agent.release)
        self._executor.close()

    def join(self, timeout: float) -> bool:
        """Wait for the accepted calls, and return whether all were carried out."""
        return self._executor.join(timeout)

    def _call(self, tool: str, arguments: dict[str, object]) -> Reply:
        try:
            session = self._open_session(self._agent.current())
            return session.call(tool, arguments)
        except Exception as error:  # noqa: BLE001  the outermost function of a call: reported to model and person
            return self._error_reply(tool, arguments, error)

    def _snapshot(self, name: str | None, events: int) -> SessionSnapshot:
        name = name or self._agent.current().session
        newest_first = list(_to_plan(self._store.history(name)))
        changed = next((event for event in newest_first if isinstance(event.fact, PlanChanged)), None)
        recent = tuple(newest_events(self._store.history(name), events)) if events else ()
        return SessionSnapshot(name, latest_state(newest_first), changed, recent)

    def _open_session(self, agent: Agent) -> Session:
        """Return the agent's session, with the reader and the author of its events."""
        self._author = Author(agent=self._caller.author_of(agent.id), model=self._agents.note(agent.id, MODEL_NOTE))
        if self._session is None or self._session.name != agent.session:
            own = replace(self._settings, session=agent.session)
            self._session = open_session(own, self._dialect, self._store, lambda: self._author)
        self._session.reader = agent.reader
        if self._caller.retention is Retention.NONE:
            self._session.set_seen_head(None)
        return self._session

    def _error_reply(self, tool: str, arguments: dict[str, object], error: Exception) -> Reply:
        log_error(error)
        known = self._dialect.tool(tool)
        message = client_message(error)
        if known is None:
            return Reply(message, {}, is_error=True)
        return self._dialect.refuse(known, [SchemaProblem("", message)], arguments)


def _to_plan(newest_first: Iterable[Event]) -> Iterator[Event]:
    """The events up to the newest snapshot, which determine the state."""
    for event in newest_first:
        yield event
        if isinstance(event.fact, PlanChanged):
            return
