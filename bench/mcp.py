"""Time of a durable tool call over MCP on stdio, against an echo server of the bare SDK (`python -m bench.mcp`).

The client is the same for both: it writes a line and reads a line.
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

from bench.measure import Row, medians
from bench.plans import PLAN

AIM = 1.3
NAME, BASE = "MCP call on pipes, one of ten tasks, SQLite", "the bare SDK, echo"


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """One row."""
    environ = {**os.environ, "XDG_DATA_HOME": str(folder), "TILDONE_STORE": str(folder / "mcp.db")}
    script = str(Path(sys.executable).with_name("tildone"))
    with ExitStack() as stack:
        bare = stack.enter_context(Server([sys.executable, "-m", "bench.mcp"], environ))
        ours = stack.enter_context(Server([script, "mcp", "--dialect", "indexed", "--session", "bench"], environ))
        ours.call("write_todos", {"mode": "replace", "todos": [{"text": task.text} for task in PLAN.tasks]})
        base_took, took = medians([toggle(bare), toggle(ours)], rounds)
    yield Row(NAME, BASE, AIM, took, base_took)


def toggle(server: "Server") -> Callable[[], None]:
    """A call that changes the plan every time it is made."""
    actions = cycle(("start", "complete"))
    return lambda: server.call("edit_todos", {"action": next(actions), "indices": [3]})


class Server:
    """An MCP server in a subprocess; a context manager."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self._numbers = count()

    def __enter__(self) -> Self:
        info = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        # Closing its standard input ends the server.
        with self._process:
            pass

    def call(self, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool, which must succeed."""
        assert not self._ask("tools/call", {"name": tool, "arguments": arguments})["result"].get("isError")

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._say({"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params})
        assert self._process.stdout
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

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
