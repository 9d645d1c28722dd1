"""One connection per caller: its session, its agent record, and a thread that carries out its calls in order."""

from __future__ import annotations

import threading

from tildone.agents.registry import MODEL_NOTE
from tildone.app.opening import open_session, open_store
from tildone.errors import RunFenced
from tildone.log.events import Author
from tildone.mcp.call_checks import CallChecks
from tildone.mcp.callers import Retention
from tildone.mcp.executor import SerialExecutor
from tildone.mcp.presence import CallerPresence
from tildone.mcp.tools import error_reply
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.doing import doing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.agents.registry import Agent
    from tildone.config import Settings
    from tildone.dialects.base import Dialect, Reply
    from tildone.log.store import Store
    from tildone.mcp.callers import Caller
    from tildone.mcp.calling_agent import CallingAgent
    from tildone.mcp.request import Request
    from tildone.mcp.snapshot import SessionSnapshot
    from tildone.session import Session

STORE_TIMEOUT_SECONDS = 5.0
"""How long a call waits for a locked store. Coding agents wait for ten seconds or more, and say nothing meanwhile."""


class SharedStore:
    """The store of all connections, opened by the first call that needs it.

    A store that cannot be opened is reported by that call, and the next one tries again: an agent whose server ended
    would lose the tool without being told why.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._store: Store | None = None

    def get(self) -> Store:
        """Return the store.

        Raises:
            TildoneError: it cannot be opened.
        """
        with self._lock:
            if self._store is None:
                self._store = open_store(self._settings, timeout=STORE_TIMEOUT_SECONDS)
            return self._store

    def close(self) -> None:
        """Close the store if it was opened."""
        with self._lock:
            if self._store is not None:
                self._store.close()


class Connection:
    """One caller's connection. Its methods block, and must be called by jobs of its `executor`.

    The jobs of a connection run one after the other, concurrently with those of other callers.
    """

    def __init__(
        self,
        caller: Caller,
        settings: Settings,
        dialect: Dialect,
        store: SharedStore,
        agent: CallingAgent,
        report: Callable[[Exception], None],
    ) -> None:
        self.caller = caller
        self._settings = settings
        self._dialect = dialect
        self._store = store
        self._agent = agent
        self._report = report
        self._author = Author()
        self._known: Agent | None = None
        self._session: Session | None = None
        self._presence = CallerPresence(agent.cost)
        self._is_fenced = False
        self.executor = SerialExecutor(str(caller.id))
        self._checks = CallChecks(self._hand_over)

    def call(self, tool: str, arguments: dict[str, object], request: Request) -> Reply:
        """Carry out a tool call. Every error becomes a reply, phrased by the dialect.

        A call that runs a check, or asks the person, does not hold up the calls that follow it.
        """
        self._checks.begin(request)
        try:
            agent = self._agent.current()
            session = self._open_session(agent)
            reply = session.call(tool, arguments)
            if not agent.is_subagent:
                session.renew_claims(self._author.agent)
                self._presence.tell(self._store.get(), agent, self._author, doing(tool, arguments))
            return reply
        except Exception as error:  # noqa: BLE001  the outermost function of a call: reported to model and person
            self._report(error)
            repeated, self._is_fenced = self._is_fenced, isinstance(error, RunFenced)
            return error_reply(self._dialect, tool, arguments, error, repeated=repeated)
        finally:
            self._checks.end()

    def interrupt(self, thread: int | None = None) -> None:
        """End the checks that the calls of one thread run, or all."""
        self._checks.interrupt(thread)

    def snapshot(self, session: str | None = None, *, events: int = 0) -> SessionSnapshot:
        """Return the current state of the named session; without a name, of the agent's own session.

        `events` is the number of the newest events to read.

        Raises:
            TildoneError: the store cannot be read.
        """
        # Late, because calls show no session.
        from tildone.mcp.resources import snapshot  # noqa: PLC0415  see above

        return snapshot(self._store.get(), session or self._agent.current().session, events)

    def session_names(self) -> list[str]:
        """Return the names of all sessions, the most recently written first.

        Raises:
            TildoneError: the store cannot be read.
        """
        return [info.name for info in self._store.get().sessions()]

    def close(self) -> None:
        """Accept no more calls; calls already accepted are carried out."""
        self.executor.submit(lambda: self._presence.leave(self._store.get))
        self.executor.submit(self._agent.release)
        self.executor.close()

    def join(self, timeout: float) -> bool:
        """Wait for the accepted calls, and return whether all were carried out."""
        return self.executor.join(timeout)

    def _hand_over(self) -> None:
        """Let other calls be carried out while the one that calls this takes long, on a session object of their own."""
        self._session = None
        self.executor.hand_over()

    def _open_session(self, agent: Agent) -> Session:
        """Return the agent's session, with the reader and the author of its events."""
        if agent is not self._known:
            self._known = agent
            self._author = Author(agent=self.caller.author_of(agent.id), model=self._agent.note(agent, MODEL_NOTE))
        if self._session is None or self._session.name != agent.session:
            own = replace(self._settings, session=agent.session)
            opened = open_session(own, self._dialect, self._store.get(), lambda: self._author)
            parts = replace(opened.parts, prover=lambda: self._checks.runner(own, self._author.agent))
            self._session = opened.using(parts=parts)
        self._session = self._session.using(reader=agent.reader)
        if self.caller.retention is Retention.NONE:
            self._session.set_seen_head(None)
        return self._session
