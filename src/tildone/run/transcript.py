"""A conversation: a tree of entries with a leaf, in memory and in a file.

Theory of operation. Entries are only ever appended. Each names its parent; a new entry becomes a child of the *leaf*
and then the leaf itself, so the conversation is the path from the root to the leaf, and moving the leaf starts a branch
without losing the other. An entry is written before it is added in memory: if the write fails, later entries attach to
the last one that is in the file, and the path to the root stays complete.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from tildone.base import NotFound, Refused, UnknownEvent, replace
from tildone.run import events
from tildone.run.codec import decode_blocks, decode_entry, new_entry
from tildone.run.events import Entry, EntryBody
from tildone.run.messages import (
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    JsonObject,
    JsonValue,
    Message,
    ToolResultMessage,
    UnknownMessage,
    UserMessage,
    text_of,
)
from tildone.stores.pi.session_file import SessionFile, file_name, header, id_in_file_name, load, newest_files


class Transcript:
    """The entries of one conversation below its header."""

    def __init__(
        self,
        header: JsonObject,
        records: Iterable[JsonObject] = (),
        *,
        now: Callable[[], int],
        new_id: Callable[[], str],
        write: Callable[[JsonObject], None] | None = None,
        file: str | None = None,
    ) -> None:
        self.header = header
        self.file = file
        self._now = now
        self._new_id = new_id
        self._write = write
        self._entries: dict[str, Entry] = {}
        self.leaf: str | None = None
        for record in records:
            self._add(decode_entry(record))

    @property
    def id(self) -> str:
        return str(self.header["id"])

    @property
    def parent_id(self) -> str | None:
        """The id of the conversation that this one was forked from, if its file is known."""
        parent = self.header.get("parentSession")
        return id_in_file_name(parent) if isinstance(parent, str) else None

    @property
    def name(self) -> str | None:
        bodies = [entry.body for entry in self._entries.values()]
        names = [body.name for body in bodies if isinstance(body, events.ConversationInfoEntry)]
        return names[-1].strip() or None if names else None

    @property
    def entries(self) -> list[Entry]:
        """Every entry of every branch, in the order they were written."""
        return list(self._entries.values())

    def append(self, body: EntryBody) -> Entry:
        while (entry_id := self._new_id()) in self._entries:
            pass
        entry = new_entry(entry_id, self.leaf, self._now(), body)
        self.adopt([entry])
        return entry

    def adopt(self, entries: Iterable[Entry]) -> None:
        """Append and write entries with ids and parents unchanged; one that cannot be written is not added."""
        for entry in entries:
            if self._write is not None:
                self._write(entry.record)
            self._add(entry)

    def entry(self, entry_id: str) -> Entry:
        """Return the entry with this id."""
        if entry_id not in self._entries:
            raise UnknownEvent(entry_id)
        return self._entries[entry_id]

    def move(self, entry_id: str | None) -> None:
        """Make another entry the leaf; None makes the conversation empty."""
        self.leaf = None if entry_id is None else self.entry(entry_id).id

    def branch(self) -> list[Entry]:
        """Return the path from the root to the leaf, oldest first."""
        path: list[Entry] = []
        at = self.leaf
        while at is not None and at in self._entries:
            path.append(self._entries[at])
            at = self._entries[at].parent_id
        return path[::-1]

    def messages(self) -> list[Message]:
        """Return the messages of this branch, with compaction and context edits applied."""
        path = self.branch()
        edits = {entry.body.target_id: entry.body for entry in path if isinstance(entry.body, events.ContextEditEntry)}
        found = []
        for entry in _since_compaction(path):
            message = _message(entry)
            if message is not None and entry.id in edits:
                message = _edited(message, edits[entry.id].replacement)
            if message is not None:
                found.append(message)
        return found

    def tool_results(self) -> list[ToolResultMessage]:
        """Return the results of tools on this branch, oldest first; those before a compaction, too."""
        bodies = [entry.body for entry in self.branch()]
        messages = [body.message for body in bodies if isinstance(body, events.MessageEntry)]
        return [message for message in messages if isinstance(message, ToolResultMessage)]

    def _add(self, entry: Entry) -> None:
        self._entries[entry.id] = entry
        self.leaf = entry.id


def _since_compaction(path: Sequence[Entry]) -> list[Entry]:
    """Return the newest compaction, the entries that it kept, and the entries after it."""
    last = next((i for i in reversed(range(len(path))) if isinstance(path[i].body, events.CompactionEntry)), None)
    if last is None:
        return list(path)
    compaction = path[last].body
    kept_from = compaction.first_kept_id if isinstance(compaction, events.CompactionEntry) else None
    first = next((i for i in range(last) if path[i].id == kept_from), last)
    kept = [entry for entry in path[first:last] if not isinstance(entry.body, events.CompactionEntry)]
    return [path[last], *kept, *path[last + 1 :]]


def _message(entry: Entry) -> Message | None:
    body = entry.body
    match body:
        case events.MessageEntry(message):
            return None if (isinstance(message, UnknownMessage) and message.record.get("role") == "system") else message
        case events.CustomMessageEntry(message):
            return replace(message, timestamp=entry.timestamp, extra={})
        case events.CompactionEntry(summary, _, tokens_before):
            return CompactionSummaryMessage(summary, tokens_before, entry.timestamp)
        case events.BranchSummaryEntry(summary, from_id):
            return BranchSummaryMessage(summary, from_id, entry.timestamp) if summary else None
        case _:
            return None


def _edited(message: Message, replacement: JsonValue) -> Message | None:
    """Return a message after a context edit; None if the edit hides it. A malformed edit changes nothing."""
    if replacement is None:
        return None
    if not isinstance(replacement, dict) or "content" not in replacement:
        return message
    content = replacement["content"]
    match message:
        case AssistantMessage() | ToolResultMessage():
            return replace(message, content=decode_blocks(content))
        case UserMessage() | CustomMessage():
            return replace(message, content=content if isinstance(content, str) else decode_blocks(content))
        case _:
            return message


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
        yield from map(self.load, newest_files(self.folder) if self.folder else ())

    def is_latest(self, transcript: Transcript) -> bool:
        newest = newest_files(self.folder) if self.folder else []
        return bool(newest) and newest[0] == transcript.file

    def load(self, path: str) -> Transcript:
        """Return the conversation in a file. New entries are appended to that file."""
        first, records = load(path)
        return self._opened(first, records, path, exists=True)

    def find(self, name: str) -> Transcript:
        """Return the conversation in the file at the path `name`, or the one whose id contains `name`."""
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
        """Return a new conversation that branches off before a message of the person, and the text of that message."""
        entry = source.entry(entry_id)
        if not isinstance(entry.body, events.MessageEntry) or not isinstance(entry.body.message, UserMessage):
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
