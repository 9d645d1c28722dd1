"""Starting and stopping a server on either transport: its store, its subscriptions, signals and the exit code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mcp.server.lowlevel import Server

from tildone.config import Settings
from tildone.dialects import DEFAULT_DIALECT, dialect_named
from tildone.mcp.callers import CallerResolver
from tildone.mcp.connections import CallerConnections
from tildone.mcp.server import make_server
from tildone.mcp.subscriptions import Subscriptions
from tildone.mcp.watcher import PlanWatcher
from tildone.wiring import open_store

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def open_server(
    settings: Settings, resolve_caller: CallerResolver, *, all_sessions: bool
) -> Iterator[tuple[Server[Any], Subscriptions]]:
    """Open a server on the store that the settings name, with its subscriptions; close both on exit.

    Raises:
        TildoneError: the store cannot be opened, or there is no such dialect.
    """
    dialect = dialect_named(settings.dialect or DEFAULT_DIALECT)
    connections = CallerConnections(settings, dialect, open_store(settings))
    subscriptions = Subscriptions(PlanWatcher(connections.store))
    try:
        yield make_server(connections, subscriptions, resolve_caller, all_sessions=all_sessions), subscriptions
    finally:
        subscriptions.close()
        connections.close()


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
