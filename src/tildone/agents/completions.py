"""A log for people of the plans that were finished: Markdown, in the project's own folder."""

from __future__ import annotations

import os

from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "memory/todos"
BETWEEN = b"\n\n"


class CompletionLog:
    """One file for the life of the object, named by the time of its first entry and only ever added to.

    `last_error` says why the newest entry could not be written; None when it was.
    """

    def __init__(self, root: str, stamp: Callable[[], str]) -> None:
        self.last_error: OSError | None = None
        self._root = root
        self._stamp = stamp
        self._number = 0
        self._path: str | None = None

    def add(self, entry: Callable[[int, str], str]) -> str | None:
        """Write an entry, given its number and a time stamp; where it went, or None if that failed.

        An entry that could not be written has used up its number all the same.
        """
        stamp = self._stamp()
        self._number += 1
        path = self._path or f"{FOLDER}/todoList-{stamp}.md"
        try:
            _append(os.path.join(self._root, *path.split("/")), entry(self._number, stamp))
        except OSError as error:
            self.last_error = error
            return None
        self.last_error = None
        self._path = path
        return path


def _append(file: str, block: str) -> None:
    """Add the block in one write, on disk when this returns. What is there already is never written again."""
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "ab") as log:
        between = BETWEEN if log.tell() else b""
        # Half a surrogate pair has no UTF-8: it is spelled out, so that the block is kept all the same.
        log.write(between + block.encode("utf-8", "backslashreplace"))
        log.flush()
        os.fsync(log.fileno())
