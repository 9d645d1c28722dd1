"""The RPC mode from start to end: streams, host, and a way out when a signal comes."""

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


class Stage(Protocol):
    """A run whose model, conversation and tools are chosen."""

    conversations: Conversations

    def open(self, ui: UI | None = None) -> Host:
        """The host, for whoever watches."""


async def run(stage: Stage) -> int:
    """Serve one client on standard input and output until it hangs up; it says what is to be done."""
    source, out = standard_streams()
    send = sender(out)
    ui = RpcUI(send)
    host = stage.open(ui)
    serving = asyncio.ensure_future(serve(host, stage.conversations, ui, send, source))
    came: list[int] = []

    def end(number: int) -> None:
        came.append(number)
        serving.cancel()

    with suppress(NotImplementedError):  # where the system cannot, Python ends the program its own way
        for name in SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:
                asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        await serving
    except asyncio.CancelledError:
        if not came:
            raise
        await host.close()
    finally:
        await host.model.close()
    return 128 + came[0] if came else 0
