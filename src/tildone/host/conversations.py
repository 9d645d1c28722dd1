"""The conversations of a project: begun, found again, and forked; each in a file of pi's format, or in memory."""

from __future__ import annotations

import os
from collections.abc import Callable

from tildone.errors import NotFound, Refused
from tildone.host import messages
from tildone.host.transcript import Entry, Transcript, header
from tildone.stores.pi.session_file import SessionFile, file_name, load, newest_file


class Conversations:
    """Makes transcripts. Without a folder they are kept in memory only."""

    def __init__(
        self, folder: str | None, cwd: str, *, now: Callable[[], int], new_session_id: Callable[[], str]
    ) -> None:
        self.folder = folder
        self.cwd = cwd
        self._now = now
        self._new_session_id = new_session_id

    def new(self, parent: str | None = None) -> Transcript:
        """An empty conversation."""
        first = header(self._new_session_id(), self.cwd, self._now(), parent)
        return self._opened(first, [], self._path(first))

    def latest(self) -> Transcript | None:
        """The conversation that was written to last."""
        path = newest_file(self.folder) if self.folder else None
        return self.load(path) if path else None

    def load(self, path: str) -> Transcript:
        """The conversation in a file, to be gone on with in that file."""
        first, entries = load(path)
        return self._opened(first, entries, path, exists=True)

    def find(self, name: str) -> Transcript:
        """The conversation in the file of that path, or of that id in the folder.

        Raises:
            NotFound: there is neither.
        """
        if os.path.exists(name):
            return self.load(name)
        inside = os.listdir(self.folder) if self.folder and os.path.isdir(self.folder) else []
        found = [one for one in inside if one.endswith(".jsonl") and name and name in one]
        if len(found) != 1:
            raise NotFound(f"no session {name!r}" if not found else f"{name!r} means several sessions: say more of it")
        return self.load(os.path.join(self.folder or "", found[0]))

    def fork(self, source: Transcript, entry_id: str) -> tuple[Transcript, str]:
        """A new conversation that goes another way from before a person's message; and that message's text.

        Raises:
            Refused: the entry is not a person's message.
        """
        entry = source.entry(entry_id)
        if entry["type"] != "message" or entry["message"].get("role") != "user":
            raise Refused(f"{entry_id} is not a message of yours: only those can be forked from")
        made = self.new(source.file)
        made.adopt(_before(source, entry))
        return made, messages.text_of(entry["message"])

    def _path(self, first: Entry) -> str | None:
        return os.path.join(self.folder, file_name(first["id"], first["timestamp"])) if self.folder else None

    def _opened(self, first: Entry, entries: list[Entry], path: str | None, *, exists: bool = False) -> Transcript:
        file = SessionFile(path, first, exists=exists) if path else None
        write = file.write if file else None
        return Transcript(first, entries, now=self._now, new_id=_entry_id, write=write, file=path)


def _before(source: Transcript, entry: Entry) -> list[Entry]:
    """The way to an entry, without it."""
    leaf = source.leaf
    source.move(entry["parentId"])
    way = source.branch()
    source.move(leaf)
    return way


def _entry_id() -> str:
    """Eight hexadecimal digits, as pi's entries have."""
    return os.urandom(4).hex()
