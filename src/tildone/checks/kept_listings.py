"""Copies of listings, so that git need not print the same one again at each stop of an agent.

Theory of operation. Git ends its index with a checksum of all that it contains, and a listing depends on nothing else.
A copy is kept with the checksum of its index and is used only while the index has the same. Git replaces the index as
a whole, so that a checksum that is the same before and after git has printed a listing is the one of that listing. An
index without a checksum (`index.skipHash`) has zeros in its place, and no copy is kept of its listing.

What can go wrong: a copy that is lost, incomplete or cannot be written costs time and nothing else.
"""

from __future__ import annotations

import os

from tildone.agents.branch import git_folder
from tildone.agents.identity import digest
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_KEPT = 8
"""How many projects have a copy."""

CHECKSUM_BYTES = 20


class KeptListings:
    """The copies in a folder, one for each project; none if the folder is empty text."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def listing(self, project: str, new_listing: Callable[[], bytes | None]) -> bytes | None:
        """Return the listing of a project: the copy, or if it is not valid, a new one, which is then kept."""
        checksum = _checksum(project) if self._folder else b""
        if not checksum:
            return new_listing()
        path = os.path.join(self._folder, digest(project))
        copy = _copy(path, checksum)
        if copy is not None:
            return copy
        found = new_listing()
        if found is not None and _checksum(project) == checksum:
            self._keep(path, checksum, found)
        return found

    def _keep(self, path: str, checksum: bytes, listing: bytes) -> None:
        # Late, because most copies are only read.
        from tildone.files.atomic import remove_if_there, replace_file  # noqa: PLC0415  see above
        from tildone.files.private import PRIVATE_FILE, make_private_folder  # noqa: PLC0415  see above

        try:
            make_private_folder(self._folder)
            replace_file(path, _header(checksum, len(listing)) + listing, mode=PRIVATE_FILE, durable=False)
            paths = [os.path.join(self._folder, name) for name in os.listdir(self._folder)]
            for oldest in sorted(paths, key=os.path.getmtime)[:-MAX_KEPT]:
                remove_if_there(oldest)
        except OSError:
            return


def _checksum(project: str) -> bytes:
    """Return the checksum in the index of a project; empty if there is none."""
    try:
        with open(os.path.join(git_folder(project), "index"), "rb") as index:
            index.seek(-CHECKSUM_BYTES, os.SEEK_END)
            checksum = index.read()
    except (OSError, ValueError):
        return b""
    return checksum if any(checksum) else b""


def _copy(path: str, checksum: bytes) -> bytes | None:
    """Return the copy at a path, if it is whole and belongs to the index with this checksum."""
    try:
        with open(path, "rb") as file:
            header = file.readline()
            listing = file.read()
    except OSError:
        return None
    return listing if header == _header(checksum, len(listing)) else None


def _header(checksum: bytes, length: int) -> bytes:
    return b"%s %d\n" % (checksum.hex().encode(), length)
