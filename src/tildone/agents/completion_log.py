"""A Markdown log of completed plans, for people, in the project's own folder."""

from __future__ import annotations

import os

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "memory/todos"
SEPARATOR = b"\n\n"


class CompletionLog:
    """One file, named by the time of its first entry and only appended to, for the life of the object.

    `last_error` is why the newest entry could not be written; None if it was.
    """

    def __init__(self, root: str, timestamp: Callable[[], str]) -> None:
        self.last_error: OSError | None = None
        self._root = root
        self._timestamp = timestamp
        self._number = 0
        self._path: str | None = None

    def add(self, entry: Callable[[int, str], str]) -> str | None:
        """Append an entry, made from its number and a timestamp; its path below the root, or None if that failed.

        An entry that could not be written uses up its number all the same.
        """
        timestamp = self._timestamp()
        self._number += 1
        path = self._path or f"{FOLDER}/todoList-{timestamp}.md"
        try:
            _append(os.path.join(self._root, *path.split("/")), entry(self._number, timestamp))
        except OSError as error:
            self.last_error = error
            return None
        self.last_error = None
        self._path = path
        return path


def _append(path: str, entry: str) -> None:
    """Append an entry in one write; durable when this returns."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        separator = SEPARATOR if file.tell() else b""
        # A lone surrogate has no UTF-8: it is escaped, so that the entry is not lost.
        file.write(separator + entry.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())
