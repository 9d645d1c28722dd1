"""Session files in pi's format: one JSON object a line, a header first; version 3, older ones raised on reading."""

import json
import os
from typing import Any

from tildone.errors import NotFound, StoreDamaged, StoreError, StoreTooNew

VERSION = 3
Entry = dict[str, Any]


class SessionFile:
    """A file that entries are added to, line by line. It is made when the first of them is written."""

    def __init__(self, path: str, header: Entry, *, exists: bool = False) -> None:
        self.path = path
        self._header = header
        self._exists = exists

    def write(self, entry: Entry) -> None:
        """Add an entry; it is in the file when this returns.

        Raises:
            StoreError: the file cannot be written.
        """
        lines = [entry] if self._exists else [self._header, entry]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        try:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            with open(self.path, "a", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}") from error
        self._exists = True


def file_name(session_id: str, timestamp: str) -> str:
    """The name that pi would give the file."""
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


def load(path: str) -> tuple[Entry, list[Entry]]:
    """The header and the entries of a session file; a last line that was cut off while being written is left out.

    Raises:
        NotFound: there is no such file.
        StoreDamaged: it is not a session file.
        StoreTooNew: a newer pi wrote it.
    """
    try:
        with open(path, encoding="utf-8", newline="\n", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        raise NotFound(f"no session file {path}") from None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    records = _records(path, lines)
    if not records or records[0].get("type") != "session":
        raise StoreDamaged(f"{path} is not a session file: its first line is no session header")
    header, entries = records[0], records[1:]
    version = header.get("version", 1)
    if version > VERSION:
        raise StoreTooNew(f"{path} has format version {version}; this tildone reads up to {VERSION}")
    return {**header, "version": VERSION}, _raised(entries, version)


def newest(folder: str) -> str | None:
    """The session file in a folder that was written to last."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".jsonl")]
    except FileNotFoundError:
        return None
    paths = [os.path.join(folder, name) for name in names]
    return max(paths, key=os.path.getmtime, default=None)


def _records(path: str, lines: list[str]) -> list[Entry]:
    found: list[Entry] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break
            raise StoreDamaged(f"{path}, line {number}: not JSON: {error}") from error
        if isinstance(record, dict) and "type" in record:
            found.append(record)
    return found


def _raised(entries: list[Entry], version: int) -> list[Entry]:
    """Entries of an older version as version 3 has them: linked to one another, `hookMessage` called `custom`."""
    linked: list[Entry] = []
    for number, entry in enumerate(entries):
        if "id" not in entry:
            parent = linked[-1]["id"] if linked else None
            entry = {**entry, "id": f"{number:08x}", "parentId": parent}  # noqa: PLW2901  the raised form of the same
        message = entry.get("message")
        if version < VERSION and isinstance(message, dict) and message.get("role") == "hookMessage":
            entry = {**entry, "message": {**message, "role": "custom"}}  # noqa: PLW2901  the raised form of the same
        linked.append(entry)
    return linked
