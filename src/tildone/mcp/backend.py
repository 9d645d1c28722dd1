"""What requests that need the store work with, on either transport: handlers, connections and subscriptions."""

from __future__ import annotations

from tildone.mcp.connections import CallerConnections
from tildone.mcp.handlers import Handlers
from tildone.mcp.subscriptions import Subscriptions
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.config import Settings
    from tildone.dialects.base import Dialect
    from tildone.mcp.callers import CallerResolver
    from tildone.mcp.connections import Connection
    from tildone.mcp.request import Request


class Backend:
    """The handlers of a server, its callers' connections, and their subscriptions."""

    def __init__(
        self,
        settings: Settings,
        dialect: Dialect,
        resolve_caller: CallerResolver,
        report: Callable[[Exception], None],
        *,
        all_sessions: bool,
    ) -> None:
        self._connections = CallerConnections(settings, dialect, resolve_caller, report)
        self.handlers = Handlers(self._connections, all_sessions=all_sessions)
        self.subscriptions = Subscriptions(self._connections.store.get)

    def connection(self, request: Request) -> Connection:
        """Return the connection of the agent that sent a request."""
        return self._connections.of(request)

    def release(self, connection: Connection) -> None:
        """Close the connection of a caller that does not come back."""
        self._connections.release(connection)

    def open_store(self) -> None:
        """Open the store now instead of at the first call.

        Raises:
            TildoneError: it cannot be opened.
        """
        self._connections.store.get()

    def close(self) -> None:
        """End all subscriptions and close all connections."""
        self.subscriptions.close()
        self._connections.close()
