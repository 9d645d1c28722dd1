"""What keeps a run from being over although no turn is running, for example a countdown to the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class PendingWork:
    """Counts what is about to start by itself; true while there is anything."""

    def __init__(self) -> None:
        self._holds: set[object] = set()
        self._none = asyncio.Event()
        self._none.set()

    def __bool__(self) -> bool:
        return bool(self._holds)

    def hold(self) -> Callable[[], None]:
        """Keep the run from being over; call the result to release it. Releasing twice is harmless."""
        ticket = object()
        self._holds.add(ticket)
        self._none.clear()

        def release() -> None:
            self._holds.discard(ticket)
            if not self._holds:
                self._none.set()

        return release

    async def released(self) -> None:
        """Wait until nothing is pending."""
        await self._none.wait()
