"""The conversations of a project: started, found again and forked, each in a file of pi's format or in memory."""

from __future__ import annotations

import os
from collections.abc import Callable

from tildone.errors import NotFound, Refused
from tildone.host.entries import Entry, MessageEntry
from tildone.host.messages import UserMessage, text_of
from tildone.host.transcript import Transcript
from tildone.host.wire import JsonObject
from tildone.stores.pi.session_file import SessionFile, file_name, header, load, newest_file


class Conversations:
    """Opens transcripts in a folder; without one they are kept in memory only."""

    def __init__(
        self, folder: str | None, cwd: str, *, now: Callable[[], int], new_conversation_id: Callable[[], str]
    ) -> None:
        self.folder = folder
        self.cwd = cwd
        self._now = now
        self._new_conversation_id = new_conversation_id

    def new(self, parent: str | None = None) -> Transcript:
        """An empty conversation."""
        first = header(self._new_conversation_id(), self.cwd, self._now(), parent)
        return self._opened(first, [], self._path(first))

    def latest(self) -> Transcript | None:
        """The conversation that was written to last."""
        path = newest_file(self.folder) if self.folder else None
        return self.load(path) if path else None

    def load(self, path: str) -> Transcript:
        """The conversation in a file. What is added to it is written to the same file."""
        first, records = load(path)
        return self._opened(first, records, path, exists=True)

    def find(self, name: str) -> Transcript:
        """The conversation in the file of that path, or whose id contains that text.

        Raises:
            NotFound: there is none, or more than one.
        """
        if os.path.exists(name):
            return self.load(name)
        inside = os.listdir(self.folder) if self.folder and os.path.isdir(self.folder) else []
        found = [one for one in inside if one.endswith(".jsonl") and name and name in one]
        if not found:
            raise NotFound(f"there is no conversation {name!r}")
        if len(found) > 1:
            raise NotFound(f"{name!r} matches {len(found)} conversations; give more of the id")
        return self.load(os.path.join(self.folder or "", found[0]))

    def fork(self, source: Transcript, entry_id: str) -> tuple[Transcript, str]:
        """A new conversation that branches off before a message of the person, and the text of that message.

        Raises:
            Refused: the entry is not a message of the person.
        """
        entry = source.entry(entry_id)
        if not isinstance(entry.body, MessageEntry) or not isinstance(entry.body.message, UserMessage):
            raise Refused(f"{entry_id} is not a message of yours: only those can be forked from")
        made = self.new(source.file)
        made.adopt(_before(source, entry))
        return made, text_of(entry.body.message)

    def _path(self, first: JsonObject) -> str | None:
        return os.path.join(self.folder, file_name(first["id"], first["timestamp"])) if self.folder else None

    def _opened(
        self, first: JsonObject, records: list[JsonObject], path: str | None, *, exists: bool = False
    ) -> Transcript:
        file = SessionFile(path, first, exists=exists) if path else None
        write = file.write if file else None
        return Transcript(first, records, now=self._now, new_id=_entry_id, write=write, file=path)


def _before(source: Transcript, entry: Entry) -> list[Entry]:
    """The path to an entry, without it."""
    leaf = source.leaf
    source.move(entry.parent_id)
    path = source.branch()
    source.move(leaf)
    return path


def _entry_id() -> str:
    """Eight hexadecimal digits, as pi's entries have."""
    return os.urandom(4).hex()
