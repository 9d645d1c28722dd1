"""JSON-RPC lines to and from a server on pipes, in this process or in its own."""

import asyncio
import json
import os
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, BinaryIO

import pytest
from mcp_types.version import LATEST_HANDSHAKE_VERSION

from tests.mcp.project import TIMEOUT_SECONDS, Project
from tests.suite.forking import PROGRAM
from tildone.log.session import Session
from tildone.plan.dialects import Reply

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
    def __init__(self, to_server: BinaryIO, from_server: BinaryIO) -> None:
        self._out = to_server
        self._in = from_server

    def send(self, *records: object) -> None:
        for record in records:
            self._out.write(record if isinstance(record, bytes) else line(record))
        self._out.flush()

    async def next(self) -> bytes:
        return await asyncio.wait_for(asyncio.to_thread(self._in.readline), TIMEOUT_SECONDS)

    async def answer(self) -> Record:
        answered: Record = json.loads(await self.next())
        return answered

    async def ask(self, *records: object) -> Record:
        """Send messages and return the one response to them."""
        self.send(*records)
        return await self.answer()

    def close_input(self) -> None:
        self._out.close()

    async def rest(self) -> list[Record]:
        output = await asyncio.wait_for(asyncio.to_thread(self._in.read), TIMEOUT_SECONDS)
        return [json.loads(part) for part in output.splitlines()]


class HeldCalls:
    """Tool calls that begin and then wait until they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.proceed = threading.Semaphore(0), threading.Event()
        original = Session.call

        def held(session: Session, *given: Any) -> Reply:
            self.begun.release()
            assert self.proceed.wait(TIMEOUT_SECONDS)
            return original(session, *given)

        monkeypatch.setattr(Session, "call", held)


@asynccontextmanager
async def wired(project: Project, *, greet: bool = True, dialect: str = "brief") -> AsyncIterator[Wire]:
    """A server in this process on pipes of its own; it has ended when the block is left."""
    with (
        project.pipes(dialect) as (to_server, from_server),
        os.fdopen(to_server, "wb") as stdin_end,
        os.fdopen(os.dup(from_server), "rb") as stdout_end,
    ):
        wire = Wire(stdin_end, stdout_end)
        if greet:
            assert "result" in await wire.ask(initialize(), INITIALIZED)
        yield wire


@contextmanager
def process(project: Project, *words: str, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server in a separate process; it ends when its standard input is closed, or with the test."""
    pipe, own, command = subprocess.PIPE, project.environment(**environ), [str(PROGRAM), "mcp", *words]
    with subprocess.Popen(command, cwd=project.folder, env=own, stdin=pipe, stdout=pipe, stderr=pipe) as running:
        try:
            yield running
        finally:
            running.kill()
