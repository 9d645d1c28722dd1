"""Runs an agent without interaction, until it is done or a signal stops it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tildone.cli.output import put_raw
from tildone.cli.run.lines import EventRenderer, LineOutput, RunOutcome, report_on_stderr
from tildone.cli.run.setup import RunSetup
from tildone.run.asking import unattended_ui
from tildone.run.codec import encode_event
from tildone.run.events import MessageUpdate
from tildone.run.host import Host
from tildone.run.messages import JsonObject, last_answer, text_of
from tildone.run.tools.commands import on_signals


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


async def run_json_mode(setup: RunSetup) -> int:
    """Run the agent and print its events."""
    if setup.prompt is None:
        return setup.nothing_to_do()
    host = setup.open(unattended_ui(os.environ))
    _put(host.transcript.header)
    host.listen(lambda event: _put(encode_event(event)))
    return report_on_stderr(await run_headless(setup, host))


def _put(record: JsonObject) -> None:
    sys.stdout.write(f"{json.dumps(record)}\n")
    sys.stdout.flush()


async def run_print_mode(setup: RunSetup) -> int:
    """Run the agent and print its last answer; progress goes to standard error if that is a terminal."""
    if setup.prompt is None:
        return setup.nothing_to_do()
    host = setup.open()
    if sys.stderr.isatty():
        renderer = EventRenderer(host, LineOutput(sys.stderr))
        # Streamed text is left out: the last answer is printed anyway.
        host.listen(lambda event: renderer.render(event) if not isinstance(event, MessageUpdate) else None)
    outcome = await run_headless(setup, host)
    answer = last_answer(host.transcript.messages())
    if answer is not None and text_of(answer):
        put_raw(text_of(answer))
    return report_on_stderr(outcome)
