"""The signals that end a program: SIGINT, SIGTERM and SIGHUP."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def on_signals(callback: Callable[[int], object]) -> Iterator[None]:
    """Call back with the number of a signal; event loops without signal handlers keep Python's own."""
    loop = asyncio.get_running_loop()
    numbers = [number for name in SIGNALS if (number := getattr(signal, name, None)) is not None]
    with suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, callback, number)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)
