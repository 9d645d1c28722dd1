"""What the requests mean that need the store: tool calls, reading resources, and completing session names."""

from __future__ import annotations

from contextlib import suppress

from tildone.mcp import resources
from tildone.mcp.json_rpc import INVALID_PARAMS, RequestError
from tildone.mcp.listings import MAX_LOG_EVENTS
from tildone.mcp.tools import tool_result, wants_structured
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tildone.mcp.connections import CallerConnections, Connection
    from tildone.mcp.request import Request
    from tildone.mcp.snapshot import SessionSnapshot

RESOURCE_NOT_FOUND = -32002
"""The error code in all protocol versions but the newest, which uses INVALID_PARAMS."""

MAX_COMPLETIONS = 100


class Handlers:
    """Answers requests on the connection of their caller. Unless `all_sessions`, a caller reads only its own session.

    All methods block, and must be called by jobs of the connection's executor.
    """

    METHODS = ("tools/call", "resources/read", "completion/complete")

    def __init__(self, connections: CallerConnections, *, all_sessions: bool) -> None:
        self.connections = connections
        self._all_sessions = all_sessions

    def answer(self, request: Request, connection: Connection) -> dict[str, Any]:
        """Return the result of a request with one of `METHODS`.

        Raises:
            RequestError: it names something that there is not.
            TildoneError: the store cannot be read.
        """
        match request.method:
            case "tools/call":
                return self._call_tool(request, connection)
            case "resources/read":
                uri, snapshot = self.read(request, connection, request.params["uri"])
                return {"contents": [resources.contents(uri, snapshot)]}
            case _:
                return self._complete(request, connection)

    def read(self, request: Request, connection: Connection, uri: str) -> tuple[resources.PlanUri, SessionSnapshot]:
        """Return a URI, parsed, and the state of the session that it names for this caller.

        Raises:
            ResourceNotFound: it names no resource, or none that the caller may read.
            TildoneError: the store cannot be read.
        """
        parsed = resources.parse_uri(uri)
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
        name, dialect = request.params["name"], self.connections.dialect
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
