"""A folder of session files: which file holds which session, and the names of new files."""

from __future__ import annotations

import os
import re
from binascii import crc32
from itertools import count

from tildone.errors import StoreError
from tildone.files import durable
from tildone.stores.pi.session_file import checked_header, file_name, format_timestamp, parse_line
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDING = ".jsonl"

# What pi accepts as an id in a file name, and the timestamp before it.
_FIT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_")
_UNFIT = re.compile(r"[^A-Za-z0-9]+")
_MAX_ID_CHARACTERS, _READABLE_CHARACTERS = 100, 60
_MAX_HEADER_BYTES = 1 << 20


class Folder:
    """Finds sessions by the headers of their files; file names only make it faster. Headers are cached."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._headers: dict[str, tuple[tuple[int, int, int], str]] = {}

    def find(self, session: str) -> str | None:
        """The file of a session.

        Raises:
            StoreDamaged: a file with the session's name has no header.
            StoreError: the folder, or a file with the session's name, cannot be read.
        """
        paths = self.paths()
        likely = [path for path in paths if is_named_for(path, session)]
        found = [path for path in likely if self.session_in(path) == session]
        found = found or [path for path in paths if path not in likely and self._session_or_none(path) == session]
        return max(found, key=_mtime, default=None)

    def files(self) -> dict[str, list[str]]:
        """The files of every session, the one that `find` returns first."""
        found: dict[str, list[str]] = {}
        for path in self.paths():
            session = self._session_or_none(path)
            if session is not None:
                found.setdefault(session, []).append(path)
        for session, paths in found.items():
            paths.sort(key=lambda path: (is_named_for(path, session), _mtime(path)), reverse=True)
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
        """The session that a file holds; None if the file does not exist any more.

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

    @property
    def draft_path(self) -> str:
        """Where a file is written before it gets its name. Only the holder of the folder's lock uses it."""
        return os.path.join(self.path, durable.DRAFT_FILE)

    def create(self, session: str, at: int, content: bytes, mtime: int | None) -> None:
        """Create a file for a session whose first event is of the time `at`, under the first name that is free."""
        for path in self.new_paths(session, at):
            try:
                durable.create(path, content, self.draft_path, mtime)
            except FileExistsError:
                continue
            return

    def new_paths(self, session: str, at: int) -> Iterator[str]:
        """Names for a new file of a session: pi's, then the same with a number."""
        first = os.path.join(self.path, file_name(file_safe(session), format_timestamp(at)))
        yield first
        for number in count(2):
            yield f"{first.removesuffix(ENDING)}-{number}{ENDING}"

    def _session_or_none(self, path: str) -> str | None:
        try:
            return self.session_in(path)
        except StoreError:
            return None


def file_safe(session: str) -> str:
    """A session's name as part of a file name: unchanged if that is possible, else its readable part and a digest."""
    if len(session) <= _MAX_ID_CHARACTERS and _FIT.fullmatch(session):
        return session
    digest = f"{crc32(session.encode('utf-8', 'surrogatepass')):08x}"
    readable = _UNFIT.sub("-", session).strip("-")[:_READABLE_CHARACTERS].strip("-")
    return f"{readable}-{digest}" if readable else digest


def has_session_file_name(path: str) -> bool:
    """Whether a file is named as session files are."""
    return _STAMP.match(os.path.basename(path)) is not None


def is_named_for(path: str, session: str) -> bool:
    """Whether a file has the name of a session's file."""
    name = os.path.basename(path)
    stamp = _STAMP.match(name)
    return stamp is not None and name[stamp.end() :] == file_safe(session) + ENDING


def _session_of(path: str) -> str:
    """The session that a file's header names; unparsable lines before it are skipped, as in pi."""
    first, left = None, _MAX_HEADER_BYTES
    with open(path, "rb") as file:
        while first is None and (line := file.readline(left)):
            first, left = parse_line(line), left - len(line)
    return str(checked_header(path, first)["id"])


def _mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0
