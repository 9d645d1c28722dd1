"""Notifications of plan changes: `resources/subscribe`, and `subscriptions/listen` of the newest protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, ResourceUpdated, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from tildone.mcp.callers import Request
from tildone.mcp.snapshot import SessionSnapshot
from tildone.mcp.watcher import PlanWatcher

MAX_SUBSCRIPTIONS = 200


class Subscriptions:
    """The subscriptions of all connections."""

    def __init__(self, watcher: PlanWatcher) -> None:
        self._watcher = watcher
        self._subscribers: dict[tuple[Any, str], _Subscriber] = {}
        self._streams: set[ListenHandler] = set()

    def subscribe(self, request: Request, uri: str, snapshot: SessionSnapshot) -> None:
        """Notify a connection of changes at a URI until it ends. Subscribing again changes nothing."""
        # The SDK gives handlers no public access to the connection and its exit stack.
        connection = request.session._connection  # noqa: SLF001  see above
        if (connection, uri) in self._subscribers:
            return
        self._check_limit()
        self._subscribers[connection, uri] = _Subscriber(self._watcher, snapshot, request.session, uri)
        connection.exit_stack.callback(self._end, connection, uri)

    def unsubscribe(self, request: Request, uri: str) -> None:
        """End the subscription of a connection to a URI, if there is one."""
        self._end(request.session._connection, uri)  # noqa: SLF001  see subscribe

    async def listen(
        self,
        request: Request,
        params: types.SubscriptionsListenRequestParams,
        snapshots: Mapping[str, SessionSnapshot],
    ) -> types.SubscriptionsListenResult:
        """Report changes at these URIs for as long as the request stays open."""
        self._check_limit()
        stream = ListenHandler(_PlanEvents(self._watcher, snapshots))
        self._streams.add(stream)
        honored = params.notifications.model_copy(update={"resource_subscriptions": list(snapshots)})
        try:
            return await stream(request, params.model_copy(update={"notifications": honored}))
        finally:
            self._streams.discard(stream)

    def close(self) -> None:
        """End every stream as the protocol requires, and stop watching."""
        for stream in self._streams:
            stream.close()
        for connection, uri in tuple(self._subscribers):
            self._end(connection, uri)
        self._watcher.close()

    def _check_limit(self) -> None:
        if len(self._subscribers) + len(self._streams) >= MAX_SUBSCRIPTIONS:
            raise MCPError(INTERNAL_ERROR, f"{MAX_SUBSCRIPTIONS} subscriptions are open; there can be no more")

    def _end(self, connection: object, uri: str) -> None:
        subscriber = self._subscribers.pop((connection, uri), None)
        if subscriber:
            subscriber.end()


class _Subscriber:
    """A connection subscribed to a URI. Changes that happen while a notification is being sent are sent as one."""

    def __init__(self, watcher: PlanWatcher, snapshot: SessionSnapshot, session: ServerSession, uri: str) -> None:
        self._session = session
        self._uri = uri
        self._due = False
        self._sending: asyncio.Task[None] | None = None
        self._end_watch = watcher.watch(snapshot, self._notify)

    def end(self) -> None:
        self._end_watch()
        if self._sending:
            self._sending.cancel()

    def _notify(self) -> None:
        self._due = True
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        while self._due:
            self._due = False
            await self._session.send_resource_updated(self._uri)


class _PlanEvents:
    """Plan changes as the SDK's subscription bus, which a `ListenHandler` subscribes to."""

    def __init__(self, watcher: PlanWatcher, snapshots: Mapping[str, SessionSnapshot]) -> None:
        self._watcher = watcher
        self._snapshots = snapshots

    async def publish(self, event: ServerEvent) -> None:
        """Do nothing: plans change in the store, not by being published."""

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Call `listener` at every change; return a function that ends the subscription."""
        ends = [
            self._watcher.watch(snapshot, partial(listener, ResourceUpdated(uri=uri)))
            for uri, snapshot in self._snapshots.items()
        ]

        def unsubscribe() -> None:
            for end in ends:
                end()

        return unsubscribe
