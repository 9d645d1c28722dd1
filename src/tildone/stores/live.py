"""Markers of the agents that may be at work: one empty file for each, in a folder beside the records.

Theory of operation. A marker may be there without need, never the other way round. An agent's record is written before
its marker. Whoever finds that the agent of a marker is gone removes the marker, reads the record once more, and sets
the marker again if the record was renewed meanwhile. So every agent that is active has one, and the folder holds few
others, however many agents are on record.

Registries of earlier versions have no such folder. It is made in one step, with a marker for each record; if several
processes do that at once, the first one's stays, and each sets the markers of its own agents in it.
"""

from __future__ import annotations

import os

from tildone.base import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = ".live"
"""A name with a dot at its beginning never expires."""

STAMP = ".expired"


class LiveMarkers:
    """The markers in the folder of a registry."""

    def __init__(self, registry: str) -> None:
        self._registry = registry
        self._folder = os.path.join(registry, FOLDER)

    @property
    def exists(self) -> bool:
        """Whether the folder of the markers is there."""
        return os.path.isdir(self._folder)

    def names(self, all_names: Callable[[], list[str]]) -> list[str]:
        """Return the names of all markers, sorted. `all_names` returns the names to begin with."""
        try:
            return sorted(os.listdir(self._folder))
        except OSError:
            names = all_names()
            if os.path.isdir(self._registry):
                self._create(names)
            return names

    def add(self, name: str) -> None:
        """Set a marker. Raises OSError if it cannot be written."""
        # Late, here and below, because most hooks find all markers set.
        from tildone.base.private import open_private

        os.close(open_private(os.path.join(self._folder, name), os.O_WRONLY | os.O_CREAT))

    def remove(self, name: str) -> None:
        """Remove a marker, if it is there. One that cannot be removed only costs time."""
        try:
            os.remove(os.path.join(self._folder, name))
        except OSError:
            return

    def is_due(self, every_ms: int, now: int) -> bool:
        """Return whether that much time has passed since this was last true; it is now."""
        path = os.path.join(self._registry, STAMP)
        try:
            if now - os.stat(path).st_mtime * 1000 < every_ms:
                return False
        except OSError:
            pass
        from tildone.base.private import open_private

        try:
            os.close(open_private(path, os.O_WRONLY | os.O_CREAT))
            os.utime(path, (now / 1000, now / 1000))
        except OSError:
            return True
        return True

    def _create(self, names: list[str]) -> None:
        from tildone.base.private import make_private_folder, open_private

        draft = f"{self._folder}.{os.getpid()}"
        try:
            make_private_folder(draft)
            for name in names:
                os.close(open_private(os.path.join(draft, name), os.O_WRONLY | os.O_CREAT))
            os.rename(draft, self._folder)
        except OSError:
            # Another process was first, or nothing can be written here: then all records are read, as they were.
            self._discard(draft)

    def _discard(self, draft: str) -> None:
        try:
            for name in os.listdir(draft):
                os.remove(os.path.join(draft, name))
            os.rmdir(draft)
        except OSError:
            return
