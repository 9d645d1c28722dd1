"""Find the processes that have a database file open (Linux only, from `/proc`)."""

import os
import sys

from tildone.base import value

SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""The database file, and the files that SQLite keeps beside it."""

_DELETED = " (deleted)"


@value
class FileHolder:
    """A process that has the file open. `deleted` means that the file was deleted or replaced since it was opened."""

    pid: int
    command: str
    deleted: bool = False


def processes_with_open(path: str) -> list[FileHolder] | None:
    """Return the other processes that have the database open; None if that cannot be determined.

    Processes of other users are found only if the user may inspect them.
    """
    if not sys.platform.startswith("linux") or not os.path.isdir("/proc/self/fd"):
        return None
    real = os.path.realpath(path)
    paths = {f"{real}{suffix}" for suffix in SQLITE_SUFFIXES}
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid())
    return [holder for pid in pids if (holder := _holder(pid, paths)) is not None]


def _holder(pid: int, paths: set[str]) -> FileHolder | None:
    folder, found = f"/proc/{pid}/fd", set[str]()
    try:
        for name in os.listdir(folder):
            try:
                found.add(os.readlink(f"{folder}/{name}"))
            except OSError:
                continue
    except OSError:
        # The process has ended, or belongs to another user.
        return None
    deleted = {path.removesuffix(_DELETED) for path in found if path.endswith(_DELETED)}
    return FileHolder(pid, _command(pid), not paths & found) if paths & (found | deleted) else None


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            arguments = file.read().split(b"\0")
    except OSError:
        return ""
    return " ".join(argument.decode("utf-8", "backslashreplace") for argument in arguments if argument)
