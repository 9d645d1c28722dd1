"""Clients that want to be told of changes: by subscribing, as they used to, or by listening, as they do now."""

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
from tildone.mcp.connections import SessionView
from tildone.mcp.watcher import PlanWatcher

MOST = 200


class Subscriptions:
    """Everybody who wants to know, on every connection."""

    def __init__(self, watch: PlanWatcher) -> None:
        self._watch = watch
        self._subscribers: dict[tuple[Any, str], _Subscriber] = {}
        self._streams: set[ListenHandler] = set()

    def subscribe(self, asked: Request, uri: str, found: SessionView) -> None:
        """Tell a connection of the changes at an address until it ends. To subscribe again changes nothing."""
        # The SDK shows a handler no other way to the connection, and to what is done at its end.
        connection = asked.session._connection  # noqa: SLF001  see above
        if (connection, uri) in self._subscribers:
            return
        self._make_room()
        self._subscribers[connection, uri] = _Subscriber(self._watch, found, asked.session, uri)
        connection.exit_stack.callback(self._end, connection, uri)

    def unsubscribe(self, asked: Request, uri: str) -> None:
        """Tell it no more."""
        self._end(asked.session._connection, uri)  # noqa: SLF001  see subscribe

    async def listen(
        self, asked: Request, params: types.SubscriptionsListenRequestParams, wanted: Mapping[str, SessionView]
    ) -> types.SubscriptionsListenResult:
        """Tell of the changes at these addresses, for as long as the request stays open."""
        self._make_room()
        stream = ListenHandler(_Plans(self._watch, wanted))
        self._streams.add(stream)
        honoured = params.notifications.model_copy(update={"resource_subscriptions": list(wanted)})
        try:
            return await stream(asked, params.model_copy(update={"notifications": honoured}))
        finally:
            self._streams.discard(stream)

    def close(self) -> None:
        """End every stream as the protocol has it, and stop watching."""
        for stream in self._streams:
            stream.close()
        for connection, uri in tuple(self._subscribers):
            self._end(connection, uri)
        self._watch.close()

    def _make_room(self) -> None:
        if len(self._subscribers) + len(self._streams) >= MOST:
            raise MCPError(INTERNAL_ERROR, f"{MOST} subscriptions are open; there can be no more")

    def _end(self, connection: object, uri: str) -> None:
        subscriber = self._subscribers.pop((connection, uri), None)
        if subscriber:
            subscriber.end()


class _Subscriber:
    """A connection that is told of changes at an address: of all that have come about since, once."""

    def __init__(self, watch: PlanWatcher, found: SessionView, session: ServerSession, uri: str) -> None:
        self._session = session
        self._uri = uri
        self._due = False
        self._telling: asyncio.Task[None] | None = None
        self._off = watch.on(found, self._tell)

    def end(self) -> None:
        self._off()
        if self._telling:
            self._telling.cancel()

    def _tell(self) -> None:
        self._due = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        while self._due:
            self._due = False
            await self._session.send_resource_updated(self._uri)


class _Plans:
    """The plans at some addresses as what the SDK calls a bus: it asks here who is to hear of what."""

    def __init__(self, watch: PlanWatcher, wanted: Mapping[str, SessionView]) -> None:
        self._watch = watch
        self._wanted = wanted

    async def publish(self, event: ServerEvent) -> None:
        """Nothing comes about by being published: plans change in the store."""

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Have somebody hear of changes; gives a function that ends it."""
        ends = [
            self._watch.on(found, partial(listener, ResourceUpdated(uri=uri))) for uri, found in self._wanted.items()
        ]

        def unsubscribe() -> None:
            for end in ends:
                end()

        return unsubscribe
