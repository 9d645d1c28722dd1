"""The branch that is checked out in a working tree, read from git's files: starting git would take longer."""

from __future__ import annotations

import os

_GIT_FOLDER = "gitdir: "
_BRANCH = "ref: refs/heads/"
_MAX_BYTES = 4096
_SHORT_COMMIT = 12


def branch_of(folder: str) -> str:
    """Return the branch in a working tree, or the beginning of the commit without one; empty outside of git."""
    head = _first_line(os.path.join(git_folder(folder), "HEAD"))
    return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else head[:_SHORT_COMMIT]


def git_folder(folder: str) -> str:
    """Return the folder that git keeps for a working tree; one that was added has a file that names it."""
    path = os.path.join(folder, ".git")
    named = _first_line(path)
    return os.path.join(folder, named.removeprefix(_GIT_FOLDER)) if named.startswith(_GIT_FOLDER) else path


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_BYTES).partition("\n")[0].strip()
    except OSError:
        return ""
