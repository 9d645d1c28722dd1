"""The output of a running command: its tail in memory, and all of it in a file once it is too long to show.

Secrets are redacted before anything is kept. A reader thread feeds bytes, and the event loop takes excerpts. A lock
protects the state that they share.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from threading import Lock
from typing import BinaryIO

from tildone.agents.secrets import Redactor, StreamRedactor
from tildone.kit.truncate import MAX_BYTES, MAX_LINES, keep_tail
from tildone.value import value

MAX_FILE_BYTES = 100_000_000
"""The size limit of the file, so that a command that never stops writing does not fill the disk."""

_TAIL_BYTES = 2 * MAX_BYTES

# Escape sequences, and control characters other than tabs and line ends.
_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

CreateFile = Callable[[], tuple[BinaryIO, str]]


@value
class OutputExcerpt:
    """The tail of an output and its totals; if it is truncated, `path` is a file with the first `file_bytes` bytes."""

    text: str
    total_lines: int
    total_bytes: int
    lines: int
    path: str | None
    file_bytes: int


class CommandOutput:
    """The output of one command."""

    def __init__(self, create_file: CreateFile, redactor: Redactor) -> None:
        self._create_file = create_file
        self._stream = StreamRedactor(redactor)
        self._lock = Lock()
        self._fed = 0
        self._tail = bytearray()
        self._line_feeds = 0
        self._bytes = 0
        self._file: BinaryIO | None = None
        self._path: str | None = None
        self._file_bytes = 0
        self._closed = False

    @property
    def size(self) -> int:
        """The number of bytes fed so far."""
        return self._fed

    def feed(self, data: bytes) -> None:
        """Add bytes; they are discarded once the output is closed."""
        with self._lock:
            if self._closed:
                return
            self._fed += len(data)
            self._keep(self._stream.feed(data))

    def excerpt(self) -> OutputExcerpt:
        """Return the current tail, as text without control characters."""
        with self._lock:
            end, whole_lines, total = bytes(self._tail) + self._stream.preview(), self._line_feeds, self._bytes
            path, kept = self._path, self._file_bytes
            closed = self._closed
        # A character may be split between two reads: an incomplete one is left out until the output is closed.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(end, final=closed)
        part = keep_tail(_CONTROLS.sub("\ufffd", _ESCAPES.sub("", text)))
        total_lines = whole_lines + (not end.endswith(b"\n") and bool(end))
        return OutputExcerpt(part.content, total_lines, total, part.output_lines, path, kept)

    def close(self) -> None:
        """Close the file; later output is discarded."""
        with self._lock:
            if self._closed:
                return
            self._keep(self._stream.finish())
            self._closed = True
            if self._file is not None:
                self._file.close()

    def _keep(self, data: bytes) -> None:
        self._bytes += len(data)
        self._line_feeds += data.count(b"\n")
        self._tail += data
        if self._file is not None:
            self._save(data)
        elif self._bytes > MAX_BYTES or self._line_feeds > MAX_LINES:
            self._file, self._path = self._create_file()
            self._save(bytes(self._tail))
        if len(self._tail) > 2 * _TAIL_BYTES:
            del self._tail[:-_TAIL_BYTES]

    def _save(self, data: bytes) -> None:
        if self._file is not None and self._file_bytes < MAX_FILE_BYTES:
            self._file_bytes += self._file.write(data[: MAX_FILE_BYTES - self._file_bytes])
