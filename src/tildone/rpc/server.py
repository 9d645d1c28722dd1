"""The RPC server: commands in, responses and events out, until the client closes one of the two streams.

Every line is one JSON object. Commands run concurrently, so a long one does not block the next; each response carries
the id of its command. A command that is running when the client leaves has as long to end as the turn.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any, BinaryIO

from tildone.errors import TildoneError
from tildone.host.conversations import Conversations
from tildone.host.event_codec import encode_event
from tildone.host.host import CLOSE_TIMEOUT_SECONDS, Host
from tildone.rpc.commands import Commands
from tildone.rpc.ui import RpcUI

Record = dict[str, Any]


class ClientStreams:
    """The streams of one client. A thread reads, because asyncio cannot wait for a file or a terminal."""

    def __init__(self, source: BinaryIO, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._has_left = False

    def send(self, record: Record) -> None:
        """Write a record on one line. When nobody reads them any more, records are dropped, and the lines end."""
        if self._has_left:
            return
        try:
            self._out.write(json.dumps(record).encode() + b"\n")
            self._out.flush()
        except BrokenPipeError:
            self._has_left = True
            self._lines.put_nowait(None)

    async def lines(self, closed: Callable[[], object] = lambda: None) -> AsyncIterator[bytes]:
        """Yield the lines of the client until it leaves. `closed` is called by the thread that reads."""

        def read() -> None:
            for line in self._source:
                if line.strip():
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)
            closed()

        threading.Thread(target=read, daemon=True).start()
        while (line := await self._lines.get()) is not None:
            yield line


async def serve(
    host: Host,
    conversations: Conversations,
    ui: RpcUI,
    client: ClientStreams,
    closed: Callable[[], object] = lambda: None,
) -> None:
    """Serve a client until it leaves."""
    host.listen(lambda event: client.send(encode_event(event)))
    await host.start()
    commands = Commands(host, conversations)
    running: set[asyncio.Task[None]] = set()
    async for line in client.lines(closed):
        record = _parse(line, client.send)
        if record is None:
            continue
        if record.get("type") == "extension_ui_response":
            ui.accept_answer(record)
            continue
        task = asyncio.create_task(_answer(commands, record, client.send))
        running.add(task)
        task.add_done_callback(running.discard)
        await asyncio.sleep(0)
    ui.cancel_requests()
    await host.close()
    if running:
        await asyncio.wait(running, timeout=CLOSE_TIMEOUT_SECONDS)


async def _answer(commands: Commands, record: Record, send: Callable[[Record], None]) -> None:
    response: Record = {"type": "response", "command": record.get("type"), "success": True}
    if "id" in record:
        response = {"id": record["id"], **response}
    try:
        data = await commands.execute(record)
    except TildoneError as error:
        send({**response, "success": False, "error": str(error)})
    except Exception as error:  # noqa: BLE001  the client waits for a response, whatever went wrong
        traceback.print_exc()
        send({**response, "success": False, "error": f"{type(error).__name__}: {error}"})
    else:
        send(response if data is None else {**response, "data": data})


def _parse(line: bytes, send: Callable[[Record], None]) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        send({"type": "response", "command": "parse", "success": False, "error": f"Failed to parse command: {error}"})
        return None
    if not isinstance(record, dict):
        send({"type": "response", "command": "parse", "success": False, "error": "expected a JSON object"})
        return None
    return record


def standard_streams() -> ClientStreams:
    """Return standard input and output as the streams of a client. Then `sys.stdout` writes to standard error."""
    # A duplicate, because at exit Python waits for a thread that is reading from `sys.stdin`.
    source = io.BytesIO() if sys.stdin is None else os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return ClientStreams(source, out)
