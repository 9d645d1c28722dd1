"""A project with agents in it: servers for them, in this process or in their own, and clients of those servers."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import (
    CallToolResult,
    Implementation,
    RequestParamsMeta,
    ResourceUpdatedNotification,
    TextContent,
    TextResourceContents,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.mcp.transport import pipe_transport
from tests.suite.forking import PROGRAM
from tildone.agents.mcp.connections import stdio_callers
from tildone.agents.mcp.http import PATH, make_transport, make_web_server
from tildone.agents.mcp.json_rpc import Output
from tildone.agents.mcp.protocol import log_error
from tildone.agents.mcp.server import Backend, MessageDispatcher, serve
from tildone.app.opening import open_agents, session_in
from tildone.app.settings import Settings, load
from tildone.base.serving import bound_socket, url
from tildone.plan.dialects import dialect_named
from tildone.plan.events import latest_state
from tildone.plan.model import Plan
from tildone.stores.agents import AgentRegistry
from tildone.stores.sqlite.store import SqliteStore

TIMEOUT_SECONDS = 60.0
T = TypeVar("T")
DIALECTS = ("brief", "indexed", "phased", "declared")
MODES = ("legacy", "auto")
CLAUDE = "CLAUDE_CODE_SESSION_ID"


@dataclass(frozen=True, slots=True)
class Project:
    """A project folder, a home folder, additional environment variables, and the process that an agent runs in."""

    folder: Path
    home: Path
    environ: dict[str, str] = field(default_factory=dict)
    process: int = field(default_factory=os.getpid)

    @property
    def store(self) -> SqliteStore:
        """The store, opened as another process would."""
        return SqliteStore(self.settings().store.location)

    @property
    def agents(self) -> AgentRegistry:
        return open_agents(self.settings())

    def settings(self, dialect: str = "brief", session: str = "") -> Settings:
        return load({"dialect": dialect, "session": session}, self.environment(), str(self.folder))

    def environment(self, **more: str) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP") if name in os.environ}
        homes = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
        return inherited | dict.fromkeys(homes, str(self.home)) | {"TILDONE_USER": "Ada"} | self.environ | more

    @asynccontextmanager
    async def http_server(self, dialect: str = "brief") -> AsyncIterator[str]:
        """An HTTP server in this process, by its URL. Its agent is the one that the environment names."""
        settings, own = self.settings(dialect), dialect_named(dialect)
        resolve_caller = stdio_callers(settings, self.environ, self.process)
        backend = Backend(settings, own, resolve_caller, log_error, all_sessions=False)
        with bound_socket("127.0.0.1", 0) as listening:
            server = make_web_server(make_transport(backend, own), "127.0.0.1", None)
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            try:
                yield url("127.0.0.1", listening.getsockname()[1], PATH)
            finally:
                server.should_exit = True
                await serving
                backend.close()

    @asynccontextmanager
    async def http_client(self, mode: str = "auto", *, dialect: str = "brief", **more: Any) -> AsyncIterator[Client]:
        async with self.http_server(dialect) as server, connected(server, mode, **more) as client:
            yield client

    @contextmanager
    def pipes(self, dialect: str = "brief", session: str = "") -> Iterator[tuple[int, int]]:
        """The client's ends of the pipes to and from a stdio server in this process.

        Its agent is the one that the environment names. The server has ended when the block is left.
        """
        settings = self.settings(dialect, session)
        (source, to_server), (from_server, out) = os.pipe(), os.pipe()
        output = Output(out, lambda: None)

        def open_backend(report: Callable[[Exception], None]) -> Backend:
            resolve_caller = stdio_callers(settings, self.environ, self.process)
            return Backend(settings, dialect_named(dialect), resolve_caller, report, all_sessions=True)

        def run() -> None:
            with os.fdopen(source, "rb") as stdin, os.fdopen(out, "wb"):
                serve(stdin, output, MessageDispatcher(output, dialect_named(dialect), open_backend))

        thread = threading.Thread(target=run, name="stdio server")
        thread.start()
        try:
            yield to_server, from_server
        finally:
            thread.join(TIMEOUT_SECONDS)
            os.close(from_server)
            assert not thread.is_alive()

    @asynccontextmanager
    async def client(
        self,
        mode: str = "auto",
        name: str = "test",
        inbox: "Inbox | None" = None,
        *,
        dialect: str = "brief",
        session: str = "",
        **more: Any,
    ) -> AsyncIterator[Client]:
        with self.pipes(dialect, session) as ends:
            own = {"mode": mode, "client_info": client_info(name), "message_handler": inbox, **more}
            async with Client(pipe_transport(*ends), **own) as client:
                yield client

    @asynccontextmanager
    async def started(self, *words: str, mode: str = "auto", **environ: str) -> AsyncIterator[Client]:
        """A client of a server process that it has started itself, as agents do."""
        program = StdioServerParameters(
            command=str(PROGRAM), args=["mcp", *words], env=self.environment(**environ), cwd=self.folder
        )
        async with Client(program, mode=mode, client_info=client_info("test")) as client:
            yield client

    def ruin_store(self) -> Path:
        store = Path(self.settings().store.location)
        for file in store.parent.glob(f"{store.name}*"):
            file.unlink()
        store.write_bytes(b"not a store" * 500)
        return store

    def look(self, act: Callable[[SqliteStore], T]) -> T:
        """Use the store as another process would."""
        with closing(self.store) as store:
            return act(store)

    def plan(self, session: str | None = None) -> Plan:
        """The plan of a session, or of the project's, as the store has it."""
        return self.look(lambda store: latest_state(store.history(session or str(self.folder))).plan)

    def texts(self, session: str | None = None) -> list[str]:
        return [task.text for task in self.plan(session).tasks]

    def add(self, *texts: str, session: str | None = None) -> None:
        """Add tasks through another connection to the store."""
        name, dialect = session or str(self.folder), dialect_named("brief")
        reply = self.look(lambda store: session_in(store, name, dialect).call("todo", {"add": list(texts)}))
        assert not reply.is_error


