"""The bare wire: lines of JSON-RPC to and from a server on pipes, in this process or in its own."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, BinaryIO

from mcp_types.version import LATEST_HANDSHAKE_VERSION

from tests.mcp.room import PATIENCE, PROGRAM, Room
from tildone.mcp.stdio_streams import MessageReader

Record = dict[str, Any]
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(number: int | str, method: str, **params: Any) -> Record:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def initialize(version: str = LATEST_HANDSHAKE_VERSION, name: str = "wire") -> Record:
    info = {"name": name, "version": "1"}
    return request("hello", "initialize", protocolVersion=version, capabilities={}, clientInfo=info)


def call(number: int | str, tool: str, arguments: object) -> Record:
    return request(number, "tools/call", name=tool, arguments=arguments)


def line(record: object) -> bytes:
    return f"{json.dumps(record)}\n".encode()


class Wire:
    """A client's end of two pipes."""

    def __init__(self, to_server: BinaryIO, from_server: BinaryIO) -> None:
        self._out = to_server
        self._in = from_server

    def send(self, *records: object) -> None:
        """Send messages; what is bytes already is sent as it is."""
        for record in records:
            self._out.write(record if isinstance(record, bytes) else line(record))
        self._out.flush()

    async def next(self) -> bytes:
        """The next line."""
        return await asyncio.wait_for(asyncio.to_thread(self._in.readline), PATIENCE)

    async def answer(self) -> Record:
        """The next line, parsed."""
        answered: Record = json.loads(await self.next())
        return answered

    async def ask(self, *records: object) -> Record:
        """The answer to a message, where there is one for all of them."""
        self.send(*records)
        return await self.answer()

    def hang_up(self) -> None:
        self._out.close()

    async def rest(self) -> list[Record]:
        """All that is still said."""
        said = await asyncio.wait_for(asyncio.to_thread(self._in.read), PATIENCE)
        return [json.loads(part) for part in said.splitlines()]


@asynccontextmanager
async def wired(room: Room, *, greet: bool = True, dialect: str = "brief") -> AsyncIterator[Wire]:
    """A server in this process on pipes of its own; it has come to its end when this is left."""
    (source, to_server), (from_server, out) = os.pipe(), os.pipe()
    with (
        room.server(dialect) as server,
        os.fdopen(source, "rb") as stdin,
        os.fdopen(to_server, "wb") as hand,
        os.fdopen(from_server, "rb") as ear,
    ):
        reader = MessageReader(stdin, out)
        serving = asyncio.create_task(server.run(reader, reader.writer, server.create_initialization_options()))
        serving.add_done_callback(lambda _: os.close(out))
        wire = Wire(hand, ear)
        if greet:
            assert "result" in await wire.ask(initialize(), INITIALIZED)
        try:
            yield wire
        finally:
            wire.hang_up()
            await asyncio.wait_for(serving, PATIENCE)
            reader.writer.close()
            await asyncio.to_thread(reader.thread.join, PATIENCE)


@contextmanager
def process(room: Room, *words: str, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A server in a process of its own. It ends with its standard input, and so with the test at the latest."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [PROGRAM, "mcp", *words],
        cwd=room.project,
        env=room.environment(**environ),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    ) as running:
        try:
            yield running
        finally:
            running.kill()
