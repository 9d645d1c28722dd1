"""A folder of session files: finding, naming and writing them, and what is read from them, cached.

What readers have seen of a session is in a small file of its own beside it.
"""

import os
import re
from binascii import crc32
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, count
from threading import Condition
from typing import TypeVar

from tildone.base import HeadMoved, StoreError, durable
from tildone.base.durable import FolderLock, store_error
from tildone.base.files import remove_if_there, replace_file
from tildone.base.private import PRIVATE_FILE
from tildone.log.kept import with_seen
from tildone.plan import codec
from tildone.plan.events import Event, SessionInfo
from tildone.stores.pi import session_file
from tildone.stores.pi.entries import PlanInEntry
from tildone.stores.pi.history import Draft, History
from tildone.stores.pi.outline import FileReplaced

T = TypeVar("T")


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

        Raises StoreDamaged if a file with the session's name has no header, StoreError if the folder, or a file with
        the session's name, cannot be read.
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

        Raises StoreDamaged if it has no header, StoreError if it cannot be read.
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
            content = (
                session_file.format_line(session_file.header(session, working_folder(session), draft.begun))
                + draft.text
            )
            # The name that pi gives the file or, if it is used, the same with a number.
            first = os.path.join(
                self.path, session_file.file_name(file_safe(session), session_file.format_timestamp(draft.begun))
            )
            for path in chain([first], (f"{first.removesuffix(ENDING)}-{number}{ENDING}" for number in count(2))):
                try:
                    durable.create(path, content, self.draft_path, mtime)
                except FileExistsError:
                    continue
                return
        elif draft.text:
            path, written = history.outline.path, history.outline.written
            if history.outline.version < session_file.VERSION:
                session_file.upgrade_file(path, self.draft_path)
            durable.append(path, draft.text, written if mtime is None else mtime)


def file_safe(session: str) -> str:
    """Return a session's name as part of a file name: unchanged if possible, else its readable part and a digest."""
    if len(session) <= _MAX_ID_CHARACTERS and _VALID_ID.fullmatch(session):
        return session
    digest = f"{crc32(session.encode('utf-8', 'surrogatepass')):08x}"
    readable = _NOT_ALPHANUMERIC.sub("-", session).strip("-")[:_READABLE_CHARACTERS].strip("-")
    return f"{readable}-{digest}" if readable else digest


def has_session_file_name(path: str) -> bool:
    return _STAMP.match(os.path.basename(path)) is not None


def is_named_for(path: str, session: str) -> bool:
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
            first, remaining = session_file.parse_line(line), remaining - len(line)
    return str(session_file.checked_header(path, first)["id"])


def _mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def read_lines(folder: str, name: str) -> list[str]:
    """Return the lines of a file; none if there is no such file, or if it cannot be read."""
    try:
        with open(os.path.join(folder, name), encoding="ascii") as file:
            return file.read().splitlines()
    except (OSError, ValueError):
        return []


def write_lines(folder: str, name: str, lines: Iterable[str]) -> None:
    """Replace a file. The caller holds the folder's lock. Raises StoreError if it cannot be written."""
    path = os.path.join(folder, name)
    try:
        replace_file(path, "".join(f"{line}\n" for line in lines).encode(), mode=PRIVATE_FILE, durable=False)
    except OSError as error:
        raise store_error(path, error) from error


def seen_name(session: str) -> str:
    return f".{file_safe(session)}.seen"


def read_seen(folder: str, session: str) -> dict[str, str]:
    """Return the heads that readers have seen, by reader; empty if there is no file or it is of another session."""
    try:
        record = codec.parse_strictly("\n".join(read_lines(folder, seen_name(session))))
        is_own = record["session"] == session
        return {str(reader): str(head) for reader, head in record["seen"].items()} if is_own else {}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def write_seen(folder: str, session: str, reader: str, head: str | None) -> None:
    """Record, under the folder's lock, the head that a reader has seen; None removes it. Raises StoreError."""
    heads = read_seen(folder, session)
    if heads.get(reader) != head:
        record = {"session": session, "seen": with_seen(heads, reader, head)}
        write_lines(folder, seen_name(session), [codec.dump(record)])


def remove_seen(folder: str, session: str) -> None:
    """Remove the file of a session that is deleted. Raises StoreError if the file cannot be removed."""
    path = os.path.join(folder, seen_name(session))
    try:
        remove_if_there(path)
    except OSError as error:
        raise store_error(path, error) from error


_MAX_CACHED_FILES = 32
_MAX_READ_ATTEMPTS = 5
MAX_BATCH_EVENTS = 64


