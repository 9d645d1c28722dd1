"""The conversation of a session, as pi keeps it: a tree of entries, a moving leaf, format version 3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tildone.errors import UnknownEvent
from tildone.host.messages import Message, blocks
from tildone.stores.pi import session_file
from tildone.stores.pi.session_file import parse_timestamp

Entry = dict[str, Any]
header, iso = session_file.header, session_file.format_timestamp
SPOKEN = ("user", "assistant", "toolResult")
"""The roles whose messages have content; a file may have lost it."""


class Transcript:
    """Entries under a header. What is appended hangs under the leaf and becomes the leaf."""

    def __init__(
        self,
        header: Entry,
        entries: Iterable[Entry] = (),
        *,
        now: Callable[[], int],
        new_id: Callable[[], str],
        write: Callable[[Entry], None] | None = None,
        file: str | None = None,
    ) -> None:
        self.header = header
        self.file = file
        self._now = now
        self._new_id = new_id
        self._write = write
        self._entries: dict[str, Entry] = {}
        self.leaf: str | None = None
        for entry in entries:
            self._take(entry)

    @property
    def id(self) -> str:
        """The session's own id."""
        return str(self.header["id"])

    @property
    def name(self) -> str | None:
        """What a person called the session, if anything."""
        named = [entry.get("name") for entry in self._entries.values() if entry["type"] == "session_info"]
        return (named[-1] or "").strip() or None if named else None

    @property
    def entries(self) -> list[Entry]:
        """Every entry of every branch, in the order they were written."""
        return list(self._entries.values())

    def append(self, kind: str, **fields: Any) -> Entry:
        """Hang an entry under the leaf, and write it down."""
        while (entry_id := self._new_id()) in self._entries:
            pass
        entry: Entry = {
            "type": kind,
            "id": entry_id,
            "parentId": self.leaf,
            "timestamp": iso(self._now()),
            **fields,
        }
        self.adopt([entry])
        return entry

    def adopt(self, entries: Iterable[Entry]) -> None:
        """Take over entries of another conversation as they are, and write them down here.

        One that can't be written is not taken over: what came after it would hang under nothing.
        """
        for entry in entries:
            if self._write is not None:
                self._write(entry)
            self._take(entry)

    def entry(self, entry_id: str) -> Entry:
        """The entry of that id.

        Raises:
            UnknownEvent: there is none.
        """
        if entry_id not in self._entries:
            raise UnknownEvent(entry_id)
        return self._entries[entry_id]

    def move(self, entry_id: str | None) -> None:
        """Make another entry the leaf; None begins again from an empty conversation."""
        self.leaf = None if entry_id is None else self.entry(entry_id)["id"]

    def branch(self) -> list[Entry]:
        """The way from the root to the leaf, oldest first."""
        way: list[Entry] = []
        at = self.leaf
        while at is not None and at in self._entries:
            way.append(self._entries[at])
            at = self._entries[at].get("parentId")
        return way[::-1]

    def messages(self) -> list[Message]:
        """The conversation on this branch, a compaction and edits of the context taken into account."""
        way = self.branch()
        edits = {entry["targetId"]: entry.get("replacement") for entry in way if entry["type"] == "context_edit"}
        found = []
        for entry in _since_compaction(way):
            message = _message(entry)
            if message is not None and entry["id"] in edits:
                message = _edited(message, edits[entry["id"]])
            if message is not None:
                found.append(message)
        return found

    def _take(self, entry: Entry) -> None:
        self._entries[entry["id"]] = entry
        self.leaf = entry["id"]


def _since_compaction(way: Sequence[Entry]) -> list[Entry]:
    """What is still told in full: the newest compaction, what it kept, and what came after it."""
    last = next((i for i in reversed(range(len(way))) if way[i]["type"] == "compaction"), None)
    if last is None:
        return list(way)
    kept_from = way[last].get("firstKeptEntryId")
    first = next((i for i in range(last) if way[i]["id"] == kept_from), last)
    kept = [entry for entry in way[first:last] if entry["type"] != "compaction"]
    return [way[last], *kept, *way[last + 1 :]]


def _message(entry: Entry) -> Message | None:
    match entry["type"]:
        case "message" if entry["message"].get("role") != "system":
            message: Message = entry["message"]
            empty = message.get("role") in SPOKEN and message.get("content") is None
            return {**message, "content": []} if empty else message
        case "custom_message":
            told = ("customType", "content", "display", "details")
            shown: Message = {key: entry[key] for key in told if key in entry}
            return {"role": "custom", **shown, **_at(entry)}
        case "compaction":
            told_of = {"summary": entry["summary"], "tokensBefore": entry.get("tokensBefore")}
            return {"role": "compactionSummary", **told_of, **_at(entry)}
        case "branch_summary" if entry.get("summary"):
            return {"role": "branchSummary", "summary": entry["summary"], "fromId": entry.get("fromId"), **_at(entry)}
        case _:
            return None


def _edited(message: Message, replacement: Any) -> Message | None:
    """A message as an edit of the context has it; None where that hides it."""
    match replacement:
        case None:
            return None
        case {"content": content} if message["role"] in (*SPOKEN, "custom"):
            listed = message["role"] in ("assistant", "toolResult")
            return {**message, "content": blocks(content) if listed else content}
        case _:
            return message


def _at(entry: Entry) -> dict[str, int]:
    """When an entry was written, as a message tells it; nothing where the entry does not."""
    at = parse_timestamp(entry.get("timestamp"))
    return {} if at is None else {"timestamp": at}
