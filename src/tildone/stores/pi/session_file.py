"""Session files in pi's format: one JSON object a line, a header first; version 3, older ones raised on reading."""

from __future__ import annotations

import os
import re
import time

from tildone.errors import NotFound, StoreDamaged, StoreError, StoreTooNew
from tildone.files import durable
from tildone.log import codec
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    Entry = dict[str, Any]

VERSION = 3

_LATEST = 32_535_215_999_999  # the last millisecond of the year 3000: what comes later, Windows has no calendar for
_MOMENT = r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,3})\d*)?Z"


class SessionFile:
    """A file that entries are added to, line by line. It is made when the first of them is written.

    One that `exists` is gone on with, whatever its version: it is raised to the present one before it grows.
    """

    def __init__(self, path: str, header: Entry, *, exists: bool = False) -> None:
        self.path = path
        self._header = header
        self._exists = exists
        self._raised = not exists

    def write(self, entry: Entry) -> None:
        """Add an entry; it is on disk when this returns.

        Raises:
            StoreError: the file cannot be written.
        """
        if not self._exists:
            self._begin(entry)
            return
        if not self._raised:
            upgrade_file(self.path, f"{self.path}.{os.getpid()}.tmp")
            self._raised = True
        durable.append(self.path, format_line(entry))

    def _begin(self, entry: Entry) -> None:
        durable.make_folder(os.path.dirname(self.path) or ".")
        try:
            durable.create(self.path, format_line(self._header) + format_line(entry), f"{self.path}.{os.getpid()}.tmp")
        except FileExistsError as error:
            raise StoreError(f"{self.path} is there already, and is left alone") from error
        self._exists = True


def header(session_id: str, cwd: str, at: int, parent: str | None = None) -> Entry:
    """The first line of a session file."""
    first: Entry = {
        "type": "session",
        "version": VERSION,
        "id": session_id,
        "timestamp": format_timestamp(at),
        "cwd": cwd,
    }
    return first if parent is None else {**first, "parentSession": parent}


def format_line(record: Entry) -> bytes:
    """A header or an entry as it stands in a file."""
    return codec.dump(record).encode() + b"\n"


