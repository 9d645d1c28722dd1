"""Delivers events: to the handlers of extensions, in the order of registration, then to listeners.

A handler that raises is reported as an `ExtensionError`, and the others still run: an extension cannot break the host.
Listeners are the host's own shells; an exception from one is a bug and is not caught.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from tildone.host.events import AgentEvent, ExtensionError, PublicEvent
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import ExtensionEvent, Reply

E = TypeVar("E", bound=ExtensionEvent)
Handler = Callable[[E, ExtensionContext], Awaitable[Reply | None] | Reply | None]
AnyHandler = Handler[Any]
Listener = Callable[[PublicEvent], None]


class Dispatcher:
    """The handlers and listeners of one host. A handler is called with the event and `ctx`."""

    def __init__(self, ctx: ExtensionContext) -> None:
        self._ctx = ctx
        self.handlers: dict[type, tuple[tuple[str, AnyHandler], ...]] = {}
        self._listeners: list[Listener] = []

    def on(self, extension: str, kind: type[E], handler: Handler[E]) -> None:
        """Register a handler of an extension for one kind of event."""
        self.handlers[kind] = (*self.handlers.get(kind, ()), (extension, handler))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Deliver every public event to `listener`; call the returned function to unsubscribe."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def emit(self, event: ExtensionEvent) -> list[Reply]:
        """Deliver an event to extensions, then to listeners if it is public; return the replies of the extensions."""
        replies = [await self._reply(extension, handler, event) for extension, handler in self._handlers_of(event)]
        if isinstance(event, AgentEvent):
            self.publish(event)
        return [reply for reply in replies if reply is not None]

    async def fold(self, event: E, step: Callable[[E, Reply], E]) -> E:
        """Deliver an event to the handlers in turn; `step` applies each reply to the event for the next handler."""
        for extension, handler in self._handlers_of(event):
            reply = await self._reply(extension, handler, event)
            if reply is not None:
                event = step(event, reply)
        return event

    def publish(self, event: PublicEvent) -> None:
        """Deliver an event to listeners only."""
        for listener in tuple(self._listeners):
            listener(event)

    def report(self, extension: str, event: str, error: Exception) -> ExtensionError:
        """Tell listeners that an extension has raised."""
        report = ExtensionError(extension, event, str(error))
        self.publish(report)
        return report

    def _handlers_of(self, event: ExtensionEvent) -> Sequence[tuple[str, AnyHandler]]:
        return self.handlers.get(type(event), ())

    async def _reply(self, extension: str, handler: AnyHandler, event: ExtensionEvent) -> Reply | None:
        try:
            reply = handler(event, self._ctx)
            return await reply if inspect.isawaitable(reply) else reply
        except Exception as error:  # noqa: BLE001  an extension may raise anything: it is reported, and the others run
            self.report(extension, event.type, error)
            return None
