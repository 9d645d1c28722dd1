"""Starts, finds and forks the conversations of a project, each in a file of pi's format or in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from tildone.errors import NotFound, Refused
from tildone.host.entries import Entry, MessageEntry
from tildone.host.messages import UserMessage, text_of
from tildone.host.transcript import Transcript
from tildone.host.wire import JsonObject
from tildone.stores.pi.session_file import SessionFile, file_name, header, load, newest_files

SUBAGENTS = "subagents"
"""The folder of the conversations of subagents, below that of the others."""


class Conversations:
    """Opens transcripts in a folder, or in memory if there is no folder."""

    def __init__(
        self, folder: str | None, cwd: str, *, now: Callable[[], int], new_conversation_id: Callable[[], str]
    ) -> None:
        self.folder = folder
        self.cwd = cwd
        self._now = now
        self._new_conversation_id = new_conversation_id

    def new(self, parent: str | None = None) -> Transcript:
        """Return a new, empty conversation."""
        first = header(self._new_conversation_id(), self.cwd, self._now(), parent)
        return self._opened(first, [], self._path(first, self.folder))

    def new_of_subagent(self, parent: Transcript) -> Transcript:
        """Return a new conversation of a subagent, in another folder: it is never the latest, nor found by its id."""
        first = header(self._new_conversation_id(), self.cwd, self._now(), parent.file)
        folder = os.path.join(self.folder, SUBAGENTS) if self.folder else None
        return self._opened(first, [], self._path(first, folder))

    def latest(self) -> Transcript | None:
        """Return the conversation that was written to last."""
        return next(self.newest_first(), None)

    def newest_first(self) -> Iterator[Transcript]:
        """Yield the conversations, the one that was written to last first."""
        yield from map(self.load, newest_files(self.folder) if self.folder else ())

    def is_latest(self, transcript: Transcript) -> bool:
        """Return whether this is the conversation that was written to last."""
        newest = newest_files(self.folder) if self.folder else []
        return bool(newest) and newest[0] == transcript.file

    def load(self, path: str) -> Transcript:
        """Return the conversation in a file. New entries are appended to that file."""
        first, records = load(path)
        return self._opened(first, records, path, exists=True)

    def find(self, name: str) -> Transcript:
        """Return the conversation in the file at the path `name`, or the one whose id contains `name`.

        Raises:
            NotFound: no conversation matches, or several do.
        """
        if os.path.exists(name):
            return self.load(name)
        files = os.listdir(self.folder) if self.folder and os.path.isdir(self.folder) else []
        found = [file for file in files if file.endswith(".jsonl") and name and name in file]
        if not found:
            raise NotFound(f"there is no conversation {name!r}")
        if len(found) > 1:
            raise NotFound(f"{name!r} matches {len(found)} conversations; give more of the id")
        return self.load(os.path.join(self.folder or "", found[0]))

    def fork(self, source: Transcript, entry_id: str) -> tuple[Transcript, str]:
        """Return a new conversation that branches off before a message of the person, and the text of that message.

        Raises:
            Refused: the entry is not a message from the person.
        """
        entry = source.entry(entry_id)
        if not isinstance(entry.body, MessageEntry) or not isinstance(entry.body.message, UserMessage):
            raise Refused(f"{entry_id} is not a message of yours: only those can be forked from")
        made = self.new(source.file)
        made.adopt(_before(source, entry))
        return made, text_of(entry.body.message)

    def _path(self, first: JsonObject, folder: str | None) -> str | None:
        return os.path.join(folder, file_name(first["id"], first["timestamp"])) if folder else None

    def _opened(
        self, first: JsonObject, records: list[JsonObject], path: str | None, *, exists: bool = False
    ) -> Transcript:
        file = SessionFile(path, first, exists=exists) if path else None
        write = file.write if file else None
        return Transcript(first, records, now=self._now, new_id=_entry_id, write=write, file=path)


def _before(source: Transcript, entry: Entry) -> list[Entry]:
    """Return the path to an entry, without the entry itself."""
    leaf = source.leaf
    source.move(entry.parent_id)
    path = source.branch()
    source.move(leaf)
    return path


def _entry_id() -> str:
    """Return eight random hexadecimal digits, the form of pi's entry ids."""
    return os.urandom(4).hex()
