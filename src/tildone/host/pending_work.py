"""Work that keeps a run alive while no turn is running, such as a countdown to the next turn, and its timer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class PendingWork:
    """The set of pending work; true while it is not empty."""

    def __init__(self) -> None:
        self._holds: set[object] = set()
        self._none = asyncio.Event()
        self._none.set()

    def __bool__(self) -> bool:
        return bool(self._holds)

    def hold(self) -> Callable[[], None]:
        """Add pending work; call the returned function to remove it. Calling it again has no effect."""
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


def event_loop_timer(delay_ms: int, callback: Callable[[], None]) -> Callable[[], None]:
    """Call back after a delay, on the running event loop; call the returned function to cancel."""
    return asyncio.get_running_loop().call_later(delay_ms / 1000, callback).cancel
