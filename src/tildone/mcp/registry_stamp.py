"""Whether the registry of agents has changed: one system call instead of reading the same files for every call.

Theory of operation. Every record and note is replaced or removed as a file, which changes the modification time of the
folder. Two changes within the resolution of that time share one, so a time counts as a stamp only after the resolution
has passed: whoever reads the files after that has seen all changes up to it.
"""

from __future__ import annotations

import os
import sys
from time import time_ns

FINE_NS, COARSE_NS = 50_000_000, 2_500_000_000
"""Longer than the resolution of modification times: a clock tick, or two seconds on old file systems."""

WHOLE_MS = 1_000_000


def registry_stamp(folder: str) -> int | None:
    """Return a number that differs after any change in a folder; None if there is none yet.

    It must be determined before the files are read.
    """
    if sys.platform == "win32":
        return None
    try:
        changed = os.stat(folder).st_mtime_ns
    except OSError:
        return None
    resolution = FINE_NS if changed % WHOLE_MS else COARSE_NS
    return changed if time_ns() - changed > resolution else None
