"""Repeated requests: one with the same `Idempotency-Key` gets the answer of the first, and is not carried out again.

A page repeats a request if it got no answer, and cannot know whether the first one arrived.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.responses import Response

from tildone.web.http.answers import Problem

REMEMBERED_SECONDS = 600.0
MAX_REMEMBERED = 2000
MAX_KEY_CHARS = 200

Remembered = tuple[float, bytes, "asyncio.Future[Response]"]


class Repeats:
    """The answers of the last ten minutes. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._answers: dict[tuple[str, ...], Remembered] = {}

    async def once(self, key: tuple[str, ...], request: bytes, act: Callable[[], Awaitable[Response]]) -> Response:
        """Return the answer to a request, carried out only if no request with this key was.

        Raises:
            Problem: the key belongs to another request.
        """
        self._forget_old()
        known = self._answers.get(key)
        if known is not None:
            if known[1] != request:
                raise Problem(422, "This Idempotency-Key was used for another request.", "Choose a new one.")
            return await asyncio.shield(known[2])
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._answers[key] = (self._clock(), request, future)
        try:
            response = await act()
            future.set_result(response)
            return response
        finally:
            if not future.done():
                # It was not carried out, or nobody knows: a repetition tries again.
                del self._answers[key]
                future.cancel()

    def _forget_old(self) -> None:
        oldest = self._clock() - REMEMBERED_SECONDS
        while self._answers:
            key = next(iter(self._answers))
            if self._answers[key][0] >= oldest and len(self._answers) <= MAX_REMEMBERED:
                return
            del self._answers[key]
