"""The RPC mode: runs the host on standard input and output until a signal arrives or the client closes them."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import Protocol

from tildone.host.conversations import Conversations
from tildone.host.host import Host
from tildone.host.ui import UI
from tildone.rpc.server import sender, serve, standard_streams
from tildone.rpc.ui import RpcUI

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class RpcSetup(Protocol):
    """A run with its model, conversation and tools already chosen; see `cli.run.setup`."""

    conversations: Conversations

    def open(self, ui: UI | None = None) -> Host:
        """Open the host with that UI."""


async def run(setup: RpcSetup) -> int:
    """Serve one client on standard input and output until it closes them, and return the exit code."""
    source, out = standard_streams()
    send = sender(out)
    ui = RpcUI(send)
    host = setup.open(ui)
    serving = asyncio.ensure_future(serve(host, setup.conversations, ui, send, source))
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        serving.cancel()

    with suppress(NotImplementedError):  # on Windows, Python's own signal handlers apply
        for name in SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:
                asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        await serving
    except asyncio.CancelledError:
        if not received:
            raise
        await host.close()
    finally:
        await host.model.close()
    return 128 + received[0] if received else 0