def format_timestamp(at: int) -> str:
    """Milliseconds since 1970 as pi writes moments. One that not every calendar has is the nearest that it has."""
    seconds, rest = divmod(min(max(at, 0), _LATEST), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"


def parse_timestamp(written: object) -> int | None:
    """The milliseconds since 1970 of a moment that pi wrote; None for anything else."""
    found = re.fullmatch(_MOMENT, written) if isinstance(written, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    # March is the first month here, so that the day that comes and goes is the last of its year.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)  # noqa: PLR2004  February
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719_469
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + int((found[7] or "").ljust(3, "0"))


def file_name(session_id: str, timestamp: str) -> str:
    """The name that pi would give the file."""
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{session_id}.jsonl"


def load(path: str) -> tuple[Entry, list[Entry]]:
    """The header and the entries of a session file, as version 3 has them.

    Lines that are no JSON are passed over, as pi does. One that the conversation goes through cannot be.

    Raises:
        NotFound: there is no such file.
        StoreDamaged: it is not a session file, or the way back from its last entry is broken.
        StoreTooNew: a newer pi wrote it.
    """
    records = [record for text in read_content(path).split(b"\n") if (record := parse_line(text)) is not None]
    first = checked_header(path, records[0] if records else None)
    entries = upgraded_entries(records[1:], format_version(path, first))
    _check_the_way_back(path, entries)
    return {**first, "version": VERSION}, entries


def read_content(path: str) -> bytes:
    """All that is in a session file.

    Raises:
        NotFound: there is no such file.
        StoreError: it cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise NotFound(f"no session file {path}") from None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def parse_line(text: bytes) -> Entry | None:
    """A line of a session file; None if it is no record. Bytes that are no UTF-8 are read as pi reads them."""
    if not text.strip():
        return None
    try:
        record = codec.parse(text.decode("utf-8", "replace"))
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("type"), str) else None


def checked_header(path: str, first: Entry | None) -> Entry:
    """The header that a file begins with.

    Raises:
        StoreDamaged: this is none.
    """
    if first is None or first["type"] != "session" or not isinstance(first.get("id"), str):
        raise StoreDamaged(f"{path} is not a session file: its first line is no session header")
    return first


def format_version(path: str, first: Entry) -> int:
    """The version that a header names.

    Raises:
        StoreDamaged: it names none.
        StoreTooNew: a newer pi wrote it.
    """
    version = first.get("version", 1)
    if not isinstance(version, int) or version < 1:
        raise StoreDamaged(f"{path} is not a session file: {version!r} is no format version")
    if version > VERSION:
        raise StoreTooNew(f"{path} has format version {version}; this tildone reads up to {VERSION}")
    return version


def upgraded_entries(records: Iterable[Entry], version: int) -> list[Entry]:
    """Entries of any version as version 3 has them; what is no entry is left out."""
    entries = (record for record in records if record["type"] != "session")
    newer = [_raised_entry(entry, number, version) for number, entry in enumerate(entries)]
    return [entry for entry in newer if isinstance(entry.get("id"), str)]


def upgrade_file(path: str, draft: str) -> None:
    """Raise a session file to the present version where it stands; what it was is kept beside it.

    Raises:
        StoreError: it cannot be read, or not written; it is as it was.
    """
    lines = read_content(path).split(b"\n")
    version = format_version(path, checked_header(path, next(filter(None, map(parse_line, lines)), None)))
    if version < VERSION:
        newer = b"\n".join(_raised_lines(lines, version))
        durable.replace(path, newer, f"{path}.v{version}.bak", draft)


def broken_path_error(path: str, orphan: str, missing: str) -> StoreDamaged:
    """Where in a file the way back from an entry, the `orphan`, breaks off: what it hangs under is `missing`."""
    lines = [(number, text, parse_line(text)) for number, text in enumerate(read_content(path).split(b"\n"), 1)]
    here = next((number for number, _, record in lines if record is not None and record.get("id") == orphan), 0)
    unreadable = [(number, text) for number, text, record in lines if record is None and text.strip()]
    named = [number for number, text in unreadable if missing.encode("utf-8", "surrogatepass") in text]
    before = [number for number, _ in unreadable if number < here]
    for number in (*named[:1], *before[-1:]):
        return StoreDamaged(f"{path}, line {number} cannot be read, and line {here} hangs on it")
    return StoreDamaged(f"{path}, line {here} hangs under {missing!r}, which is not in the file")


def newest_file(folder: str) -> str | None:
    """The session file in a folder that was written to last."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".jsonl")]
    except FileNotFoundError:
        return None
    paths = [os.path.join(folder, name) for name in names]
    return max(paths, key=lambda path: os.stat(path).st_mtime_ns, default=None)


def _raised_entry(entry: Entry, number: int, version: int) -> Entry:
    """An entry as version 3 has it. Those of version 1 are a chain without names, and get their numbers for names.

    The same ones whenever the file is read.
    """
    if version == 1:
        kept = entry.get("firstKeptEntryIndex")
        entry = {key: held for key, held in entry.items() if key != "firstKeptEntryIndex"}
        entry |= {"id": f"{number:08x}", "parentId": f"{number - 1:08x}" if number else None}
        # It counts the header as well.
        if isinstance(kept, int) and 0 < kept <= number:
            entry["firstKeptEntryId"] = f"{kept - 1:08x}"
    message = entry.get("message")
    if version < VERSION and isinstance(message, dict) and message.get("role") == "hookMessage":
        entry = {**entry, "message": {**message, "role": "custom"}}
    return entry


def _raised_lines(lines: list[bytes], version: int) -> Iterator[bytes]:
    """The lines of a file, raised where they have to be, and to the byte as they are elsewhere."""
    number = 0
    for text in lines:
        record = parse_line(text)
        if record is None:
            yield text
        elif record["type"] == "session":
            yield format_line({**record, "version": VERSION}).rstrip()
        else:
            newer = _raised_entry(record, number, version)
            number += 1
            yield text if newer == record else format_line(newer).rstrip()


def _check_the_way_back(path: str, entries: list[Entry]) -> None:
    """See that the way from the last entry leads to a root."""
    known = {entry["id"]: entry for entry in entries}
    at = entries[-1]["id"] if entries else ""
    while at:
        # Taken out, so that a way that leads back to itself ends, too.
        above = known.pop(at).get("parentId")
        if not isinstance(above, str):
            return
        if above and above not in known:
            raise broken_path_error(path, at, above)
        at = above
