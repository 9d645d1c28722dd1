"""Which processes have a file open."""

from __future__ import annotations

import os
import sys

from tildone.value import value

BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite puts beside a file belongs to it."""

_GONE = " (deleted)"


@value
class Holder:
    """A process that has the file open; `gone` if it is one that is not at its place any more."""

    pid: int
    command: str
    gone: bool = False


def holders(path: str) -> list[Holder] | None:
    """The other processes that have the file, or what belongs to it, open; None where that can't be told.

    Processes of other people are not seen, unless one may look into everything.
    """
    if not sys.platform.startswith("linux") or not os.path.isdir("/proc/self/fd"):
        return None
    real = os.path.realpath(path)
    names = {f"{real}{suffix}" for suffix in BESIDE}
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid())
    return [holder for pid in pids if (holder := _holder(pid, names)) is not None]


def _holder(pid: int, names: set[str]) -> Holder | None:
    links = _links(pid)
    if names & links:
        return Holder(pid, _command(pid))
    if any(link.removesuffix(_GONE) in names for link in links if link.endswith(_GONE)):
        return Holder(pid, _command(pid), gone=True)
    return None


def _links(pid: int) -> set[str]:
    folder = f"/proc/{pid}/fd"
    try:
        return {_target(f"{folder}/{name}") for name in os.listdir(folder)}
    except OSError:
        # It has ended, or it is somebody else's.
        return set()


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return ""
    return " ".join(word.decode("utf-8", "backslashreplace") for word in words if word)
