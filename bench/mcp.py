"""The MCP server on stdio: its start against a bare Python, a durable call against an echo server of the bare SDK.

The client is the same for all servers: it writes a line and reads a line. `python -m bench.mcp` is the echo server.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count, cycle
from pathlib import Path
from typing import Any, Self

from bench.measure import Memory, Row, medians, resident_megabytes
from bench.plans import PLAN

CALL_AIM, START_AIM, MEMORY_AIM = 0.6, 5.0, 20
CALL, ECHO = "MCP call on pipes, one of ten tasks, SQLite", "the bare SDK, echo"
START, BARE = "MCP server: initialize and tools/list", "python -I -c pass"
CROWD, BARE_CROWD = "MCP server: ten started at once", "ten times python -I -c pass"
MEMORY = "MCP server: after a call"
CROWD_SIZE = 10


def rows(folder: Path, calls: int, starts: int) -> Iterator[Row | Memory]:
    """A call, a start, ten starts at once, and the memory that a server takes."""
    environ = {**os.environ, "XDG_DATA_HOME": str(folder), "TILDONE_STORE": str(folder / "mcp.db")}
    # An installed tildone has compiled bytecode; so has this one after the first start.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    environ["PYTHONPYCACHEPREFIX"] = str(folder)
    command = [str(Path(sys.executable).with_name("tildone")), "mcp", "--dialect", "indexed", "--session", "bench"]
    with ExitStack() as stack:
        echo_server = stack.enter_context(Server([sys.executable, "-m", "bench.mcp"], environ))
        ours = stack.enter_context(Server(command, environ))
        ours.call("write_todos", {"mode": "replace", "todos": [{"text": task.text} for task in PLAN.tasks]})
        base_took, took = medians([toggle(echo_server), toggle(ours)], calls)
        memory = ours.resident_megabytes()
    yield Row(CALL, ECHO, CALL_AIM, took, base_took)
    base_took, took = medians([bare(environ, 1), started(command, environ, 1)], starts)
    yield Row(START, BARE, START_AIM, took, base_took)
    base_took, took = medians([bare(environ, CROWD_SIZE), started(command, environ, CROWD_SIZE)], starts)
    yield Row(CROWD, BARE_CROWD, START_AIM, took, base_took)
    yield Memory(MEMORY, memory, MEMORY_AIM) if memory else Row(MEMORY, "", 0, skipped="only Linux tells")


def bare(environ: dict[str, str], number: int) -> Callable[[], None]:
    """Starts this many Pythons at once, and waits for all of them."""

    def run() -> None:
        running = [subprocess.Popen([sys.executable, "-I", "-c", "pass"], env=environ) for _ in range(number)]
        for process in running:
            process.wait()

    return run


def started(command: list[str], environ: dict[str, str], number: int) -> Callable[[], None]:
    """Starts this many servers at once, and waits until each has listed its tools."""

    def run() -> None:
        with ExitStack() as stack:
            servers = [stack.enter_context(Server(command, environ, greet=False)) for _ in range(number)]
            for server in servers:
                server.greet()
            for server in servers:
                server.list_tools()
            # Ending them is not part of a start, and it must not disturb the next one.
            for server in servers:
                server.kill()

    return run


def toggle(server: "Server") -> Callable[[], str]:
    """A call that changes the plan every time it is made."""
    actions = cycle(("start", "complete"))
    return lambda: server.call("edit_todos", {"action": next(actions), "indices": [3]})


class Refused(Exception):
    """A server refused a call."""


class Server:
    """An MCP server in a subprocess; a context manager."""

    def __init__(self, command: list[str], environ: dict[str, str], *, greet: bool = True, **options: Any) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, text=True, bufsize=1, **options)
        self._numbers = count()
        self._greets = greet

    def __enter__(self) -> Self:
        if self._greets:
            self.greet()
            self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing its standard input ends the server.
        with self._process:
            pass

    def greet(self) -> None:
        """Ask the server to initialize, without waiting for the answer."""
        info = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def list_tools(self) -> list[dict[str, Any]]:
        """Wait for the answer to the greeting, then list the tools."""
        self._answer()
        self._ask("tools/list", {})
        tools: list[dict[str, Any]] = self._answer()["result"]["tools"]
        assert tools
        return tools

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool and return its answer.

        Raises:
            Refused: the server refuses the call.
        """
        self._ask("tools/call", {"name": tool, "arguments": arguments})
        answer = self._answer()
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        text = "\n".join(part.get("text", "") for part in answer["result"]["content"])
        if answer["result"].get("isError"):
            raise Refused(text)
        return text

    def resident_megabytes(self) -> float:
        return resident_megabytes(self._process.pid)

    def kill(self) -> None:
        """End the server at once."""
        self._process.kill()

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        self._say({"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params})

    def _answer(self) -> dict[str, Any]:
        """Return the next answer. Between answers, servers may log, notify, and ask for what this client has not."""
        assert self._process.stdout
        while line := self._process.stdout.readline():
            message: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if "id" in message and "method" not in message:
                return message
            if "id" in message:
                error = {"code": -32601, "message": "Method not found"}
                self._say({"jsonrpc": "2.0", "id": message["id"], "error": error})
        raise Refused("the server has ended")

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{json.dumps(message)}\n")


async def echo() -> None:
    """Serve one tool that echoes its arguments."""
    # Late, because only the subprocess needs the SDK.
    from mcp.server.lowlevel import Server as Bare  # noqa: PLC0415  see above
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  see above
    from mcp_types import CallToolResult, TextContent  # noqa: PLC0415  see above

    async def call_tool(_asked: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(text=json.dumps(params.arguments))])

    server: Bare[Any] = Bare("bare", on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(echo())
