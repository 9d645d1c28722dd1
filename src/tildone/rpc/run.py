"""The RPC mode: runs the host on standard input and output until a signal arrives or the client closes them."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Protocol

from tildone.host.conversations import Conversations
from tildone.host.host import CLOSE_TIMEOUT_SECONDS, Host
from tildone.host.process_signals import on_signals
from tildone.host.ui import UI
from tildone.rpc.server import serve, standard_streams
from tildone.rpc.ui import RpcUI

MAX_END_SECONDS = 4 * CLOSE_TIMEOUT_SECONDS
"""How long the process may outlive its client. More than the end of a turn, of the extensions and of commands take."""

KILLED = 1


class RpcSetup(Protocol):
    """A run with its model, conversation and tools already chosen; see `cli.run.setup`."""

    conversations: Conversations

    def open(self, ui: UI | None = None) -> Host:
        """Open the host with that UI."""


async def run(setup: RpcSetup) -> int:
    """Serve one client on standard input and output until it closes them, and return the exit code."""
    client, ended = standard_streams(), threading.Event()
    ui = RpcUI(client.send)
    host = setup.open(ui)

    def end_in_time() -> None:
        """End the process if the event loop does not: a tool blocks it, or output that the client does not read."""
        if not ended.wait(MAX_END_SECONDS):
            os._exit(KILLED)

    serving = asyncio.ensure_future(serve(host, setup.conversations, ui, client, end_in_time))
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        serving.cancel()

    try:
        with on_signals(end):
            await serving
    except asyncio.CancelledError:
        if not received:
            raise
        await host.close()
    finally:
        await host.model.close()
        ended.set()
    return 128 + received[0] if received else 0
