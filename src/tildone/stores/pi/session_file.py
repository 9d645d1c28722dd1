"""Session files in pi's format, version 3.

A file is a sequence of lines, each a JSON object. The first is a header (`type: session`); every other is an entry with
`id`, `parentId` and `timestamp`, so that the entries form a tree. The last entry is the current one: to switch
branches, a program appends an entry with another parent. Files are only appended to. Lines that are not JSON (a torn
write) and entries of unknown types are skipped and preserved, as in pi.

Version 1 has neither ids nor parents: its entries form a chain, and their numbers become their ids. Version 2 has
another name for one role. Older versions are upgraded in memory when they are read, and on disk before an entry is
appended; a copy of the old file is kept.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

from tildone.base import NotFound, StoreDamaged, StoreError, StoreTooNew, durable
from tildone.plan import codec

Entry = dict[str, Any]

VERSION = 3

_LATEST_MS = 32_535_215_999_999  # the end of the year 3000, the last that `gmtime` of Windows accepts
_TIMESTAMP = r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,3})\d*)?Z"


class SessionFile:
    """A file that entries are appended to. It is created with the first entry, unless it `exists`.

    An existing file of an older version is upgraded before the first append.
    """

    def __init__(self, path: str, header: Entry, *, exists: bool = False) -> None:
        self.path = path
        self._header = header
        self._exists = exists
        self._upgraded = not exists

    def write(self, entry: Entry) -> None:
        """Append an entry; it is on disk when this returns. Raises StoreError if the file cannot be written."""
        if not self._exists:
            durable.make_folder(os.path.dirname(self.path) or ".")
            try:
                durable.create(
                    self.path, format_line(self._header) + format_line(entry), f"{self.path}.{os.urandom(6).hex()}.tmp"
                )
            except FileExistsError as error:
                raise StoreError(f"{self.path} exists already and was not changed") from error
            self._exists = True
            return
        if not self._upgraded:
            upgrade_file(self.path, f"{self.path}.{os.urandom(6).hex()}.tmp")
            self._upgraded = True
        durable.append(self.path, format_line(entry))


def header(session_id: str, cwd: str, at: int, parent: str | None = None) -> Entry:
    """Return the header of a session file, for a conversation in the folder `cwd`."""
    first: Entry = {
        "type": "session",
        "version": VERSION,
        "id": session_id,
        "timestamp": format_timestamp(at),
        "cwd": cwd,
    }
    return first if parent is None else {**first, "parentSession": parent}


def format_line(record: Entry) -> bytes:
    return codec.dump(record).encode() + b"\n"


def format_timestamp(at: int) -> str:
    """Format milliseconds since 1970 as pi does, limited to the range that every platform supports."""
    seconds, rest = divmod(min(max(at, 0), _LATEST_MS), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"


def parse_timestamp(written: object) -> int | None:
    """Return the milliseconds since 1970 of a timestamp that pi wrote; None for anything else."""
    found = re.fullmatch(_TIMESTAMP, written) if isinstance(written, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    # The year begins in March here, so that the leap day is its last.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)  # noqa: PLR2004  February
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719_469
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + int((found[7] or "").ljust(3, "0"))


def file_name(session_id: str, timestamp: str) -> str:
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


def id_in_file_name(path: str) -> str | None:
    """Return the id of the conversation in a file that is named as `file_name` does; None if it has another name."""
    _, underscore, rest = os.path.basename(path).partition("_")
    return rest.removesuffix(".jsonl") if underscore else None


def load(path: str) -> tuple[Entry, list[Entry]]:
    """Read the header and the entries of a session file, upgraded to version 3.

    Raises:
        NotFound: there is no such file.
        StoreDamaged: it is not a session file, or an ancestor of its last entry is missing.
        StoreTooNew: a newer pi wrote it.
    """
    records = [record for text in read_content(path).split(b"\n") if (record := parse_line(text)) is not None]
    first = checked_header(path, records[0] if records else None)
    entries = upgraded_entries(records[1:], format_version(path, first))
    _check_ancestors(path, entries)
    return {**first, "version": VERSION}, entries


def read_content(path: str) -> bytes:
    """Read a whole session file. Raises NotFound if there is no such file, StoreError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise NotFound(f"no session file {path}") from None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def parse_line(text: bytes) -> Entry | None:
    """Parse a line; return None if it is not a record. Bytes that are not UTF-8 become U+FFFD, as in pi."""
    if not text.strip():
        return None
    try:
        record = codec.parse_strictly(text.decode("utf-8", "replace"))
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("type"), str) else None


