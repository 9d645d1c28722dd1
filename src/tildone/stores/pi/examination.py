"""The integrity check of a folder of session files: every line of every file is parsed."""

from __future__ import annotations

import os

from tildone.errors import NotFound, StoreDamaged, StoreError, StoreTooNew
from tildone.log.findings import Finding, Severity
from tildone.stores.pi import entries as pi
from tildone.stores.pi.folder import has_session_file_name
from tildone.stores.pi.history import History
from tildone.stores.pi.outline import FileReplaced
from tildone.stores.pi.session_file import VERSION, parse_line, read_content, upgraded_entries
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tildone.stores.pi.entries import PlanInEntry
    from tildone.stores.pi.folder import Folder

    Entry = dict[str, Any]

MAX_REPORTED = 8
"""How many line numbers, and how many errors of one file, are reported: with more, the remedy is the same."""

_PUT_BACK = "put it back from a backup, or move it out of the folder: its session then begins anew"
_UPDATE = "use a newer tildone for it"
_PERMIT = "see who may read and write there"
_CHOOSE = "move the others out of the folder"
_LEAVE = "nothing has to be done: it is passed over"


def findings(folder: Folder, recover: PlanInEntry) -> Iterator[Finding]:
    """Check a folder, file by file."""
    if not os.path.isdir(folder.path):
        yield Finding(Severity.OK, "there is no such folder yet; it is made when something is to be kept")
        return
    yield Finding(Severity.OK, f"a folder of session files, written in format version {VERSION}")
    if not os.access(folder.path, os.W_OK):
        yield Finding(Severity.WARNING, "nothing can be added to the folder", _PERMIT)
    files = events = 0
    for path in sorted(folder.paths()):
        history = History(path, recover)
        yield from _file_findings(history)
        found = _events(history)
        files, events = files + bool(found), events + found
    for session, paths in sorted(folder.files().items()):
        if len(paths) > 1:
            used, *others = map(os.path.basename, paths)
            what = f"several files hold session {session!r}: {used} is used, and not {', '.join(others)}"
            yield Finding(Severity.WARNING, what, _CHOOSE)
    yield Finding(Severity.OK, f"files with a plan: {files:,}; events in them: {events:,}")


def _file_findings(history: History) -> Iterator[Finding]:
    path = history.outline.path
    name = os.path.basename(path)
    try:
        text = read_content(path)
        if not history.refresh():
            return
        flaws = _flaws(history)
    except (NotFound, FileReplaced):
        # The file was removed or replaced meanwhile.
        return
    except StoreTooNew as error:
        yield Finding(Severity.ERROR, _about(name, error), _UPDATE)
        return
    except StoreDamaged as error:
        lost = has_session_file_name(path)
        yield Finding(Severity.ERROR if lost else Severity.WARNING, _about(name, error), _PUT_BACK if lost else _LEAVE)
        return
    except StoreError as error:
        yield Finding(Severity.ERROR, _about(name, error), _PERMIT)
        return
    if history.outline.version < VERSION:
        what = f"{name} has format version {history.outline.version}; it is raised to {VERSION} by the next change"
        yield Finding(Severity.OK, what)
    if not os.access(path, os.W_OK):
        yield Finding(Severity.WARNING, f"{name} can be read and not be written", _PERMIT)
    for flaw in flaws[:MAX_REPORTED]:
        yield Finding(Severity.ERROR, _about(name, flaw), _PUT_BACK)
    if len(flaws) > MAX_REPORTED:
        yield Finding(Severity.ERROR, f"{name}: there is more of that", _PUT_BACK)
    for what in _oddities(history, text.split(b"\n"), hanging=not flaws):
        yield Finding(Severity.WARNING, f"{name}: {what}", _LEAVE)


def _flaws(history: History) -> list[StoreDamaged]:
    """The errors that keep the plan, or a part of its history, from being read."""
    flaws: list[StoreDamaged] = []
    with history.outline:
        for ask in (history.session_head, *(_asking(history, at) for at in history.positions())):
            try:
                ask()
            except StoreDamaged as error:
                if str(error) not in map(str, flaws):
                    flaws.append(error)
    return flaws


def _asking(history: History, at: int) -> Any:
    return lambda: history.event(at)


def _oddities(history: History, lines: list[bytes], *, hanging: bool) -> Iterator[str]:
    """What is skipped on reading. Orphans are listed only if there is no error."""
    tree = history.outline.tree
    records = [parse_line(text) for text in lines]
    unreadable = [n for n, text in enumerate(lines, 1) if text.strip() and records[n - 1] is None]
    if lines[-1] and unreadable[-1:] == [len(lines)]:
        yield f"its last line was cut off while it was written (line {unreadable.pop()})"
    if unreadable:
        yield f"what can't be read: {_numbers(unreadable)}"
    entries = upgraded_entries(filter(None, records), history.outline.version)
    known = {entry["id"] for entry in entries}
    if len(known) < len(entries):
        yield f"ids that are used more than once: {len(entries) - len(known)}"
    half = [entry for entry in entries if pi.batch_of(entry) and tree.position(entry["id"]) is None]
    if half:
        yield f"changes that were written by half, and are not believed: {len(half)}"
    if hanging and tree.orphans:
        orphans = [n for n, record in enumerate(records, 1) if record and _is_orphan(history, record)]
        yield f"what hangs under an entry that is not in the file: {_numbers(orphans)}"


def _is_orphan(history: History, record: Entry) -> bool:
    entry_id = record.get("id")
    return isinstance(entry_id, str) and history.outline.tree.position(entry_id) in history.outline.tree.orphans


def _events(history: History) -> int:
    try:
        return len(history.positions()) if history.outline.header else 0
    except (StoreError, FileReplaced):
        return 0


def _about(name: str, error: StoreError) -> str:
    """The message of an error, without the folder's path."""
    text = str(error)
    start = text.find(name)
    return text[start:] if start >= 0 else f"{name}: {text}"


def _numbers(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:MAX_REPORTED]))
    more = f" and {len(lines) - MAX_REPORTED:,} more" if len(lines) > MAX_REPORTED else ""
    return f"line{'s' if len(lines) > 1 else ''} {shown}{more}"
