"""The RPC server: commands in, responses and events out, until standard input is closed.

Every line is one JSON object. Commands run concurrently, so a long one does not block the next; each response carries
the id of its command. A thread reads standard input, because asyncio cannot wait for a file or a terminal there.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from tildone.errors import TildoneError
from tildone.host.conversations import Conversations
from tildone.host.event_codec import encode_event
from tildone.host.host import Host
from tildone.rpc.commands import Commands
from tildone.rpc.ui import RpcUI

Record = dict[str, Any]


def sender(out: BinaryIO) -> Callable[[Record], None]:
    """Return a function that writes one record per line and flushes it."""

    def send(record: Record) -> None:
        out.write(json.dumps(record).encode() + b"\n")
        out.flush()

    return send


async def serve(
    host: Host, conversations: Conversations, ui: RpcUI, send: Callable[[Record], None], source: BinaryIO
) -> None:
    """Serve a client until it closes standard input."""
    host.listen(lambda event: send(encode_event(event)))
    await host.start()
    commands = Commands(host, conversations)
    running: set[asyncio.Task[None]] = set()
    async for line in _lines(source):
        record = _parse(line, send)
        if record is None:
            continue
        if record.get("type") == "extension_ui_response":
            ui.accept_answer(record)
            continue
        task = asyncio.create_task(_answer(commands, record, send))
        running.add(task)
        task.add_done_callback(running.discard)
        await asyncio.sleep(0)
    ui.cancel_requests()
    await host.close()
    await asyncio.gather(*running)


async def _answer(commands: Commands, record: Record, send: Callable[[Record], None]) -> None:
    response: Record = {"type": "response", "command": record.get("type"), "success": True}
    if "id" in record:
        response = {"id": record["id"], **response}
    try:
        data = await commands.execute(record)
    except TildoneError as error:
        send({**response, "success": False, "error": str(error)})
        return
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


async def _lines(source: BinaryIO) -> Any:
    """Yield the lines of a blocking stream, read by a thread."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read() -> None:
        for line in source:
            if line.strip():
                loop.call_soon_threadsafe(queue.put_nowait, line)
        loop.call_soon_threadsafe(queue.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    while (line := await queue.get()) is not None:
        yield line


def standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output as binary streams. Afterwards `sys.stdout` writes to standard error."""
    # A duplicate, because at exit Python waits for a thread that is reading from `sys.stdin`.
    source = io.BytesIO() if sys.stdin is None else os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return source, out
