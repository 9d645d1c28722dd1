"""What keeps a run from being over although no turn is running: a countdown to the next one, for example."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class PendingWork:
    """How many things are about to begin by themselves. True while there is any."""

    def __init__(self) -> None:
        self._taken: set[object] = set()
        self._none = asyncio.Event()
        self._none.set()

    def __bool__(self) -> bool:
        return bool(self._taken)

    def take(self) -> Callable[[], None]:
        """Hold; call the answer to let go. Letting go twice is letting go once."""
        ticket = object()
        self._taken.add(ticket)
        self._none.clear()

        def let_go() -> None:
            self._taken.discard(ticket)
            if not self._taken:
                self._none.set()

        return let_go

    async def released(self) -> None:
        """Wait until nothing holds."""
        await self._none.wait()
