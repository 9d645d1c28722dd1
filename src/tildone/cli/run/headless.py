"""Runs an agent without interaction, until it is done or a signal stops it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from tildone.cli.run.outcome import RunOutcome
from tildone.cli.run.setup import RunSetup
from tildone.host.host import Host

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
CLOSE_TIMEOUT_SECONDS = 3.0
"""How long a running tool may take to stop when the program ends."""


async def run_headless(setup: RunSetup, host: Host) -> RunOutcome:
    """Run the host with the setup's prompt, and return the outcome."""
    received: asyncio.Queue[int] = asyncio.Queue()
    async with closing(host):
        with on_signals(received.put_nowait):
            await host.start(setup.start_reason)
            await host.prompt(setup.prompt or "")
            over, signalled = asyncio.ensure_future(host.over()), asyncio.ensure_future(received.get())
            await asyncio.wait({over, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if signalled.done():
                await stop(host)
                return setup.report.interrupted(host, 128 + signalled.result())
            signalled.cancel()
            over.result()
            return setup.report.outcome(host)


async def stop(host: Host) -> None:
    """Abort the running turn and cancel countdowns."""
    host.request_abort("interrupted")
    await host.interrupt()


@asynccontextmanager
async def closing(host: Host) -> AsyncIterator[Host]:
    """Close the host and its model at the end, even after an error."""
    try:
        yield host
    finally:
        try:
            await asyncio.wait_for(host.close(), CLOSE_TIMEOUT_SECONDS)
        except TimeoutError:
            pass
        finally:
            await host.model.close()


@contextmanager
def on_signals(callback: Callable[[int], object]) -> Iterator[None]:
    """Call back on SIGINT, SIGTERM and SIGHUP; event loops without signal handlers keep Python's own."""
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
