"""The server from start to end on pipes, and what it stands on wherever it is reached."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mcp.server.lowlevel import Server

from tildone.agents.processes import agent_process
from tildone.config import Settings
from tildone.mcp.callers import CallerResolver, stdio_callers
from tildone.mcp.connections import Connections
from tildone.mcp.server import make_server
from tildone.mcp.stdio_streams import Inbox, standard_streams
from tildone.mcp.subscriptions import Subscriptions
from tildone.mcp.watcher import PlanWatcher
from tildone.wiring import dialect_named, open_store

DIALECT = "brief"
"""The dialect that models are given unless another is wanted."""

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def run(settings: Settings) -> int:
    """Serve the client on standard input and output until it hangs up; the exit code."""
    if sys.stdin and sys.stdin.isatty():
        sys.stderr.write("tildone mcp: an agent is to start this and speak with it here; Ctrl-C ends it\n")
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    with opened(settings, stdio_callers(settings, os.environ, agent_process()), to_all=True) as (server, _):
        inbox = Inbox(*standard_streams())
        serving = asyncio.ensure_future(server.run(inbox, inbox.outbox, server.create_initialization_options()))
        with heeding(serving.cancel) as came:
            try:
                await serving
            except asyncio.CancelledError:
                if not came:
                    raise
        inbox.outbox.close()
    return exit_code(came)


@contextmanager
def opened(settings: Settings, whose: CallerResolver, *, to_all: bool) -> Iterator[tuple[Server[Any], Subscriptions]]:
    """A server on the store that the settings name, and those who listen to it; both let go of in the end.

    Raises:
        TildoneError: there is no getting at the store, or no such dialect.
    """
    dialect = dialect_named(settings.dialect or DIALECT)
    desks = Connections(settings, dialect, open_store(settings))
    listeners = Subscriptions(PlanWatcher(desks.store))
    try:
        yield make_server(desks, listeners, whose, to_all=to_all), listeners
    finally:
        listeners.close()
        desks.close()


@contextmanager
def heeding(stop: Callable[[], object]) -> Iterator[list[int]]:
    """Have `stop` called when a signal asks for an end; gives those that came."""
    came: list[int] = []

    def end(number: int) -> None:
        came.append(number)
        stop()

    loop = asyncio.get_running_loop()
    numbers = [number for name in SIGNALS if (number := getattr(signal, name, None)) is not None]
    with suppress(NotImplementedError):  # where the system cannot, Python ends the program its own way
        for number in numbers:
            loop.add_signal_handler(number, end, number)
    try:
        yield came
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)


def exit_code(came: list[int]) -> int:
    """What a shell is told of a program that a signal ended, or that ended by itself."""
    return 128 + came[0] if came else 0
