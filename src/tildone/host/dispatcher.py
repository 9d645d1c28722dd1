"""Events of a host: handlers in the order they were put up, and an error in one does not stop the rest."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

Event = dict[str, Any]
Handler = Callable[[Event, Any], Awaitable[Any] | Any]
Complaint = Callable[[str, str, Exception], None]


class Dispatcher:
    """Who listens to what."""

    def __init__(self, complain: Complaint) -> None:
        self._complain = complain
        self._handlers: dict[str, list[tuple[str, Handler]]] = {}

    def on(self, extension: str, event: str, handler: Handler) -> None:
        """Put up a handler for an event, in the name of an extension."""
        self._handlers.setdefault(event, []).append((extension, handler))

    async def emit(self, event: Event, ctx: Any) -> list[Any]:
        """Tell every handler, in order; what they answered, without the silent ones."""
        return [answer async for answer in self.answers(event, ctx)]

    async def answers(self, event: Event, ctx: Any) -> AsyncIterator[Any]:
        """The same, one after the other: a handler sees what was made of the event before its turn."""
        for extension, handler in self._handlers.get(event["type"], ()):
            try:
                answer = handler(event, ctx)
                if inspect.isawaitable(answer):
                    answer = await answer
            except Exception as error:  # noqa: BLE001  an extension is a stranger: it is reported, and the rest run
                self._complain(extension, event["type"], error)
                continue
            if answer is not None:
                yield answer