def checked_header(path: str, first: Entry | None) -> Entry:
    """Check that the first record of a file is a header. Raises StoreDamaged if it is not."""
    if first is None or first["type"] != "session" or not isinstance(first.get("id"), str):
        raise StoreDamaged(f"{path} is not a session file: its first line is not a session header")
    return first


def format_version(path: str, first: Entry) -> int:
    """Return the format version that a header states.

    Raises StoreDamaged if the version is invalid, StoreTooNew if a newer pi wrote it.
    """
    version = first.get("version", 1)
    if not isinstance(version, int) or version < 1:
        raise StoreDamaged(f"{path} is not a session file: {version!r} is not a format version")
    if version > VERSION:
        raise StoreTooNew(f"{path} has format version {version}; this tildone reads up to {VERSION}")
    return version


def upgraded_entries(records: Iterable[Entry], version: int) -> list[Entry]:
    """Upgrade records of any version to version 3; records that are not entries are dropped."""
    entries = (record for record in records if record["type"] != "session")
    newer = [_upgraded_entry(entry, number, version) for number, entry in enumerate(entries)]
    return [entry for entry in newer if isinstance(entry.get("id"), str)]


def upgrade_file(path: str, draft: str) -> None:
    """Upgrade a session file in place, through the temporary file `draft`; a copy of the old one is kept.

    Raises StoreError if it cannot be read or written, and is unchanged.
    """
    lines = read_content(path).split(b"\n")
    version = format_version(path, checked_header(path, next(filter(None, map(parse_line, lines)), None)))
    if version < VERSION:
        newer = b"\n".join(_upgraded_lines(lines, version))
        durable.replace(path, newer, f"{path}.v{version}.bak", draft)


def broken_path_error(path: str, orphan: str, missing: str) -> StoreDamaged:
    """Return the error for an entry, the `orphan`, whose parent is `missing`, with their line numbers."""
    lines = [(number, text, parse_line(text)) for number, text in enumerate(read_content(path).split(b"\n"), 1)]
    orphan_line = next((number for number, _, record in lines if record is not None and record.get("id") == orphan), 0)
    unreadable = [(number, text) for number, text, record in lines if record is None and text.strip()]
    candidates = [number for number, text in unreadable if missing.encode("utf-8", "surrogatepass") in text]
    before = [number for number, _ in unreadable if number < orphan_line]
    for number in (*candidates[:1], *before[-1:]):
        return StoreDamaged(f"{path}, line {number} cannot be read, and line {orphan_line} depends on it")
    return StoreDamaged(f"{path}, line {orphan_line} has parent {missing!r}, which is not in the file")


def newest_files(folder: str) -> list[str]:
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".jsonl")]
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names]
    return sorted(paths, key=lambda path: os.stat(path).st_mtime_ns, reverse=True)


def _upgraded_entry(entry: Entry, number: int, version: int) -> Entry:
    """Upgrade one entry. In version 1 its number becomes its id, which is therefore the same on every read."""
    if version == 1:
        first_kept = entry.get("firstKeptEntryIndex")
        entry = {key: item for key, item in entry.items() if key != "firstKeptEntryIndex"}
        entry |= {"id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number else None}
        # The index counts the header.
        if isinstance(first_kept, int) and 0 < first_kept <= number:
            entry["firstKeptEntryId"] = f"{first_kept - 1:08x}"
    message = entry.get("message")
    if version < VERSION and isinstance(message, dict) and message.get("role") == "hookMessage":
        entry = {**entry, "message": {**message, "role": "custom"}}
    return entry


def _upgraded_lines(lines: list[bytes], version: int) -> Iterator[bytes]:
    """Return the lines of a file, upgraded where necessary; all others are unchanged to the byte."""
    number = 0
    for text in lines:
        record = parse_line(text)
        if record is None:
            yield text
        elif record["type"] == "session":
            yield format_line({**record, "version": VERSION}).rstrip()
        else:
            newer = _upgraded_entry(record, number, version)
            number += 1
            yield text if newer == record else format_line(newer).rstrip()


def _check_ancestors(path: str, entries: list[Entry]) -> None:
    known = {entry["id"]: entry for entry in entries}
    at = entries[-1]["id"] if entries else ""
    while at:
        # Removed, so that a cycle ends as an error.
        parent = known.pop(at).get("parentId")
        if not isinstance(parent, str):
            return
        if parent and parent not in known:
            raise broken_path_error(path, at, parent)
        at = parent
