"""Runs an agent without interaction, until it is done or a signal stops it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tildone.cli.run.outcome import RunOutcome
from tildone.cli.run.setup import RunSetup
from tildone.host.host import Host
from tildone.host.process_signals import on_signals


async def run_headless(setup: RunSetup, host: Host) -> RunOutcome:
    received: asyncio.Queue[int] = asyncio.Queue()
    async with closing(host):
        with on_signals(received.put_nowait):
            await host.start(setup.start_reason)
            await host.prompt(setup.prompt or "")
            over, signalled = asyncio.ensure_future(host.over()), asyncio.ensure_future(received.get())
            await asyncio.wait({over, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if signalled.done():
                host.request_abort("interrupted")
                return setup.report.interrupted(host, 128 + signalled.result())
            signalled.cancel()
            over.result()
            return setup.report.outcome(host)


@asynccontextmanager
async def closing(host: Host) -> AsyncIterator[Host]:
    """Close the host and its model at the end, even after an error."""
    try:
        yield host
    finally:
        try:
            await host.close()
        finally:
            await host.model.close()
