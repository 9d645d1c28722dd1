"""The output of a command while it runs: its tail in memory, and all of it in a file once it is too long to show.

A reader thread feeds bytes; the event loop takes excerpts. A lock guards the state that both use.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from threading import Lock
from typing import BinaryIO

from tildone.kit.truncate import MAX_BYTES, MAX_LINES, keep_tail
from tildone.value import value

MAX_FILE_BYTES = 100_000_000
"""The size at which the file stops growing: a command that never stops writing must not fill the disk."""

_TAIL_BYTES = 2 * MAX_BYTES

# Escape sequences, and control characters other than tabs and line ends.
_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

Keep = Callable[[], tuple[BinaryIO, str]]


@value
class OutputExcerpt:
    """The tail of an output and its totals; `path` is the file with all of it, if the tail is not all."""

    text: str
    total_lines: int
    total_bytes: int
    lines: int
    path: str | None
    kept_bytes: int


class CommandOutput:
    """The output of one command."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._lock = Lock()
        self._end = bytearray()
        self._feeds = 0
        self._bytes = 0
        self._file: BinaryIO | None = None
        self._path: str | None = None
        self._kept = 0
        self._closed = False

    @property
    def size(self) -> int:
        """The number of bytes so far."""
        return self._bytes

    def feed(self, data: bytes) -> None:
        """Add bytes; they are discarded once the output is closed."""
        with self._lock:
            if self._closed:
                return
            self._bytes += len(data)
            self._feeds += data.count(b"\n")
            self._end += data
            if self._file is not None:
                self._save(data)
            elif self._bytes > MAX_BYTES or self._feeds > MAX_LINES:
                self._file, self._path = self._keep()
                self._save(bytes(self._end))
            if len(self._end) > 2 * _TAIL_BYTES:
                del self._end[:-_TAIL_BYTES]

    def excerpt(self) -> OutputExcerpt:
        """The tail so far, as text without control characters."""
        with self._lock:
            end, whole_lines, total = bytes(self._end), self._feeds, self._bytes
            path, kept = self._path, self._kept
            closed = self._closed
        # A character may be split between two reads: until the end, an incomplete one is held back.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(end, final=closed)
        part = keep_tail(_CONTROLS.sub("\ufffd", _ESCAPES.sub("", text)))
        total_lines = whole_lines + (not end.endswith(b"\n") and bool(end))
        return OutputExcerpt(part.content, total_lines, total, part.output_lines, path, kept)

    def close(self) -> None:
        """Close the file; later output is discarded."""
        with self._lock:
            self._closed = True
            if self._file is not None:
                self._file.close()

    def _save(self, data: bytes) -> None:
        if self._file is not None and self._kept < MAX_FILE_BYTES:
            self._kept += self._file.write(data[: MAX_FILE_BYTES - self._kept])
