"""The output of an agent in a file of bounded size. Standard library only.

A full file is renamed to `NAME.1`, which replaces the one before, and a new one is begun: at most twice the limit is
kept. An agent is not held up by a full disk: what cannot be written is dropped.
"""

from __future__ import annotations

import os

from tildone.files.private import open_private

MAX_TAIL_BYTES = 256 * 1024
"""How much is read to find the last lines."""


class OutputFile:
    """A file that output is appended to; nobody but its owner can read it.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str, limit: int) -> None:
        self._path, self._limit = path, limit
        self._file = self._open()
        self._size = os.fstat(self._file).st_size

    def fileno(self) -> int:
        return self._file

    def write(self, data: bytes) -> None:
        """Append to the file, or begin a new one if this one is full."""
        try:
            if self._size and self._size + len(data) > self._limit:
                self._rotate()
            while data:
                written = os.write(self._file, data)
                self._size += written
                data = data[written:]
        except OSError:
            return

    def _rotate(self) -> None:
        os.replace(self._path, f"{self._path}.1")
        full, self._file = self._file, self._open()
        os.close(full)
        self._size = 0

    def _open(self) -> int:
        return open_private(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def last_lines(path: str, count: int) -> list[str]:
    """Return the last lines of such a file, unchanged: they may contain control characters."""
    text = _tail(path)
    if len(text) < MAX_TAIL_BYTES:
        text = _tail(f"{path}.1") + text
    lines = text.decode("utf-8", "replace").removesuffix("\n").split("\n")
    return lines[-count:] if text else []


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_TAIL_BYTES))
            return file.read()
    except OSError:
        return b""
