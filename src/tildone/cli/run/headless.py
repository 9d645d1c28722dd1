"""A run that nobody can answer: it begins, a signal can stop it, it ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from tildone.cli.run.setup import RunOutcome, RunSetup
from tildone.host.host import Host

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
PATIENCE = 3.0
"""How many seconds a tool has to let go when the program ends."""


async def run_headless(stage: RunSetup, host: Host) -> RunOutcome:
    """Let the host do what is to be done; how it ended."""
    came: asyncio.Queue[int] = asyncio.Queue()
    async with closing(host):
        with on_signals(came.put_nowait):
            await host.start()
            await host.prompt(stage.prompt or "")
            over, signalled = asyncio.ensure_future(host.over()), asyncio.ensure_future(came.get())
            await asyncio.wait({over, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if signalled.done():
                await stop(host)
                return RunOutcome(128 + signalled.result())
            signalled.cancel()
            over.result()
            return stage.verdict(host)


async def stop(host: Host) -> None:
    """Stop what runs, and what is about to begin by itself."""
    host.request_abort("interrupted")
    await host.interrupt()


@asynccontextmanager
async def closing(host: Host) -> AsyncIterator[Host]:
    """The host, closed at the end whatever happens, and its model with it."""
    try:
        yield host
    finally:
        try:
            await asyncio.wait_for(host.close(), PATIENCE)
        except TimeoutError:
            pass
        finally:
            await host.model.close()


@contextmanager
def on_signals(heed: Callable[[int], object]) -> Iterator[None]:
    """Call back on signals that ask for an end; where the system cannot, Python ends the program its own way."""
    loop = asyncio.get_running_loop()
    numbers = [number for name in SIGNALS if (number := getattr(signal, name, None)) is not None]
    with suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, heed, number)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)
