"""A transport for the official client: pipes to a stdio server in this process."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

MAX_LINE_BYTES = 1 << 24


@asynccontextmanager
async def pipe_transport(to_server: int, from_server: int) -> AsyncIterator[tuple[Any, Any]]:
    """Yield the two streams of a client. The pipe to the server is closed at the end."""
    received, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbox, sent = anyio.create_memory_object_stream[SessionMessage](0)
    # The end of the pipe is closed with its transport; the caller closes its own.
    source = os.fdopen(os.dup(from_server), "rb")
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)

    async def read() -> None:
        async with received:
            while line := await reader.readline():
                # The server may still be writing when the client has closed its end.
                with suppress(anyio.BrokenResourceError):
                    await received.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

    async def write() -> None:
        async with sent:
            with os.fdopen(to_server, "wb") as out:
                async for item in sent:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await asyncio.to_thread(out.write, f"{text}\n".encode())
                    await asyncio.to_thread(out.flush)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield inbox, outbox
        finally:
            await outbox.aclose()
            await inbox.aclose()
            tasks.cancel_scope.cancel()
            pipe.close()
