"""Errors of the SQLite driver as errors of a store."""

from __future__ import annotations

import os

import apsw

from tildone.errors import StoreBusy, StoreDamaged, StoreError

LOCKS = "/proc/locks"
_ACCESS, _PID, _FILE = 3, 4, 5
"""Positions in a line of `/proc/locks` (proc(5))."""


def damaged(path: str, why: object) -> StoreDamaged:
    """Return the error that says that a store is damaged, and what to do."""
    return StoreDamaged(f"{path} is damaged: {why}; to check all of it: tildone doctor")


def store_error(error: apsw.Error | UnicodeDecodeError, path: str) -> StoreError:
    """Convert an error of the driver to a `StoreError`."""
    match error:
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return StoreBusy(f"{path} is in use by another process{_holder(path)}, for longer than we wait")
        case apsw.NotADBError():
            return StoreDamaged(f"{path} is not a tildone store")
        case apsw.CorruptError() | apsw.SQLError():
            return damaged(path, error)
        case UnicodeDecodeError():
            return damaged(path, "it contains text that is not UTF-8")
        case apsw.FullError():
            return StoreError(f"{path} can't grow: the disk is full")
        case apsw.ReadOnlyError():
            return StoreError(f"{path} can't be written: it is read-only")
        case apsw.CantOpenError():
            reason = "it is a directory" if os.path.isdir(path) else str(error)
            return StoreError(f"cannot open {path}: {reason}")
        case _:
            return StoreError(f"{path}: {error}")


def _holder(path: str) -> str:
    """Return the process that holds a lock on the database, in parentheses; empty if that cannot be determined."""
    try:
        inodes = {str(os.stat(name).st_ino) for name in (path, f"{path}-shm") if os.path.exists(name)}
        with open(LOCKS, encoding="ascii") as file:
            locks = [line.split() for line in file]
    except (OSError, ValueError):
        return ""
    # NUMBER: TYPE MODE ACCESS PID MAJOR:MINOR:INODE START END; a lock that is waited for has an arrow after its number.
    held = [words for words in locks if len(words) > _FILE and words[_FILE].rpartition(":")[2] in inodes]
    writers = [words[_PID] for words in held if words[_ACCESS] == "WRITE" and words[_PID] != str(os.getpid())]
    return f" ({writers[0]})" if writers else ""
