"""The server for one client, on standard input and output: a loop on the standard library alone.

An agent waits for the first answers of its servers before it sends its first request to a model, or sends it without
their tools. So this path imports nothing that `initialize` and `tools/list` do not need: what works on the store is
imported, and the store opened, by the first request that needs it. `tests/mcp/test_startup.py` guards this.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress

from tildone.agents.processes import agent_process
from tildone.agents.servers import ProvidedTools
from tildone.dialects import DEFAULT_DIALECT, dialect_named
from tildone.errors import TildoneError
from tildone.integrations.hook_protocol import PROBE_CLIENT
from tildone.mcp.clients import HOST_PROGRAMS
from tildone.mcp.dispatcher import MessageDispatcher
from tildone.mcp.json_rpc import INVALID_REQUEST, InvalidMessage
from tildone.mcp.reporting import log_error
from tildone.mcp.stdio_output import Output, claim_standard_streams
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import BinaryIO, NoReturn

    from tildone.config import Settings
    from tildone.dialects.base import Dialect
    from tildone.mcp.backend import Backend
    from tildone.mcp.dispatcher import OpenBackend

AT_A_TERMINAL = "waiting for MCP messages on standard input, as an agent sends them; Ctrl-C ends it"
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

MAX_LINE_BYTES = 1 << 24
"""How much of a line is read in order to answer it. The rest of a longer one is skipped."""


def run(load_settings: Callable[[], Settings], dialect: str | None) -> int:
    """Serve the client until it closes standard input or a signal arrives, and return the exit code.

    Settings that cannot be loaded do not end the server: every call reports them, until they can be loaded. The tools
    are those of `dialect`; if it is None, the settings name it.
    """
    if sys.stdin and sys.stdin.isatty():
        sys.stderr.write(f"tildone mcp: {AT_A_TERMINAL}\n")
    # Determined before the standard streams are claimed, because they help to find it.
    agent = agent_process(HOST_PROGRAMS)
    try:
        settings = load_settings()
    except TildoneError as error:
        log_error(error)
        return _run(load_settings, dialect, agent, lambda _client: None)
    # Hooks do not look for known coding agents behind a relay.
    provided = ProvidedTools(settings.agents_dir, *{agent, agent_process()})

    def greet(client: str) -> None:
        # A probe does not provide an agent with tools, and changes nothing.
        if client != PROBE_CLIENT:
            provided.announce()

    try:
        return _run(load_settings, dialect or settings.dialect, agent, greet)
    finally:
        provided.withdraw()


def _run(
    load_settings: Callable[[], Settings], dialect_name: str | None, agent: int, greet: Callable[[str], None]
) -> int:
    dialect = dialect_named(dialect_name or DEFAULT_DIALECT)
    source, out = claim_standard_streams()
    output = Output(out, _interrupt_reading)
    dispatcher = MessageDispatcher(output, dialect, backend_opener(load_settings, dialect, agent), greet)
    try:
        _handle_signals(_stop)
        serve(source, output, dispatcher)
    except _Stopped as stopped:
        _handle_signals(signal.SIG_DFL)
        dispatcher.abandon()
        return 0 if output.is_broken else 128 + stopped.signal
    return 0


def serve(source: BinaryIO, output: Output, dispatcher: MessageDispatcher) -> None:
    """Answer lines until end of file, or until the client no longer reads answers."""
    with suppress(OSError):
        while not output.is_broken and (line := source.readline(MAX_LINE_BYTES)):
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                _skip_line(source)
                dispatcher.refuse(InvalidMessage(INVALID_REQUEST, f"a line has at most {MAX_LINE_BYTES} bytes"))
            elif not line.isspace():
                dispatcher.receive(line)
    dispatcher.close()


def backend_opener(load_settings: Callable[[], Settings], dialect: Dialect, agent: int) -> OpenBackend:
    """Return a function that opens the backend for the coding agent that runs as process `agent`."""

    def open_backend(report: Callable[[Exception], None]) -> Backend:
        # Late, because the first answers need none of it.
        from tildone.mcp.backend import Backend  # noqa: PLC0415  see above
        from tildone.mcp.callers import stdio_callers  # noqa: PLC0415  see above

        settings = load_settings()
        resolve_caller = stdio_callers(settings, os.environ, agent)
        return Backend(settings, dialect, resolve_caller, report, all_sessions=True)

    return open_backend


def _skip_line(source: BinaryIO) -> None:
    while (part := source.readline(MAX_LINE_BYTES)) and not part.endswith(b"\n"):
        pass


class _Stopped(BaseException):
    """A signal asked the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped(number)


def _handle_signals(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    for name in SIGNALS:
        # Windows lacks some of them.
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), handler)


def _interrupt_reading() -> None:
    """End the process although the main thread may be waiting for a line: the client reads no answers any more."""
    if threading.current_thread() is not threading.main_thread():
        os.kill(os.getpid(), signal.SIGTERM)
