"""A folder of session files: which file is whose, and what a new one is called."""

from __future__ import annotations

import os
import re
from binascii import crc32
from itertools import count

from tildone.errors import StoreError
from tildone.stores.pi.session_file import checked_header, file_name, format_timestamp, parse_line
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDING = ".jsonl"

# What pi takes for an id, and what it puts before one.
_FIT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_")
_UNFIT = re.compile(r"[^A-Za-z0-9]+")
_LONGEST, _READABLE = 100, 60
_HEADER = 1 << 20


class Folder:
    """Finds sessions by the headers of their files. What a file is called only helps to find it soon."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._headers: dict[str, tuple[tuple[int, int, int], str]] = {}

    def find(self, session: str) -> str | None:
        """The file of a session.

        Raises:
            StoreDamaged: what is called like its file has no header.
            StoreError: the folder, or what is called like its file, cannot be read.
        """
        paths = self.paths()
        likely = [path for path in paths if is_named_for(path, session)]
        found = [path for path in likely if self.session_in(path) == session]
        found = found or [path for path in paths if path not in likely and self._tried(path) == session]
        return max(found, key=_written, default=None)

    def files(self) -> dict[str, list[str]]:
        """Every session's files: of several, the one that `find` finds comes first."""
        found: dict[str, list[str]] = {}
        for path in self.paths():
            session = self._tried(path)
            if session is not None:
                found.setdefault(session, []).append(path)
        for session, paths in found.items():
            paths.sort(key=lambda path: (is_named_for(path, session), _written(path)), reverse=True)
        return found

    def paths(self) -> list[str]:
        """All files that may hold a session."""
        try:
            with os.scandir(self.path) as found:
                return [entry.path for entry in found if entry.name.endswith(ENDING) and entry.is_file()]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot open {self.path}: {error}") from error

    def session_in(self, path: str) -> str | None:
        """The session that a file holds; None if it was taken away.

        Raises:
            StoreDamaged: it has no header.
            StoreError: it cannot be read.
        """
        try:
            found = os.stat(path)
            marks = found.st_ino, found.st_size, found.st_mtime_ns
            if self._headers.get(path, (None, ""))[0] != marks:
                self._headers[path] = marks, _session_of(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error
        return self._headers[path][1]

    def new_paths(self, session: str, at: int) -> Iterator[str]:
        """What a new file of a session may be called: as pi would, and if there is such a file, with a number."""
        first = os.path.join(self.path, file_name(file_safe(session), format_timestamp(at)))
        yield first
        for number in count(2):
            yield f"{first.removesuffix(ENDING)}-{number}{ENDING}"

    def _tried(self, path: str) -> str | None:
        try:
            return self.session_in(path)
        except StoreError:
            return None


def file_safe(session: str) -> str:
    """A session's name as a part of a file's name: itself where it can be, else what can be read of it and a digest."""
    if len(session) <= _LONGEST and _FIT.fullmatch(session):
        return session
    digest = f"{crc32(session.encode('utf-8', 'surrogatepass')):08x}"
    readable = _UNFIT.sub("-", session).strip("-")[:_READABLE].strip("-")
    return f"{readable}-{digest}" if readable else digest


def has_session_file_name(path: str) -> bool:
    """Whether a file has a name as session files have it."""
    return _STAMP.match(os.path.basename(path)) is not None


def is_named_for(path: str, session: str) -> bool:
    """Whether a file has the name that a session's file gets."""
    name = os.path.basename(path)
    stamp = _STAMP.match(name)
    return stamp is not None and name[stamp.end() :] == file_safe(session) + ENDING


def _session_of(path: str) -> str:
    """The session that a header names; lines before it that cannot be read are passed over, as pi does."""
    first, left = None, _HEADER
    with open(path, "rb") as file:
        while first is None and (line := file.readline(left)):
            first, left = parse_line(line), left - len(line)
    return str(checked_header(path, first)["id"])


def _written(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0
