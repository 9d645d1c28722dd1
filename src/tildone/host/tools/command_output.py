"""What a command writes, as it comes: its last part at hand, and all of it in a file once it is too long to tell."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from threading import Lock
from typing import BinaryIO

from tildone.kit.truncate import MAX_BYTES, MAX_LINES, keep_tail
from tildone.value import value

KEPT_AT_MOST = 100_000_000
"""How many bytes are kept in the file: a command that never stops writing must not fill the disk."""

_AT_HAND = 2 * MAX_BYTES

# What colours text, moves the cursor or names the window, and every other control but tabs and line ends.
_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

Keep = Callable[[], tuple[BinaryIO, str]]


@value
class OutputExcerpt:
    """The last part of an output, how much of it there was, and where all of it is if this is not all."""

    text: str
    total_lines: int
    total_bytes: int
    lines: int
    path: str | None
    kept_bytes: int


class CommandOutput:
    """Fed by one thread, told to another."""

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
        """How many bytes have come so far."""
        return self._bytes

    def feed(self, data: bytes) -> None:
        """Take in what came; once closed, forget it."""
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
            if len(self._end) > 2 * _AT_HAND:
                del self._end[:-_AT_HAND]

    def told(self) -> OutputExcerpt:
        """What there is to tell so far, as text that harms no screen."""
        with self._lock:
            end, whole_lines, total = bytes(self._end), self._feeds, self._bytes
            path, kept = self._path, self._kept
            closed = self._closed
        # A character may come in two parts: until the end, half a one waits for its other half.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(end, final=closed)
        part = keep_tail(_CONTROLS.sub("\ufffd", _ESCAPES.sub("", text)))
        total_lines = whole_lines + (not end.endswith(b"\n") and bool(end))
        return OutputExcerpt(part.content, total_lines, total, part.output_lines, path, kept)

    def close(self) -> None:
        """Let go of the file; what comes later is not kept."""
        with self._lock:
            self._closed = True
            if self._file is not None:
                self._file.close()

    def _save(self, data: bytes) -> None:
        if self._file is not None and self._kept < KEPT_AT_MOST:
            self._kept += self._file.write(data[: KEPT_AT_MOST - self._kept])
