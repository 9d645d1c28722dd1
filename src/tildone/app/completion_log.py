"""A Markdown log of completed plans in the project's folder, for people."""

from __future__ import annotations

import os

from tildone.base import TYPE_CHECKING, TildoneError
from tildone.base.durable import FolderLock
from tildone.base.files import replace_file
from tildone.base.private import PRIVATE_FILE, make_shared_folder, open_shared, real_path_inside

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "memory/todos"
SEPARATOR = b"\n\n"
LOCK_SECONDS = 5.0
MAX_RECORD = 10_000


class CompletionLog:
    """Appends entries to one file, which is named after the time of the first entry.

    With `record`, the path of a file that remembers the name of the log and the number of its entries, all processes of
    a session append to the same log. A log that was deleted is begun again. `last_error` is the error of the newest
    entry, or None if it was written.
    """

    def __init__(self, root: str, timestamp: Callable[[], str], record: str = "") -> None:
        self.last_error: OSError | TildoneError | None = None
        self._root = root
        self._timestamp = timestamp
        self._record = record
        self._number = 0
        self._path: str | None = None

    def add(self, entry: Callable[[int, str], str]) -> str | None:
        """Append the entry made from a number and a timestamp. Return its path below the root; None if writing failed.

        The number increases even if writing fails.
        """
        timestamp = self._timestamp()
        try:
            if not self._record:
                return self._append(entry, timestamp)
            with FolderLock(os.path.dirname(self._record), LOCK_SECONDS):
                self._number, self._path = self._remembered()
                path = self._append(entry, timestamp)
                replace_file(self._record, f"{self._number} {path}".encode(), mode=PRIVATE_FILE)
                return path
        except (OSError, TildoneError) as error:
            self.last_error = error
            return None

    def _append(self, entry: Callable[[int, str], str], timestamp: str) -> str:
        self._number += 1
        path = self._path or f"{FOLDER}/todoList-{timestamp}.md"
        _append(self._real_path(path), entry(self._number, timestamp))
        self.last_error = None
        self._path = path
        return path

    def _remembered(self) -> tuple[int, str | None]:
        """Return how many entries the log of this session has, and its path; none if it is not there."""
        try:
            with open(self._record, encoding="utf-8") as file:
                number, _, path = file.read(MAX_RECORD).partition(" ")
            return (int(number), path) if os.path.isfile(self._real_path(path)) else (0, None)
        except (OSError, ValueError, TildoneError):
            return 0, None

    def _real_path(self, path: str) -> str:
        return real_path_inside(self._root, os.path.join(self._root, *path.split("/")))


def _append(path: str, entry: str) -> None:
    """Append an entry durably, in one write."""
    make_shared_folder(os.path.dirname(path))
    with os.fdopen(open_shared(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as file:
        separator = SEPARATOR if file.tell() else b""
        # Lone surrogates cannot be encoded as UTF-8; they are escaped, so that the entry is not lost.
        file.write(separator + entry.encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())
