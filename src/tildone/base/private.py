"""The one place where files and folders are made, and where paths are kept inside a folder.

Our files are private, those of a project or of an export are shared.

*Private* means modes 0600 and 0700, whatever the umask. *Shared* files and folders have the modes of any new ones: they
are in the project of a person, or they have the name that a person gave them. What exists keeps its permissions: a
folder of the person's is never changed. On Windows, where new files take the permissions of their folder, the modes
have no effect.

What `tempfile` makes is private, too. Git makes the files of a working tree or a clone: their top folder is private.
"""

from __future__ import annotations

import os
import sys

from tildone.base import Refused, shortened


def real_path_inside(folder: str, path: str) -> str:
    """Return a path below `folder`, links resolved. Raises Refused, naming the link, if one leads out of the folder."""
    root, real = os.path.realpath(folder), os.path.realpath(path)
    if not _is_inside(real, root):
        link = _link_out(root, os.path.relpath(path, folder))
        target = os.path.realpath(link)
        raise Refused(f"{link} is a symbolic link to {target}, outside of {folder}; remove the link first")
    return real


def path_of(folder: str, name: str) -> str:
    """Return the path of a file or folder of that name in a folder, whatever the name is.

    Raises Refused if the name leads out of the folder, or a symbolic link of that name does.
    """
    path = os.path.join(folder, name)
    if "\0" in name or os.path.normpath(path) != os.path.join(os.path.normpath(folder), name):
        raise Refused(f"{shortened(name)!r} is not the name of a file in {folder}")
    real_path_inside(folder, path)
    return path


def _link_out(root: str, relative: str) -> str:
    """Return the first part of the path that leads out of the folder."""
    path = root
    for name in relative.split(os.sep):
        path = os.path.join(path, name)
        if not _is_inside(os.path.realpath(path), root):
            break
    return path


def _is_inside(real: str, root: str) -> bool:
    return real == root or real.startswith(os.path.join(root, ""))


PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
SHARED_FILE = 0o666
"""The mode of a shared file, before the umask."""

REPLACED = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
"""The flags to write a file anew."""

_BINARY = getattr(os, "O_BINARY", 0)


def make_private_folder(path: str) -> None:
    """Create a folder and its missing parents, all with mode 0700. Raises OSError if it cannot be created."""
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


def make_shared_folder(path: str, folder: int | None = None) -> None:
    """Create a folder and its missing parents. With `folder`, the descriptor of an open folder, `path` is a name in it.

    Raises OSError if it cannot be created.
    """
    if folder is None:
        os.makedirs(path, exist_ok=True)
        return
    try:
        os.mkdir(path, dir_fd=folder)
    except FileExistsError:
        # Whoever opens it will see whether it is a folder.
        return


def open_shared(path: str, flags: int, folder: int | None = None) -> int:
    """Open a file as `os.open` does; `folder` as in `make_shared_folder`. Raises OSError if it cannot be opened."""
    return os.open(path, flags | _BINARY, SHARED_FILE, dir_fd=folder)


def open_private(path: str, flags: int, folder: int | None = None) -> int:
    """Open a file as `os.open` does, new ones with mode 0600; `folder` as in `make_shared_folder`. Raises OSError."""
    if not flags & os.O_CREAT:
        return os.open(path, flags | _BINARY, dir_fd=folder)
    try:
        file = os.open(path, flags | os.O_EXCL | _BINARY, PRIVATE_FILE, dir_fd=folder)
    except FileExistsError:
        if flags & os.O_EXCL:
            raise
        return os.open(path, flags | _BINARY, PRIVATE_FILE, dir_fd=folder)
    if sys.platform != "win32":
        os.fchmod(file, PRIVATE_FILE)
    return file
