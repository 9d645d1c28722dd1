"""Suggestions for a path that does not exist."""

from __future__ import annotations

import contextlib
import os
from difflib import get_close_matches
from itertools import islice

_MAX_SUGGESTIONS = 3
_MAX_FOLDERS_SEARCHED = 500
_SKIPPED = {"node_modules", "__pycache__"}


def similar_paths(real: str, root: str) -> list[str]:
    """Return existing paths that are spelled like this one, then files of the same name elsewhere below the root."""
    folder, missing = os.path.split(real)
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder, missing = os.path.split(folder)
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(folder))
    by_lower = {name.lower(): name for name in names}
    similar = [by_lower[name] for name in get_close_matches(missing.lower(), by_lower, _MAX_SUGGESTIONS)]
    paths = [os.path.join(folder, name) for name in similar]
    return list(islice(dict.fromkeys([*paths, *_namesakes(os.path.basename(real), root)]), _MAX_SUGGESTIONS))


def _namesakes(name: str, root: str) -> list[str]:
    paths = []
    for folder, folders, files in islice(os.walk(root), _MAX_FOLDERS_SEARCHED):
        folders[:] = sorted(
            subfolder for subfolder in folders if subfolder not in _SKIPPED and not subfolder.startswith(".")
        )
        if name in files:
            paths.append(os.path.join(folder, name))
    return paths
