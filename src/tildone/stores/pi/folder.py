"""A folder of session files: finding the file of a session, naming new files, and writing drafts."""

from __future__ import annotations

import os
import re
from binascii import crc32
from itertools import count

from tildone.errors import StoreError
from tildone.files import durable
from tildone.stores.pi.session_file import (
    VERSION,
    checked_header,
    file_name,
    format_line,
    format_timestamp,
    header,
    parse_line,
    upgrade_file,
)
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.stores.pi.drafts import Draft
    from tildone.stores.pi.history import History

ENDING = ".jsonl"

# The ids that pi accepts in a file name, and the timestamp before them.
_VALID_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_")
_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]+")
_MAX_ID_CHARACTERS, _READABLE_CHARACTERS = 100, 60
_MAX_HEADER_BYTES = 1 << 20


class Folder:
    """Finds sessions by the headers of their files; file names are only a shortcut. Headers are cached."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._headers: dict[str, tuple[tuple[int, int, int], str]] = {}

    def find(self, session: str) -> str | None:
        """Return the file of a session; None if there is none.

        Raises:
            StoreDamaged: a file with the session's name has no header.
            StoreError: the folder, or a file with the session's name, cannot be read.
        """
        paths = self.paths()
        likely = [path for path in paths if is_named_for(path, session)]
        matching = [path for path in likely if self.session_in(path) == session]
        matching = matching or [path for path in paths if path not in likely and self.session_or_none(path) == session]
        return max(matching, key=_mtime, default=None)

    def files(self) -> dict[str, list[str]]:
        """Return the files of every session, the one that `find` returns first."""
        files: dict[str, list[str]] = {}
        for path in self.paths():
            session = self.session_or_none(path)
            if session is not None:
                files.setdefault(session, []).append(path)
        for session, paths in files.items():
            paths.sort(key=lambda path: (is_named_for(path, session), _mtime(path)), reverse=True)
        return files

    def paths(self) -> list[str]:
        """Return all files that may contain a session."""
        try:
            with os.scandir(self.path) as entries:
                return [entry.path for entry in entries if entry.name.endswith(ENDING) and entry.is_file()]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot open {self.path}: {error}") from error

    def session_in(self, path: str) -> str | None:
        """Return the session that a file contains; None if the file no longer exists.

        Raises:
            StoreDamaged: it has no header.
            StoreError: it cannot be read.
        """
        try:
            status = os.stat(path)
            fingerprint = status.st_ino, status.st_size, status.st_mtime_ns
            if self._headers.get(path, (None, ""))[0] != fingerprint:
                self._headers[path] = fingerprint, _session_of(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error
        return self._headers[path][1]

    def session_or_none(self, path: str) -> str | None:
        """Return the session that a file contains; None if there is none or it cannot be read."""
        try:
            return self.session_in(path)
        except StoreError:
            return None

    @property
    def draft_path(self) -> str:
        """The path of the temporary file, which only the holder of the folder's lock uses."""
        return os.path.join(self.path, durable.DRAFT_FILE)

    def write(self, session: str, history: History | None, draft: Draft, mtime: int | None = None) -> None:
        """Write a draft to disk. Without `mtime`, the file keeps its modification time."""
        if history is None:
            first = format_line(header(session, working_folder(session), draft.begun))
            self.create(session, draft.begun, first + draft.text, mtime)
        elif draft.text:
            path, written = history.outline.path, history.outline.written
            if history.outline.version < VERSION:
                upgrade_file(path, self.draft_path)
            durable.append(path, draft.text, written if mtime is None else mtime)

    def create(self, session: str, at: int, content: bytes, mtime: int | None) -> None:
        """Create a file for a session, under the first unused name; `at` is the time of its first event."""
        for path in self.new_paths(session, at):
            try:
                durable.create(path, content, self.draft_path, mtime)
            except FileExistsError:
                continue
            return

    def new_paths(self, session: str, at: int) -> Iterator[str]:
        """Return names for a new file of a session: the name that pi gives it, then the same with a number."""
        first = os.path.join(self.path, file_name(file_safe(session), format_timestamp(at)))
        yield first
        for number in count(2):
            yield f"{first.removesuffix(ENDING)}-{number}{ENDING}"


def file_safe(session: str) -> str:
    """Return a session's name as part of a file name: unchanged if possible, else its readable part and a digest."""
    if len(session) <= _MAX_ID_CHARACTERS and _VALID_ID.fullmatch(session):
        return session
    digest = f"{crc32(session.encode('utf-8', 'surrogatepass')):08x}"
    readable = _NOT_ALPHANUMERIC.sub("-", session).strip("-")[:_READABLE_CHARACTERS].strip("-")
    return f"{readable}-{digest}" if readable else digest


def has_session_file_name(path: str) -> bool:
    """Return whether a file is named like a session file."""
    return _STAMP.match(os.path.basename(path)) is not None


def is_named_for(path: str, session: str) -> bool:
    """Return whether a file is named for this session."""
    name = os.path.basename(path)
    stamp = _STAMP.match(name)
    return stamp is not None and name[stamp.end() :] == file_safe(session) + ENDING


def working_folder(session: str) -> str:
    """Return the working folder for the header; pi displays it."""
    if os.path.isabs(session):
        return session
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _session_of(path: str) -> str:
    """Return the session that a file's header names; unparsable lines before it are skipped, as in pi."""
    first, remaining = None, _MAX_HEADER_BYTES
    with open(path, "rb") as file:
        while first is None and (line := file.readline(remaining)):
            first, remaining = parse_line(line), remaining - len(line)
    return str(checked_header(path, first)["id"])


def _mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0
