"""One client on standard input and output: a message a line, both ways.

The SDK has such a pair of streams, too. Here a client that hangs up, a signal or a full pipe never leaves the process
waiting for a thread, a message that can't be read is answered, and a call takes fewer turns of the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
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
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from tildone.mcp.executor import SerialExecutor
from tildone.mcp.tools import replace_surrogates

LONGEST = 1_048_576
"""How long a message may be, in bytes: about what a tool call may hold."""

AT_ONCE = getattr(select, "PIPE_BUF", 0)
"""So many bytes a pipe that can be written to takes without a wait. Windows has no such promise."""

PATIENCE = 2.0
"""For so many seconds a client that hung up is still answered: it may have asked first, and be reading yet."""


class Unreadable(ValueError):
    """A line that is no message; `request` is the id it has all the same, if it has one."""

    def __init__(self, code: int, why: str, request: int | str | None = None) -> None:
        super().__init__(why)
        self.code = code
        self.request = request


def read(line: bytes) -> JSONRPCMessage:
    """The message in a line.

    Raises:
        Unreadable: there is none.
    """
    if len(line) <= LONGEST:
        with contextlib.suppress(ValidationError):
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            if not isinstance(message, JSONRPCNotification) or b'"id"' not in line:
                return message
    # The quick reader takes neither half a surrogate pair nor what is nested deeply, does not say whose it was, and
    # what has an id that is none it takes for a message that wants no answer.
    try:
        data = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(PARSE_ERROR, "this is not JSON, or it is nested too deeply") from error
    request = data.get("id") if isinstance(data, dict) else None
    is_id = isinstance(request, int | str) and not isinstance(request, bool)
    if len(line) > LONGEST:
        why = f"a message has at most {LONGEST} bytes, not {len(line)}"
        raise Unreadable(INVALID_REQUEST, why, request if is_id else None)
    try:
        message = jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValidationError as error:
        why = "this is no message of JSON-RPC 2.0"
        raise Unreadable(INVALID_REQUEST, why, request if is_id else None) from error
    if isinstance(message, JSONRPCNotification) and request is not None:
        raise Unreadable(INVALID_REQUEST, "an id is a number or some text")
    return message


def written(message: JSONRPCMessage) -> bytes:
    """A message as a line."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except (PydanticSerializationError, UnicodeEncodeError):
        text = json.dumps(replace_surrogates(message.model_dump(by_alias=True, exclude_unset=True)))
    return f"{text}\n".encode()


class _Stream:
    """What both directions have in common: they are entered and left, and closing them is left to the process."""

    async def aclose(self) -> None:
        """Nothing to do."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Outbox(_Stream):
    """Messages to the client. What it asked for and has not got yet is owed to it."""

    def __init__(self, out: int, hung_up: Callable[[], None]) -> None:
        self._out = out
        self._hung_up = hung_up
        self._pen = SerialExecutor("stdout")
        self._unwritten = 0
        self._owed: set[int | str | None] = set()
        self._settled = asyncio.Event()

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message.

        Raises:
            BrokenResourceError: nobody reads any more.
        """
        data = written(item.message)
        try:
            if self._at_hand(len(data)):
                self._write(data)
            else:
                # Once begun a line is written to its end, whoever may have given up waiting for it.
                await asyncio.shield(self._later(data))
        except OSError as error:
            self._owed.clear()
            self._hung_up()
            raise anyio.BrokenResourceError from error
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self.settle(item.message.id)

    def owe(self, request: int | str) -> None:
        """Remember that there is a request to answer."""
        self._owed.add(request)
        self._settled.clear()

    def settle(self, request: int | str | None) -> None:
        """A request is answered, or nobody wants it to be."""
        self._owed.discard(request)
        if not self._owed:
            self._settled.set()

    async def settled(self) -> None:
        """Wait until every request is answered, if that is soon."""
        if self._owed:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), PATIENCE)

    def close(self) -> None:
        """Have written all that was sent, if the client takes it."""
        self._pen.close()
        self._pen.over(PATIENCE)

    def _at_hand(self, size: int) -> bool:
        """Whether so many bytes can be written without having to wait for the client, or for what is yet unwritten."""
        if self._unwritten or size > AT_ONCE:
            return False
        return bool(select.select((), (self._out,), (), 0)[1])

    async def _later(self, data: bytes) -> None:
        self._unwritten += 1
        try:
            await self._pen.do(lambda: self._write(data))
        finally:
            self._unwritten -= 1

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._out, left) :]


class Inbox(_Stream):
    """Messages from the client, read by a thread, until it hangs up."""

    def __init__(self, source: BinaryIO, out: int) -> None:
        self.outbox = Outbox(out, self._hang_up)
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
        """The next message. One that can't be read is answered, and the next is taken.

        Raises:
            EndOfStream: the client has hung up.
        """
        while (line := await self._lines.get()) is not None:
            try:
                message = read(line)
            except Unreadable as wrong:
                error = ErrorData(code=wrong.code, message=str(wrong))
                # If nobody reads any more, that is the end, and comes next.
                with contextlib.suppress(anyio.BrokenResourceError):
                    await self.outbox.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=wrong.request, error=error)))
                continue
            self._note(message)
            return SessionMessage(message)
        # For whoever asks again.
        self._hang_up()
        await self.outbox.settled()
        raise anyio.EndOfStream

    def _note(self, message: JSONRPCMessage) -> None:
        match message:
            # What is listened to has no end that could be waited for.
            case JSONRPCRequest(method=method, id=request) if method != "subscriptions/listen":
                self.outbox.owe(request)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": int() | str() as request}):
                self.outbox.settle(request)
            case _:
                pass

    def _hang_up(self) -> None:
        self._lines.put_nowait(None)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            for line in self._source:
                if line.strip() and not self._tell(line):
                    return
        self._tell(None)

    def _tell(self, line: bytes | None) -> bool:
        """Whether there is still somebody to be told of a line."""
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:
            return False
        return True


def standard_streams() -> tuple[BinaryIO, int]:
    """Standard input, and a descriptor of standard output. From now on nothing else leads there: prints are errors."""
    # A reader of our own: at the end of the program Python would wait for the thread that reads from its own.
    source = io.BytesIO() if sys.stdin is None else os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return source, out
