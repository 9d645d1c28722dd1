"""Errors of the SQLite driver as errors of a store."""

from __future__ import annotations

import os

import apsw

from tildone.errors import StoreBusy, StoreDamaged, StoreError


def store_error(error: apsw.Error | UnicodeDecodeError, path: str) -> StoreError:
    """Convert an error of the driver to a `StoreError`."""
    match error:
        case apsw.BusyError() | apsw.LockedError() | apsw.ProtocolError():
            return StoreBusy(f"{path} is in use by another process, for longer than we wait")
        case apsw.NotADBError():
            return StoreDamaged(f"{path} is not a tildone store")
        case apsw.CorruptError() | apsw.SQLError():
            return StoreDamaged(f"{path} is damaged: {error}")
        case UnicodeDecodeError():
            return StoreDamaged(f"{path} is damaged: it contains text that is not UTF-8")
        case apsw.FullError():
            return StoreError(f"{path} can't grow: the disk is full")
        case apsw.ReadOnlyError():
            return StoreError(f"{path} can't be written: it is read-only")
        case apsw.CantOpenError():
            reason = "it is a directory" if os.path.isdir(path) else str(error)
            return StoreError(f"cannot open {path}: {reason}")
        case _:
            return StoreError(f"{path}: {error}")
