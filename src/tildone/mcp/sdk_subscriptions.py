"""Notifications of plan changes over HTTP: `resources/subscribe`, and `subscriptions/listen` of the newest protocol.

Changes are noticed on a watching thread; notifications are sent by the event loop.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.subscriptions import ListenHandler, ResourceUpdated

from tildone.mcp.json_rpc import RequestError
from tildone.mcp.sdk_requests import as_request, as_sdk_error, run_on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ServerEvent

    from tildone.mcp.backend import Backend
    from tildone.mcp.snapshot import SessionSnapshot

    Context = ServerRequestContext[Any, Any]


class SdkSubscriptions:
    """The subscriptions of the SDK's connections."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._streams: set[ListenHandler] = set()

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Notify a connection of changes at a URI until it ends. Subscribing again changes nothing."""
        request, subscriptions = as_request(context), self._backend.subscriptions
        connection = self._backend.connection(request)
        # The SDK gives handlers no public access to the connection and its exit stack.
        sdk_connection = context.session._connection  # noqa: SLF001  see above
        key = (sdk_connection, params.uri)
        try:
            _, snapshot = await run_on(
                connection.executor, lambda: self._backend.handlers.read(request, connection, params.uri)
            )
            begun = subscriptions.begin(key)
        except RequestError as error:
            raise as_sdk_error(error) from error
        if begun:
            sdk_connection.exit_stack.callback(subscriptions.end, key)
            subscriptions.watch(key, snapshot, _in_loop(_Notifier(context.session, params.uri).notify))
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """End the subscription of a connection to a URI, if there is one."""
        self._backend.subscriptions.end((context.session._connection, params.uri))  # noqa: SLF001  see subscribe
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Report changes at the wanted URIs for as long as the request stays open."""
        request, key = as_request(context), object()
        connection = self._backend.connection(request)
        uris = params.notifications.resource_subscriptions or []
        try:
            snapshots = await run_on(
                connection.executor, lambda: self._backend.handlers.readable(request, connection, uris)
            )
            self._backend.subscriptions.begin(key)
        except RequestError as error:
            raise as_sdk_error(error) from error
        stream = ListenHandler(_PlanEvents(self._backend, key, snapshots))
        self._streams.add(stream)
        honored = params.notifications.model_copy(update={"resource_subscriptions": list(snapshots)})
        try:
            return await stream(context, params.model_copy(update={"notifications": honored}))
        finally:
            self._streams.discard(stream)
            self._backend.subscriptions.end(key)

    def close(self) -> None:
        """End every stream as the protocol requires, and stop watching."""
        for stream in self._streams:
            stream.close()
        self._backend.subscriptions.close()


class _Notifier:
    """Notifies a connection of changes at a URI. Changes while a notification is being sent are sent as one."""

    def __init__(self, session: ServerSession, uri: str) -> None:
        self._session = session
        self._uri = uri
        self._due = False
        self._sending: asyncio.Task[None] | None = None

    def notify(self) -> None:
        self._due = True
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def _send(self) -> None:
        while self._due:
            self._due = False
            await self._session.send_resource_updated(self._uri)


class _PlanEvents:
    """Plan changes as the SDK's subscription bus, which a `ListenHandler` subscribes to."""

    def __init__(self, backend: Backend, key: object, snapshots: Mapping[str, SessionSnapshot]) -> None:
        self._subscriptions = backend.subscriptions
        self._key = key
        self._snapshots = snapshots

    async def publish(self, event: ServerEvent) -> None:
        """Do nothing: plans change in the store, not by being published."""

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Call `listener` at every change; return a function that ends the subscription."""
        for uri, snapshot in self._snapshots.items():
            self._subscriptions.watch(self._key, snapshot, _in_loop(partial(listener, ResourceUpdated(uri=uri))))
        return partial(self._subscriptions.end, self._key)


def _in_loop(callback: Callable[[], object]) -> Callable[[], None]:
    """Return a function that makes the running event loop call `callback`, from any thread."""
    loop = asyncio.get_running_loop()

    def call() -> None:
        # If the loop is closed, there is nobody left to notify.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(callback)

    return call
