"""Responses in which no character hides: the SDK writes JSON with every character as itself."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tildone.views.sanitize import escape_json

LENGTH = b"content-length"


class EscapingMiddleware:
    """ASGI middleware that escapes the JSON of responses, alone or as an event of a stream; its value is the same."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held: list[Message] = []

        async def send_escaped(message: Message) -> None:
            if message["type"] == "http.response.start" and any(name == LENGTH for name, _ in message["headers"]):
                # Its length may change. A stream has none, and begins at once.
                held.append(message)
                return
            if message["type"] == "http.response.body":
                message = {**message, "body": _escaped(message.get("body", b""))}
            while held:
                start = held.pop()
                length = str(len(message["body"])).encode()
                headers = [(name, length if name == LENGTH else given) for name, given in start["headers"]]
                await send({**start, "headers": headers})
            await send(message)

        await self._app(scope, receive, send_escaped if scope["type"] == "http" else send)


def _escaped(body: bytes) -> bytes:
    """The SDK sends each message as a whole. What is not text stays as it is."""
    try:
        return escape_json(body.decode()).encode()
    except UnicodeDecodeError:
        return body
