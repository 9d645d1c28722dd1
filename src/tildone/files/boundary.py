"""Paths in a folder whose content others may have written, such as a repository: no name or link leads out of it."""

from __future__ import annotations

import os

from tildone.errors import Refused, shortened


def real_path_inside(folder: str, path: str) -> str:
    """Return a path below `folder` with symbolic links resolved.

    Raises:
        Refused: a symbolic link on the path leads out of the folder; the message names it.
    """
    root, real = os.path.realpath(folder), os.path.realpath(path)
    if not _is_inside(real, root):
        link = _link_out(root, os.path.relpath(path, folder))
        target = os.path.realpath(link)
        raise Refused(f"{link} is a symbolic link to {target}, outside of {folder}; remove the link first")
    return real


def path_of(folder: str, name: str) -> str:
    """Return the path of a file or folder of that name in a folder, whatever the name is.

    Raises:
        Refused: the name leads out of the folder, or a symbolic link of that name does.
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
