"""`tildone import --watch`: a file that somebody else writes is followed, change by change."""

from __future__ import annotations

import os
import sys
import time

from tildone.cli.opening import session_title, settings_for
from tildone.cli.parsing.args import ParsedArgs
from tildone.cli.transfer.importing import Imported, as_data, counted, replace_plan, said_of, take_over
from tildone.cli.transfer.reading import STREAM, FoundHistory, find
from tildone.errors import NotFound, Refused, TildoneError, UsageError
from tildone.history.changes import changes
from tildone.history.sentences import change_sentences
from tildone.log import codec
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable
from tildone.wiring import dialect_of_session, open_session, open_store

if TYPE_CHECKING:
    from typing import NoReturn

    from tildone.cli.transfer.reading import Found

    Look = tuple[tuple[str, int, int, int], ...]

PAUSE = 0.2
"""Seconds between two looks at the file. It is read when two looks show the same."""

RESTLESS = 10
"""After how many looks a file that changes all the time is read all the same."""

COARSE = 2_000_000_000
"""Nanoseconds within which a disk may not tell two changes apart, so that a file is read once more after them."""


def watch(args: ParsedArgs, form: str | None) -> int:
    """Import the file, and again whenever it has changed, until Ctrl-C.

    Raises:
        UsageError: there is nothing that could be followed.
        NotFound: there is no such file.
    """
    if len(args.positional) != 1 or args.positional[0] == STREAM:
        raise UsageError("--watch follows one file or one folder")
    if args.has("dry-run"):
        raise UsageError("--watch and --dry-run do not go together")
    path = args.positional[0]
    if _look(path) is None:
        raise NotFound(f"could not read {path}: there is no such file")
    follower = Follower(args, path, form)
    try:
        follower.follow()
    except KeyboardInterrupt:
        follower.say(f"Stopped following {printable(path)}.")
        raise


class Looks:
    """When a file is to be read: at first, and when it has changed and nobody seems to be writing to it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._now = _look(path)
        self._read: Look | None = None
        self._ever = self._unsure = False
        self._restless = 0

    def due(self) -> bool:
        """Look at the file; whether to read it."""
        look = _look(self._path)
        self._restless = 0 if look == self._now else self._restless + 1
        self._now = look
        if 0 < self._restless < RESTLESS:
            return False
        return not self._ever or look != self._read or (self._unsure and not _is_fresh(look))

    def held(self) -> bool:
        """Whether the file is still as it was when it was found due, so that what was read of it is whole."""
        return self._restless > 0 or _look(self._path) == self._now

    def done(self) -> None:
        """The file was read, as it looked when it was found due."""
        self._read, self._ever, self._unsure, self._restless = self._now, True, _is_fresh(self._now), 0


class Follower:
    """One file as it was last taken, and the store that it goes into."""

    def __init__(self, args: ParsedArgs, path: str, form: str | None) -> None:
        self._typed = args
        self._path = path
        self._form = form
        self._settings = settings_for(args)
        self._store = open_store(self._settings)
        self._looks = Looks(path)
        self._taken: Found | None = None
        self._trouble = ""

    def follow(self) -> NoReturn:
        """Look at the file again and again, without end."""
        self.say(f"Following {printable(self._path)}. Ctrl-C ends it.")
        while True:
            self.look()
            time.sleep(PAUSE)

    def look(self) -> None:
        """Look at the file once, and import it if it is time to."""
        if self._looks.due():
            self._read()

    def say(self, text: str) -> None:
        """Tell the person how it goes, at once; programs are told elsewhere than where they read results."""
        print(text, file=sys.stderr if self._typed.has("json") else sys.stdout, flush=True)

    def _read(self) -> None:
        """Read the file. One that cannot be read may be about to be written: the next change will show."""
        try:
            found = find(self._path, self._form)
        except TildoneError as error:
            if isinstance(error, UsageError):
                raise
            self._looks.done()
            gone = isinstance(error, NotFound)
            self._wait(f"{self._path} is gone" if gone else str(error))
            return
        if self._looks.held():
            self._looks.done()
            self._take(found)

    def _take(self, found: Found) -> None:
        """Import what was found, if it is not what was imported last."""
        self._form = found.form
        last = self._taken
        if last is None or _content(found) != _content(last):
            try:
                done = self._imported(found)
            except Refused as error:
                self._wait(str(error))
                return
            self._tell(done, first=last is None)
        self._taken, self._trouble = found, ""
        if last is None or last.said != found.said:
            self._say_of(found)

    def _imported(self, found: Found) -> Imported:
        if isinstance(found, FoundHistory):
            return take_over(self._typed, found, self._store)
        dialect = dialect_of_session(self._settings, self._store)
        return replace_plan(open_session(self._settings, dialect, self._store), found, self._typed)

    def _tell(self, done: Imported, *, first: bool) -> None:
        """One line a change."""
        if self._typed.has("json"):
            print(codec.dump(as_data(done)), flush=True)
        elif first:
            self.say(f"Imported {printable(self._path)} into {printable(session_title(done.session))}: {counted(done)}")
        elif done.new or done.before != done.after:
            what = change_sentences(changes(done.before, done.after)) or [counted(done)]
            self.say(f"{time.strftime('%H:%M:%S')}  {'; '.join(what)}")

    def _say_of(self, found: Found) -> None:
        """What has no place in a plan, whenever that is another than it was."""
        if not self._typed.has("json"):
            said_of(found, everything=self._typed.has("verbose"))

    def _wait(self, trouble: str) -> None:
        """Say once what is wrong with the file now."""
        if trouble != self._trouble:
            self._trouble = trouble
            sys.stdout.flush()
            print(f"tildone: {printable(trouble)}; waiting for its next change", file=sys.stderr, flush=True)


def _look(path: str) -> Look | None:
    """What a file, or each file in a folder, looks like from outside: it changes when they do. None if it is gone."""
    try:
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.endswith(".json"))
            return tuple(_outside(os.path.join(path, name)) for name in names)
        return (_outside(path),)
    except OSError:
        return None


def _outside(path: str) -> tuple[str, int, int, int]:
    found = os.stat(path)
    return path, found.st_mtime_ns, found.st_size, found.st_ino


def _is_fresh(look: Look | None) -> bool:
    """Whether a change could still follow that leaves everything but the content as it is."""
    now = time.time_ns()
    return any(now - changed < COARSE for _, changed, _, _ in look or ())


def _content(found: Found) -> object:
    return (found.events, found.session_head) if isinstance(found, FoundHistory) else found.plan