class Histories:
    """Up-to-date histories by session, and changes of their files. The most recently used ones are cached.

    `changed` is notified of each change of this process. Whoever calls `use` holds it.
    """

    def __init__(self, folder: Folder, recover: PlanInEntry, timeout: float, clock: Callable[[], int]) -> None:
        self.folder = folder
        self.clock = clock
        self.changed = Condition()
        self._recover = recover
        self._timeout = timeout
        self._cache: dict[str, History] = {}

    def lock(self) -> FolderLock:
        """Return the lock of the folder, which others may hold for as long as the timeout."""
        return FolderLock(self.folder.path, self._timeout)

    def read(self, session: str, ask: Callable[[History], T]) -> T | None:
        """Call `ask` with the history of the session; return None if it has no file."""
        with self.changed:
            return self.use(session, lambda history: None if history is None else ask(history))

    def events(self, session: str) -> Iterator[Event]:
        return self._in_order(session, self.read(session, History.names) or [])

    def change(self, session: str, work: Callable[[History | None, FolderLock], T]) -> T:
        """Run `work` on the session's file under the folder's lock, and wake waiters."""
        # The folder's lock comes first: other threads of this process can read while this one waits for it.
        with self.lock() as lock, self.changed:
            result = self.use(session, lambda history: work(history, lock))
            self.changed.notify_all()
        return result

    def append(self, session: str, event: Event, seen_by: str, check: Callable[[], None] = lambda: None) -> None:
        """Append an event unless `check`, which is called under the folder's lock, raises an error."""

        def add(history: History | None, lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != event.parent:
                raise HeadMoved(session)
            if draft.has(event.id):
                raise StoreError(f"{session!r} has an event {event.id!r} already")
            check()
            draft.add(event)
            self.folder.write(session, history, draft, lock.next_mtime(self.clock()))
            if seen_by:
                try:  # noqa: SIM105  contextlib is slow to import
                    write_seen(self.folder.path, session, seen_by, event.id)
                except StoreError:
                    # Harmless: the event is on disk.
                    pass

        self.change(session, add)

    def use(self, session: str, work: Callable[[History | None], T]) -> T:
        """Call `work` with the history of a session, None if it has no file; repeat it if the file is replaced.

        Raises StoreError if the file was replaced again and again.
        """
        for _ in range(_MAX_READ_ATTEMPTS):
            try:
                return work(self._history(session))
            except FileReplaced:
                self._cache.pop(session, None)
        what = f"the file of {session!r} was replaced repeatedly while it was read"
        raise StoreError(f"{self.folder.path}: {what}; try again")

    def clear(self) -> None:
        self._cache.clear()

    def _in_order(self, session: str, names: list[str]) -> Iterator[Event]:
        for start in range(0, len(names), MAX_BATCH_EVENTS):
            batch = names[start : start + MAX_BATCH_EVENTS]
            yield from self.read(session, partial(History.read_events, names=batch)) or []

    def _history(self, session: str) -> History | None:
        known = self._cache.pop(session, None)
        if known is None or not known.refresh() or known.session != session:
            path = self.folder.find(session)
            known = History(path, self._recover) if path else None
            if known is None or not known.refresh():
                return None
        self._cache[session] = known
        if len(self._cache) > _MAX_CACHED_FILES:
            del self._cache[next(iter(self._cache))]
        return known


class Listing:
    """A summary of each session in a folder. Files without events and unreadable files are skipped."""

    def __init__(self, folder: Folder, recover: PlanInEntry) -> None:
        self._folder = folder
        self._recover = recover
        self._known: dict[str, tuple[tuple[int, int, int], SessionInfo | None]] = {}
        self._problems: dict[str, str] = {}

    def infos(self) -> list[SessionInfo]:
        infos = [self._info(paths[0]) for paths in self._folder.files().values()]
        listed = [(written, info.updated, info) for written, info in infos if info is not None]
        return [info for *_, info in sorted(listed, key=lambda row: row[:2], reverse=True)]

    def info(self, session: str) -> SessionInfo | None:
        """Return one session; None if it does not exist or is skipped."""
        path = self._folder.find(session)
        return self._info(path)[1] if path else None

    def problems(self) -> list[str]:
        """Return why files are skipped. A file of another program, which is not named like a session, is none."""
        self.infos()
        found = dict(self._problems)
        for path in filter(has_session_file_name, self._folder.paths()):
            try:
                self._folder.session_in(path)
            except StoreError as error:
                found[path] = str(error)
        return [found[path] for path in sorted(found) if os.path.exists(path)]

    def _info(self, path: str) -> tuple[int, SessionInfo | None]:
        """Return the modification time of a file, and its session."""
        try:
            status = os.stat(path)
        except OSError:
            return 0, None
        fingerprint = status.st_ino, status.st_size, status.st_mtime_ns
        if self._known.get(path, (None, None))[0] != fingerprint:
            self._known[path] = fingerprint, self._read(path)
        return status.st_mtime_ns, self._known[path][1]

    def _read(self, path: str) -> SessionInfo | None:
        history = History(path, self._recover)
        self._problems.pop(path, None)
        try:
            if not history.refresh():
                return None
            events = history.positions()
            if not events:
                return None
            first, last = history.event(events[0]), history.event(events[-1])
            title = history.first_prompt()
        except FileReplaced:
            return None
        except StoreError as error:
            self._problems[path] = str(error)
            return None
        return SessionInfo(history.session, len(events), first.at, last.at, title)
