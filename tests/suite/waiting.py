"""Wait for what another thread or process does.

The limit counts pauses, not the time of day: while the machine stands still, no time passes here.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

T = TypeVar("T")

LIMIT_SECONDS = 120.0
"""How long something may take on a loaded machine. No test depends on how long it takes."""


def pauses(seconds: float = LIMIT_SECONDS) -> Iterator[float]:
    """Seconds to sleep between looks, longer and longer, until they add up to a limit."""
    slept, pause = 0.0, 0.005
    while slept < seconds:
        yield pause
        slept += pause
        pause = min(pause * 1.3, 0.05)


def until(
    look: Callable[[], T | Literal[False] | None], tell: Callable[[], object] = str, seconds: float = LIMIT_SECONDS
) -> T:
    """Look again and again until something true is found, and return it. Otherwise the test fails with what is told."""
    for pause in pauses(seconds):
        if found := look():
            return found
        time.sleep(pause)
    raise AssertionError(f"it did not happen: {tell()}")


async def until_async(look: Callable[[], T | Literal[False] | None], tell: Callable[[], object] = str) -> T:
    """Do the same in an event loop."""
    for pause in pauses():
        if found := look():
            return found
        await asyncio.sleep(pause)
    raise AssertionError(f"it did not happen: {tell()}")