@asynccontextmanager
async def connected(server: str, mode: str, **more: Any) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(timeout=TIMEOUT_SECONDS) as http:
        transport = streamable_http_client(server, http_client=http)
        async with Client(transport, mode=mode, client_info=client_info("test"), **more) as client:
            yield client


class Inbox:
    def __init__(self) -> None:
        self._messages: asyncio.Queue[IncomingMessage] = asyncio.Queue()

    async def __call__(self, message: IncomingMessage) -> None:
        self._messages.put_nowait(message)

    async def next_change(self) -> str:
        message = await asyncio.wait_for(self._messages.get(), TIMEOUT_SECONDS)
        assert isinstance(message, ResourceUpdatedNotification)
        return message.params.uri

    @property
    def is_empty(self) -> bool:
        return self._messages.empty()


@asynccontextmanager
async def subscribed(client: Client, inbox: Inbox, *uris: str) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    """Subscribes a client to URIs in the way of its protocol version; yields a function that waits for a change."""
    if client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
        for uri in uris:
            with pytest.warns(MCPDeprecationWarning):
                await client.subscribe_resource(uri)
        yield inbox.next_change
        return
    async with client.listen(resource_subscriptions=uris) as stream:
        assert stream.honored is not None
        assert stream.honored.resource_subscriptions == list(uris)
        events = aiter(stream)

        async def next_change() -> str:
            event = await asyncio.wait_for(anext(events), TIMEOUT_SECONDS)
            assert isinstance(event, ResourceUpdated)
            return event.uri

        yield next_change


def client_info(name: str) -> Implementation:
    return Implementation(name=name, version="1")


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


async def read(client: Client, uri: str = "plan://current") -> str:
    [content] = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


def meta(**fields: object) -> RequestParamsMeta:
    return cast("RequestParamsMeta", fields)


async def until_saved(client: Client) -> None:
    """Wait until everything is saved that a call saves after its reply."""
    await read(client)
