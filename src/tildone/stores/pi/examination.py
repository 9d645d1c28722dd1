"""The integrity check of a folder of session files: every line of every file is parsed."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tildone.base import NotFound, StoreDamaged, StoreError, StoreTooNew
from tildone.log.kept import Finding, Severity
from tildone.stores.pi import entries as pi
from tildone.stores.pi.entries import PlanInEntry
from tildone.stores.pi.folder import Folder, has_session_file_name
from tildone.stores.pi.history import History
from tildone.stores.pi.outline import FileReplaced
from tildone.stores.pi.session_file import VERSION, parse_line, read_content, upgraded_entries

Entry = dict[str, Any]


MAX_REPORTED = 8
"""How many line numbers, and how many errors of one file, are reported: more would not change the remedy."""

_RESTORE = "restore it from a backup, or move it out of the folder: its session then starts empty"
_UPDATE = "use a newer tildone for it"
_PERMIT = "check the permissions of the file or folder"
_CHOOSE = "move the unused files out of the folder"
_LEAVE = "nothing to do: it is skipped"


def findings(folder: Folder, recover: PlanInEntry) -> Iterator[Finding]:
    if not os.path.isdir(folder.path):
        yield Finding(Severity.OK, "the folder does not exist yet; the first change creates it")
        return
    yield Finding(Severity.OK, f"a folder of session files, written in format version {VERSION}")
    if not os.access(folder.path, os.W_OK):
        yield Finding(Severity.WARNING, "the folder is not writable", _PERMIT)
    files = events = 0
    for path in sorted(folder.paths()):
        history = History(path, recover)
        yield from _file_findings(history)
        count = _event_count(history)
        files, events = files + bool(count), events + count
    for session, paths in sorted(folder.files().items()):
        if len(paths) > 1:
            used, *others = map(os.path.basename, paths)
            what = f"several files contain session {session!r}: {used} is used, {', '.join(others)} not"
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
        # The file was removed or replaced during the check.
        return
    except StoreTooNew as error:
        yield Finding(Severity.ERROR, _about(name, error), _UPDATE)
        return
    except StoreDamaged as error:
        is_ours = has_session_file_name(path)
        yield Finding(
            Severity.ERROR if is_ours else Severity.WARNING, _about(name, error), _RESTORE if is_ours else _LEAVE
        )
        return
    except StoreError as error:
        yield Finding(Severity.ERROR, _about(name, error), _PERMIT)
        return
    if history.outline.version < VERSION:
        what = f"{name} has format version {history.outline.version}; the next change upgrades it to {VERSION}"
        yield Finding(Severity.OK, what)
    if not os.access(path, os.W_OK):
        yield Finding(Severity.WARNING, f"{name} is not writable", _PERMIT)
    for flaw in flaws[:MAX_REPORTED]:
        yield Finding(Severity.ERROR, _about(name, flaw), _RESTORE)
    if len(flaws) > MAX_REPORTED:
        yield Finding(Severity.ERROR, f"{name}: there are more errors", _RESTORE)
    for what in _oddities(history, text.split(b"\n"), list_orphans=not flaws):
        yield Finding(Severity.WARNING, f"{name}: {what}", _LEAVE)


def _flaws(history: History) -> list[StoreDamaged]:
    """Return the errors that prevent reading the plan or a part of its history."""
    flaws: list[StoreDamaged] = []
    with history.outline:
        asks: list[Callable[[], object]] = [history.session_head]
        for ask in asks + [partial(history.event, at) for at in history.positions()]:
            try:
                ask()
            except StoreDamaged as error:
                if str(error) not in map(str, flaws):
                    flaws.append(error)
    return flaws


def _oddities(history: History, lines: list[bytes], *, list_orphans: bool) -> Iterator[str]:
    """Describe the lines that are skipped on reading. Orphans are listed on request: an error names them already."""
    tree = history.outline.tree
    records = [parse_line(text) for text in lines]
    unreadable = [n for n, text in enumerate(lines, 1) if text.strip() and records[n - 1] is None]
    if lines[-1] and unreadable[-1:] == [len(lines)]:
        yield f"its last line is incomplete (line {unreadable.pop()})"
    if unreadable:
        yield f"cannot be parsed: {_numbers(unreadable)}"
    entries = upgraded_entries(filter(None, records), history.outline.version)
    known = {entry["id"] for entry in entries}
    if len(known) < len(entries):
        yield f"duplicate ids: {len(entries) - len(known)}"
    incomplete = [entry for entry in entries if pi.batch_of(entry) and tree.position(entry["id"]) is None]
    if incomplete:
        yield f"entries of incomplete batches: {len(incomplete)}"
    if list_orphans and tree.orphans:
        names = [tree.name(at) for at in tree.orphans]
        found = [n for n, record in enumerate(records, 1) if record and record.get("id") in names]
        yield f"entries whose parent is not in the file: {_numbers(found)}"


def _event_count(history: History) -> int:
    try:
        return len(history.positions()) if history.outline.header else 0
    except (StoreError, FileReplaced):
        return 0


def _about(name: str, error: StoreError) -> str:
    text = str(error)
    start = text.find(name)
    return text[start:] if start >= 0 else f"{name}: {text}"


def _numbers(lines: list[int]) -> str:
    numbers = ", ".join(map(str, lines[:MAX_REPORTED]))
    more = f" and {len(lines) - MAX_REPORTED:,} more" if len(lines) > MAX_REPORTED else ""
    return f"line{'s' if len(lines) > 1 else ''} {numbers}{more}"
