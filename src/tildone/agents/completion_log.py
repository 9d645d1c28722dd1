"""A Markdown log of completed plans in the project's folder, for people."""

from __future__ import annotations

import os

from tildone.errors import Refused
from tildone.files.boundary import real_path_inside
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "memory/todos"
SEPARATOR = b"\n\n"


class CompletionLog:
    """Appends entries to one file, which is named after the time of the first entry.

    `last_error` is the error of the newest entry, or None if it was written.
    """

    def __init__(self, root: str, timestamp: Callable[[], str]) -> None:
        self.last_error: OSError | Refused | None = None
        self._root = root
        self._timestamp = timestamp
        self._number = 0
        self._path: str | None = None

    def add(self, entry: Callable[[int, str], str]) -> str | None:
        """Append the entry made from a number and a timestamp. Return its path below the root; None if writing failed.

        The number increases even if writing fails.
        """
        timestamp = self._timestamp()
        self._number += 1
        path = self._path or f"{FOLDER}/todoList-{timestamp}.md"
        try:
            inside = real_path_inside(self._root, os.path.join(self._root, *path.split("/")))
            _append(inside, entry(self._number, timestamp))
        except (OSError, Refused) as error:
            self.last_error = error
            return None
        self.last_error = None
        self._path = path
        return path


def _append(path: str, entry: str) -> None:
    """Append an entry durably, in one write."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        separator = SEPARATOR if file.tell() else b""
        # Lone surrogates cannot be encoded as UTF-8; they are escaped, so that the entry is not lost.
        file.write(separator + entry.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())
