"""`tildone import --watch`: import a file again whenever another program has changed it.

The file is polled, since the coding agents that write such files replace them, rewrite them in place, or write several
in a row. A half-written file must not be imported, so it is read only after two polls have found it unchanged, and what
was read counts only if the file is still unchanged after the read. A file that changes constantly is read after
`MAX_UNSTABLE_POLLS` all the same. Time stamps may be too coarse to tell two quick writes apart, so a file that was
fresh when it was read is read once more later.
"""

from __future__ import annotations

import os
import sys
import time

from tildone.app.importing import STREAM, Imported, import_history, import_plan, read_file
from tildone.app.opening import dialect_of_session, open_session, open_store, session_title
from tildone.cli import INTERRUPTED
from tildone.cli.opening import settings_for
from tildone.cli.output.data import put_data
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.transfer.import_files import amount, as_data, warn_of_losses
from tildone.errors import NotFound, Refused, TildoneError, UsageError
from tildone.formats.detection import HistoryFile
from tildone.history.changes import changes
from tildone.history.sentences import change_sentences
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from typing import NoReturn

    from tildone.formats.detection import ImportFile

    Fingerprint = tuple[tuple[str, int, int, int], ...]

POLL_SECONDS = 0.2

MAX_UNSTABLE_POLLS = 10

TIMESTAMP_NANOSECONDS = 2_000_000_000
"""The coarsest resolution of time stamps in file systems in use (FAT)."""


def watch(args: ParsedArgs, format_: str | None) -> int:
    """Import the file now and whenever it has changed, until Ctrl-C.

    Raises:
        UsageError: the arguments do not name one file or folder.
        NotFound: the file does not exist.
    """
    if len(args.positional) != 1 or args.positional[0] == STREAM:
        raise UsageError("--watch requires one file or one folder")
    if args.has("dry-run"):
        raise UsageError("--watch and --dry-run exclude each other")
    path = args.positional[0]
    if _fingerprint(path) is None:
        raise NotFound(f"could not read {path}: no such file")
    follower = Follower(args, path, format_)
    try:
        follower.follow()
    except KeyboardInterrupt:
        follower.say(f"Stopped watching {printable(path)}.")
        return INTERRUPTED


class FilePoll:
    """When a file is to be read: at first, and after it has changed and become stable."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._current = _fingerprint(path)
        self._read: Fingerprint | None = None
        self._was_read = self._was_fresh = False
        self._unstable_polls = 0

    def due(self) -> bool:
        """Poll the file; whether to read it now."""
        polled = _fingerprint(self._path)
        self._unstable_polls = 0 if polled == self._current else self._unstable_polls + 1
        self._current = polled
        if 0 < self._unstable_polls < MAX_UNSTABLE_POLLS:
            return False
        return not self._was_read or polled != self._read or (self._was_fresh and not _is_fresh(polled))

    def stable(self) -> bool:
        """Whether the file is unchanged since it was due, so that what was read of it is complete."""
        return self._unstable_polls > 0 or _fingerprint(self._path) == self._current

    def done(self) -> None:
        """Record that the file was read in the state in which it was due."""
        self._read, self._was_read, self._was_fresh = self._current, True, _is_fresh(self._current)
        self._unstable_polls = 0


class Follower:
    """Imports one file into the store again and again."""

    def __init__(self, args: ParsedArgs, path: str, format_: str | None) -> None:
        self._args = args
        self._path = path
        self._format = format_
        self._settings = settings_for(args)
        self._store = open_store(self._settings)
        self._poll = FilePoll(path)
        self._last: ImportFile | None = None
        self._trouble = ""

    def follow(self) -> NoReturn:
        """Poll the file without end."""
        self.say(f"Watching {printable(self._path)}. Press Ctrl-C to stop.")
        while True:
            self.poll()
            time.sleep(POLL_SECONDS)

    def poll(self) -> None:
        """Poll the file once, and import it if it is due."""
        if self._poll.due():
            self._read()

    def say(self, text: str) -> None:
        """Print a message at once; on standard error if standard output is for JSON."""
        print(text, file=sys.stderr if self._args.has("json") else sys.stdout, flush=True)

    def _read(self) -> None:
        """Read the file. One that cannot be read may be about to be written: wait for its next change."""
        try:
            file = read_file(self._path, self._format)
        except TildoneError as error:
            if isinstance(error, UsageError):
                raise
            self._poll.done()
            self._warn(f"{self._path} does not exist" if isinstance(error, NotFound) else str(error))
            return
        if self._poll.stable():
            self._poll.done()
            self._import(file)

    def _import(self, file: ImportFile) -> None:
        """Import the file unless its content is what was imported last."""
        self._format = file.format
        last = self._last
        if last is None or _content(file) != _content(last):
            try:
                done = self._imported(file)
            except Refused as error:
                self._warn(str(error))
                return
            self._report(done, first=last is None)
        self._last, self._trouble = file, ""
        if (last is None or last.warnings != file.warnings) and not self._args.has("json"):
            warn_of_losses(file, verbose=self._args.has("verbose"))

    def _imported(self, file: ImportFile) -> Imported:
        if isinstance(file, HistoryFile):
            return import_history(file, lambda: self._store, self._args.options.get("session", ""))
        dialect = dialect_of_session(self._settings, self._store)
        return import_plan(open_session(self._settings, dialect, self._store), file, force=self._args.has("force"))

    def _report(self, done: Imported, *, first: bool) -> None:
        """Print one line for each import that changed something."""
        if self._args.has("json"):
            put_data(**as_data(self._args, done))
            sys.stdout.flush()
        elif first:
            session = printable(session_title(done.session))
            self.say(f"Imported {printable(self._path)}: {amount(done)}, into {session}")
        elif done.new or done.before != done.after:
            what = change_sentences(changes(done.before, done.after)) or [amount(done)]
            self.say(f"{time.strftime('%H:%M:%S')}  {'; '.join(what)}")

    def _warn(self, trouble: str) -> None:
        """Print why the file cannot be imported now, unless that was printed last."""
        if trouble != self._trouble:
            self._trouble = trouble
            sys.stdout.flush()
            print(f"tildone: {printable(trouble)}; waiting for its next change", file=sys.stderr, flush=True)


def _fingerprint(path: str) -> Fingerprint | None:
    """The time stamps and sizes of a file, or of each file in a folder; None if it does not exist."""
    try:
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.endswith(".json"))
            return tuple(_stat(os.path.join(path, name)) for name in names)
        return (_stat(path),)
    except OSError:
        return None


def _stat(path: str) -> tuple[str, int, int, int]:
    found = os.stat(path)
    return path, found.st_mtime_ns, found.st_size, found.st_ino


def _is_fresh(fingerprint: Fingerprint | None) -> bool:
    """Whether a further change could leave the time stamps as they are."""
    now = time.time_ns()
    return any(now - changed < TIMESTAMP_NANOSECONDS for _, changed, _, _ in fingerprint or ())


def _content(file: ImportFile) -> object:
    return (file.events, file.session_head) if isinstance(file, HistoryFile) else file.plan
