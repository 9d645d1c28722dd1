"""Folders and files that only their owner can read, whatever the umask.

What exists keeps its permissions: a folder of the person's is never changed. On Windows, where new files take the
permissions of their folder, the modes have no effect.
"""

from __future__ import annotations

import os
import sys

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
REPLACED = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
"""The flags to write a file anew."""

_BINARY = getattr(os, "O_BINARY", 0)


def make_private_folder(path: str) -> None:
    """Create a folder and its missing parents, all with mode 0700.

    Raises:
        OSError: it cannot be created.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(parent):
        make_private_folder(parent)
    try:
        os.mkdir(path, PRIVATE_FOLDER)
    except FileExistsError:
        # Another process created it first. A file or a dangling link at the path remains an error.
        if not os.path.isdir(path):
            raise
    else:
        os.chmod(path, PRIVATE_FOLDER)


def open_private(path: str, flags: int) -> int:
    """Open a file as `os.open` does. If this creates it, it has mode 0600.

    Raises:
        OSError: it cannot be opened.
    """
    if not flags & os.O_CREAT:
        return os.open(path, flags | _BINARY)
    try:
        file = os.open(path, flags | os.O_EXCL | _BINARY, PRIVATE_FILE)
    except FileExistsError:
        if flags & os.O_EXCL:
            raise
        return os.open(path, flags | _BINARY, PRIVATE_FILE)
    if sys.platform != "win32":
        os.fchmod(file, PRIVATE_FILE)
    return file
