"""The server for one client, on standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys

from tildone.agents.processes import agent_process
from tildone.config import Settings
from tildone.mcp.callers import stdio_callers
from tildone.mcp.clients import host_programs
from tildone.mcp.lifecycle import exit_code, handling_signals, open_server
from tildone.mcp.stdio_streams import MessageReader, claim_standard_streams

AT_A_TERMINAL = "waiting for MCP messages on standard input, as an agent sends them; Ctrl-C ends it"


def run(settings: Settings) -> int:
    """Serve the client until it closes standard input or a signal arrives, and return the exit code."""
    if sys.stdin and sys.stdin.isatty():
        sys.stderr.write(f"tildone mcp: {AT_A_TERMINAL}\n")
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    resolve_caller = stdio_callers(settings, os.environ, agent_process(host_programs()))
    with open_server(settings, resolve_caller, all_sessions=True) as (server, _):
        reader = MessageReader(*claim_standard_streams())
        serving = asyncio.ensure_future(server.run(reader, reader.writer, server.create_initialization_options()))
        with handling_signals(serving.cancel) as signals:
            try:
                await serving
            except asyncio.CancelledError:
                if not signals:
                    raise
        reader.writer.close()
    return exit_code(signals)
