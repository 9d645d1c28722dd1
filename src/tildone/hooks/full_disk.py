"""Noticing that the disk is full before there is something to write: nobody would learn that plans cannot be stored."""

from __future__ import annotations

import os

from tildone.errors import StoreError


def check_space(path: str) -> None:
    """Check that a file can be created or grow.

    Raises:
        StoreError: the disk is full.
    """
    folder = path
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    if _is_full(folder):
        raise StoreError(f"{path} can't grow: the disk is full")


def _is_full(folder: str) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    # Some file systems do not know their size. The last blocks are reserved for root.
    free = found.f_bfree if os.geteuid() == 0 else found.f_bavail
    return found.f_blocks > 0 and free == 0
