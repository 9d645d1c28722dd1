"""Standard input and output as the pair of message streams that the SDK's server reads from and writes to.

Theory of operation. The SDK has its own pair. In addition, this one guarantees that

- the process always ends: reading happens on a daemon thread, and writing never blocks the event loop, so neither a
  client that closed its end, nor a signal, nor a full pipe leaves the process waiting for a thread;
- every line is answered: a line that is not a message gets a JSON-RPC error, and reading continues;
- no response is lost: after end of file, requests that arrived before it are still answered, within a timeout.

A response that fits into the pipe is written at once by the event loop, without a thread switch. Longer ones are
written in order by a second thread; while any of them is queued, later responses are queued behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import select
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import BinaryIO, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from tildone.mcp.executor import SerialExecutor
from tildone.mcp.json_rpc import InvalidMessage, decode, encode

ATOMIC_WRITE_BYTES = getattr(select, "PIPE_BUF", 0)
"""How many bytes a writable pipe accepts without blocking. Windows gives no such guarantee."""

DRAIN_TIMEOUT_SECONDS = 2.0
"""How long pending requests are still answered after end of file: the client may still be reading."""


class _Stream:
    """The context manager that the SDK expects of both streams. It closes nothing: the process does at exit."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class MessageWriter(_Stream):
    """Messages to the client, and the set of requests that have no response yet."""

    def __init__(self, out: int, on_broken: Callable[[], None]) -> None:
        self._out = out
        self._on_broken = on_broken
        self._executor = SerialExecutor("stdout")
        self._queued = 0
        self._pending: set[int | str | None] = set()
        self._drained = asyncio.Event()

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message.

        Raises:
            BrokenResourceError: the client has closed its end.
        """
        data = encode(item.message)
        try:
            if self._fits(len(data)):
                self._write(data)
            else:
                # Shielded, because a line must be written completely even if the waiting task is cancelled.
                await asyncio.shield(self._write_later(data))
        except OSError as error:
            self._pending.clear()
            self._on_broken()
            raise anyio.BrokenResourceError from error
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self.remove_pending(item.message.id)

    def add_pending(self, request: int | str) -> None:
        """Register a request that needs a response."""
        self._pending.add(request)
        self._drained.clear()

    def remove_pending(self, request: int | str | None) -> None:
        """Remove a request that was answered or cancelled."""
        self._pending.discard(request)
        if not self._pending:
            self._drained.set()

    async def drain(self) -> None:
        """Wait until no request is pending, up to the timeout."""
        if self._pending:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._drained.wait(), DRAIN_TIMEOUT_SECONDS)

    def close(self) -> None:
        """Wait until all queued messages are written, up to the timeout."""
        self._executor.close()
        self._executor.join(DRAIN_TIMEOUT_SECONDS)

    def _fits(self, size: int) -> bool:
        """Return whether `size` bytes can be written now without blocking, and without overtaking queued messages."""
        if self._queued or size > ATOMIC_WRITE_BYTES:
            return False
        return bool(select.select((), (self._out,), (), 0)[1])

    async def _write_later(self, data: bytes) -> None:
        self._queued += 1
        try:
            await self._executor.run(lambda: self._write(data))
        finally:
            self._queued -= 1

    def _write(self, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(self._out, remaining) :]


class MessageReader(_Stream):
    """Messages from the client, read by a thread until end of file."""

    def __init__(self, source: BinaryIO, out: int) -> None:
        self.writer = MessageWriter(out, self._end)
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.thread = threading.Thread(target=self._read, name="stdin", daemon=True)
        self.thread.start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> SessionMessage:
        """Return the next message. Invalid lines are answered with an error and skipped.

        Raises:
            EndOfStream: the client has closed its end, and pending requests are answered.
        """
        while (line := await self._lines.get()) is not None:
            try:
                message = decode(line)
            except InvalidMessage as invalid:
                await self._refuse(invalid)
                continue
            self._track(message)
            return SessionMessage(message)
        # Enqueued again, for the next call.
        self._end()
        await self.writer.drain()
        raise anyio.EndOfStream

    async def _refuse(self, invalid: InvalidMessage) -> None:
        error = ErrorData(code=invalid.code, message=str(invalid))
        # If the client has closed its end, end of file is reported next.
        with contextlib.suppress(anyio.BrokenResourceError):
            await self.writer.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=invalid.request, error=error)))

    def _track(self, message: JSONRPCMessage) -> None:
        match message:
            # A listen request stays open by design, so draining does not wait for it.
            case JSONRPCRequest(method=method, id=request) if method != "subscriptions/listen":
                self.writer.add_pending(request)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": int() | str() as request}):
                self.writer.remove_pending(request)
            case _:
                pass

    def _end(self) -> None:
        self._lines.put_nowait(None)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            for line in self._source:
                if line.strip() and not self._enqueue(line):
                    return
        self._enqueue(None)

    def _enqueue(self, line: bytes | None) -> bool:
        """Pass a line to the event loop; return False if the loop is closed."""
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return False
        return True


def claim_standard_streams() -> tuple[BinaryIO, int]:
    """Return standard input and a descriptor of standard output for the protocol.

    Afterwards `sys.stdout` writes to standard error, so that a stray `print` cannot corrupt the protocol.
    """
    # A duplicate, because at exit Python waits for a thread that is reading from `sys.stdin`.
    source = io.BytesIO() if sys.stdin is None else os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return source, out
