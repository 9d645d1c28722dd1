"""The client's end of standard output: whole lines, from any thread."""

from __future__ import annotations

import io
import os
import sys
import threading

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from tildone.mcp.json_rpc import RequestId


class Output:
    """Lines to the client. `on_broken` is called once, when the client turns out to have closed its end."""

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._lock = threading.Lock()
        self.is_broken = False

    def send(self, line: bytes, _about: RequestId | None = None) -> None:
        """Write a line. A client that does not read blocks its own server; one that is gone gets nothing."""
        with self._lock:
            if self.is_broken:
                return
            try:
                self._write(line)
            except OSError:
                self.is_broken = True
        if self.is_broken:
            self._on_broken()

    def respond(self, _number: RequestId, line: bytes | None, _error: int = 0) -> None:
        """Write a response, if there is one."""
        if line is not None:
            self.send(line)

    def _write(self, line: bytes) -> None:
        remaining = memoryview(line)
        while remaining:
            remaining = remaining[os.write(self._descriptor, remaining) :]


def claim_standard_streams() -> tuple[BinaryIO, int]:
    """Return standard input and a descriptor of standard output for the protocol.

    Afterwards `sys.stdout` writes to standard error, so that a stray `print` cannot corrupt the protocol.
    """
    # A duplicate, because at exit Python waits for a thread that is reading from `sys.stdin`.
    source = io.BytesIO() if sys.stdin is None else os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return source, out
