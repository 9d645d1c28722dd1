"""One open stream: sends what is in its mailbox until the client goes, does not read, or the server ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tildone.web.live.hub import BYE_MS, Hub, Mailbox, encoded_event
from tildone.web.live.topics import Topics

HEARTBEAT_SECONDS = 15.0
FLUSH_SECONDS = 0.1
"""How long a stream waits after it has sent something: so no session is told about more often than this."""

UNREAD_SECONDS = 20.0
"""How long a client may leave unread what was sent."""

RETRY_MS = 1000
HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    # Tells nginx not to hold frames back.
    (b"x-accel-buffering", b"no"),
]


class LiveStream(Response):
    """The response to a request for live updates. `abort` closes the connection of a client that does not read."""

    def __init__(self, hub: Hub, topics: Topics, last: str, abort: Callable[[], object]) -> None:
        super().__init__()
        self._hub, self._topics, self._last, self._abort = hub, topics, last, abort

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        mailbox, resumes = self._hub.open(self._topics, self._last)
        first = f"retry: {RETRY_MS}\n\n".encode()
        first += b"" if resumes else encoded_event("reset", {"why": "too far behind"}, self._hub.position)
        writing = asyncio.create_task(self._write(mailbox, first, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(mailbox)
            for task in (writing, leaving):
                task.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)

    async def _write(self, mailbox: Mailbox, first: bytes, send: Send) -> None:
        try:
            async with asyncio.timeout(UNREAD_SECONDS):
                await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
                await send({"type": "http.response.body", "body": first, "more_body": True})
            while not mailbox.closing:
                body = await _next_body(mailbox)
                async with asyncio.timeout(UNREAD_SECONDS):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                await asyncio.sleep(FLUSH_SECONDS)
            bye = encoded_event("bye", {"in": BYE_MS})
            async with asyncio.timeout(UNREAD_SECONDS):
                await send({"type": "http.response.body", "body": bye, "more_body": False})
        except TimeoutError:
            self._abort()


async def _next_body(mailbox: Mailbox) -> bytes:
    """Wait for frames; return them, or a comment that shows that the stream is alive."""
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            await mailbox.wait()
    except TimeoutError:
        return b":\n\n"
    return b"".join(frame.encoded for frame in mailbox.take()) or b":\n\n"


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
