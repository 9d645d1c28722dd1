"""What the requests mean that need the store, on any transport: tool calls, resources and names of sessions."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from time import monotonic

from tildone.app.opening import open_agents
from tildone.mcp.calling_agent import CallingAgent
from tildone.mcp.connections import Connection, SharedStore
from tildone.mcp.json_rpc import INVALID_PARAMS, RequestError
from tildone.mcp.listings import MAX_LOG_EVENTS
from tildone.mcp.subscriptions import Subscriptions
from tildone.mcp.tools import tool_result, wants_structured
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tildone.config import Settings
    from tildone.dialects.base import Dialect
    from tildone.mcp.callers import Caller, CallerResolver
    from tildone.mcp.request import Request
    from tildone.mcp.resources import PlanUri
    from tildone.mcp.snapshot import SessionSnapshot

MAX_CONNECTIONS = 200
CLOSE_TIMEOUT_SECONDS = 1.0

RESOURCE_NOT_FOUND = -32002
"""The error code in all protocol versions but the newest, which uses INVALID_PARAMS."""

MAX_COMPLETIONS = 100


class Backend:
    """The connections of callers, all on one store, and their subscriptions.

    Beyond the limit, the least recently used connection is closed. `report` is called with every error that a
    connection survives. Unless `all_sessions`, a caller reads only its own session.
    """

    def __init__(
        self,
        settings: Settings,
        dialect: Dialect,
        resolve_caller: CallerResolver,
        report: Callable[[Exception], None],
        *,
        all_sessions: bool,
    ) -> None:
        self._settings = settings
        self._dialect = dialect
        self._resolve_caller = resolve_caller
        self._report = report
        self._all_sessions = all_sessions
        self._store = SharedStore(settings)
        self._agents = open_agents(settings)
        self._connections: OrderedDict[Caller, Connection] = OrderedDict()
        self._last: tuple[Caller, Connection] | None = None
        self.subscriptions = Subscriptions(self._store.get)

    def open_store(self) -> None:
        """Open the store now instead of at the first call.

        Raises:
            TildoneError: it cannot be opened.
        """
        self._store.get()

    def connection(self, request: Request) -> Connection:
        """Return the connection of the agent that sent a request, opened if there is none."""
        caller = self._resolve_caller(request)
        # Most servers have one caller, and comparing callers is faster than hashing them.
        if self._last is not None and caller == self._last[0]:
            return self._last[1]
        connection = self._connections.get(caller)
        if connection is None:
            agent = CallingAgent(caller, self._agents, self._report)
            connection = Connection(caller, self._settings, self._dialect, self._store, agent, self._report)
            self._connections[caller] = connection
            if len(self._connections) > MAX_CONNECTIONS:
                _, idle = self._connections.popitem(last=False)
                idle.close()
        self._connections.move_to_end(caller)
        self._last = caller, connection
        return connection

    def release(self, connection: Connection) -> None:
        """Close the connection of a caller that does not come back."""
        if self._connections.get(connection.caller) is not connection:
            return
        del self._connections[connection.caller]
        if self._last is not None and self._last[1] is connection:
            self._last = None
        connection.close()
        connection.interrupt()

    def close(self) -> None:
        """End all subscriptions and connections, and close the store unless a call still runs after the timeout."""
        self.subscriptions.close()
        deadline = monotonic() + CLOSE_TIMEOUT_SECONDS
        for connection in self._connections.values():
            connection.close()
            connection.interrupt()
        if all(connection.join(deadline - monotonic()) for connection in self._connections.values()):
            self._store.close()

    def answer(self, request: Request, connection: Connection) -> dict[str, Any]:
        """Return the result of a request that needs the store. It blocks, and is a job of the connection's executor.

        Raises:
            RequestError: it names something that there is not.
            TildoneError: the store cannot be read.
        """
        match request.method:
            case "tools/call":
                return self._call_tool(request, connection)
            case "resources/read":
                from tildone.mcp.resources import contents  # noqa: PLC0415  see `read`

                uri, snapshot = self.read(request, connection, request.params["uri"])
                return {"contents": [contents(uri, snapshot)]}
            case _:
                return self._complete(request, connection)

    def read(self, request: Request, connection: Connection, uri: str) -> tuple[PlanUri, SessionSnapshot]:
        """Return a URI, parsed, and the state of the session that it names for this caller.

        Raises:
            ResourceNotFound: it names no resource, or none that the caller may read.
            TildoneError: the store cannot be read.
        """
        # Late, because few clients read resources, and every one calls tools.
        from tildone.mcp.resources import parse_uri  # noqa: PLC0415  see above

        parsed = parse_uri(uri)
        if parsed is None:
            raise ResourceNotFound(request, uri)
        snapshot = connection.snapshot(events=MAX_LOG_EVENTS if parsed.log else 0)
        if parsed.session is not None and parsed.session != snapshot.session:
            if not self._all_sessions:
                raise ResourceNotFound(request, uri)
            snapshot = connection.snapshot(parsed.session)
            if snapshot.state.head is None:
                raise ResourceNotFound(request, uri)
        return parsed, snapshot

    def readable(self, request: Request, connection: Connection, uris: Sequence[str]) -> dict[str, SessionSnapshot]:
        """Return the state of the session that each URI names; those that the caller cannot read are omitted.

        Raises:
            TildoneError: the store cannot be read.
        """
        snapshots: dict[str, SessionSnapshot] = {}
        for uri in uris:
            with suppress(ResourceNotFound):
                _, snapshots[uri] = self.read(request, connection, uri)
        return snapshots

    def _call_tool(self, request: Request, connection: Connection) -> dict[str, Any]:
        name, dialect = request.params["name"], self._dialect
        tool = dialect.tool(name)
        if tool is None:
            known = ", ".join(tool.name for tool in dialect.tools)
            raise RequestError(INVALID_PARAMS, f"Unknown tool {name!r:.100}; known are {known}")
        reply = connection.call(name, request.params.get("arguments") or {}, request)
        return tool_result(tool, reply, structured=wants_structured(request))

    def _complete(self, request: Request, connection: Connection) -> dict[str, Any]:
        names: list[str] = []
        if self._all_sessions and request.params["ref"]["type"] == "ref/resource":
            prefix = request.params["argument"]["value"]
            names = [name for name in connection.session_names() if name.startswith(prefix)]
        first = names[:MAX_COMPLETIONS]
        return {"completion": {"values": first, "total": len(names), "hasMore": len(first) < len(names)}}


class ResourceNotFound(RequestError):
    """No resource has this URI, or none that this caller may read."""

    def __init__(self, request: Request, uri: str) -> None:
        code = INVALID_PARAMS if request.is_modern else RESOURCE_NOT_FOUND
        super().__init__(code, f"Resource not found: {uri:.200}", {"uri": uri})
