"""Opens files by resolved paths, without following links: what is opened is what was checked.

Theory of operation. A path is resolved and checked first, and used later. Meanwhile, another process may replace a
folder of the path by a link that leads elsewhere. A resolved path contains no links, so it is opened one component at
a time, each relative to the folder that is already open and none through a link. A link anywhere on the way means that
the path has changed since it was checked, and the call fails. On Windows, which cannot open a file relative to a
folder, the path is used as it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from tildone.files import atomic
from tildone.files.private import SHARED_FILE, make_shared_folder
from tildone.host.tools.tool_failure import ToolFailure

RELATIVE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether files can be opened relative to an open folder."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# A folder may allow passing through it, but not reading it.
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY) | _NO_FOLLOW
# Opening a pipe must not wait for its other end.
_READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_LINKED = {errno.ELOOP, errno.EMLINK}


class PathChanged(OSError):
    """A component of the path is a link: the path has changed since it was resolved, or its links form a circle."""

    def __init__(self) -> None:
        super().__init__(errno.ELOOP, "its links form a circle, or have changed in the meantime")


@contextlib.contextmanager
def open_resolved(path: str) -> Iterator[int]:
    """Open a file or folder for reading, and yield its descriptor.

    Raises:
        PathChanged: a component of the path is a link.
        OSError: it cannot be opened.
    """
    with _parent(path) as (folder, name), _closing(_opened(name, _READ, folder)) as file:
        yield file


def replace_resolved(path: str, data: bytes, shown: str) -> None:
    """Create or replace a file atomically, and its missing folders; an existing file keeps its mode and owner.

    Raises:
        ToolFailure: it is not a regular file, or is read-only.
        PathChanged: a component of the path is a link.
        OSError: it cannot be written.
    """
    with _parent(path, create=True) as (folder, name):
        before = _stat(name, folder)
        if before is not None and stat.S_ISLNK(before.st_mode):
            raise PathChanged
        if before is not None and not stat.S_ISREG(before.st_mode):
            raise ToolFailure(f"{shown} is not a regular file")
        if before is not None and not os.access(name, os.W_OK, dir_fd=folder):
            raise ToolFailure(f"{shown} is read-only")
        atomic.replace_file(name, data, like=before, mode=SHARED_FILE, folder=folder)


@contextlib.contextmanager
def _parent(path: str, *, create: bool = False) -> Iterator[tuple[int | None, str]]:
    """Yield the open folder of a path and the name in it; None and the whole path where that is not possible."""
    above, name = os.path.split(path)
    if not RELATIVE or not name:
        if create:
            make_shared_folder(above)
        yield None, path
        return
    folder = os.open(os.sep, _FOLDER)
    try:
        for part in above.split(os.sep):
            if part:
                folder = _into(folder, part, create=create)
        yield folder, name
    finally:
        os.close(folder)


def _into(folder: int, name: str, *, create: bool) -> int:
    """Return the open subfolder, and close the folder above it."""
    try:
        inner = _opened(name, _FOLDER, folder)
    except FileNotFoundError:
        if not create:
            raise
        make_shared_folder(name, folder)
        inner = _opened(name, _FOLDER, folder)
    os.close(folder)
    return inner


def _opened(name: str, flags: int, folder: int | None) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        about = _stat(name, folder)
        if error.errno in _LINKED or (about is not None and stat.S_ISLNK(about.st_mode)):
            raise PathChanged from error
        raise


def _stat(name: str, folder: int | None) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _closing(file: int) -> Iterator[int]:
    try:
        yield file
    finally:
        os.close(file)
