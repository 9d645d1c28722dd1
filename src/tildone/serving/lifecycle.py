"""How the HTTP server is told to end: signals, and the exit code."""

from __future__ import annotations

import asyncio
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def handling_signals(stop: Callable[[], object]) -> Iterator[list[int]]:
    """Call `stop` when a signal asks the process to end; yield the list of the signals received."""
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        stop()

    loop = asyncio.get_running_loop()
    numbers = [number for name in SIGNALS if (number := getattr(signal, name, None)) is not None]
    # On Windows, event loops have no signal handlers, and Python's own end the program.
    with suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, on_signal, number)
    try:
        yield received
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)


def exit_code(signals: list[int]) -> int:
    """Return the exit code by which shells recognize a process that a signal ended; 0 if there was no signal."""
    return 128 + signals[0] if signals else 0
