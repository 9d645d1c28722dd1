"""Paths of the built-in tools: resolved before they are checked, relative where they are shown."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from tildone.host.tools.tool_failure import ToolFailure

EVERY_FILE = "*"
"""The pattern that matches every file below the working directory, except in `.git`."""

_GIT = ".git"


def resolve_path(path: str, cwd: str) -> str:
    """Return the absolute path, relative to the working directory, with all symbolic links resolved.

    Raises:
        ToolFailure: it is not a valid path.
    """
    if not path.strip():
        raise ToolFailure("The path is empty")
    try:
        return os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    except (OSError, ValueError) as error:
        raise ToolFailure(f"{path!r} is no path: {error}") from error


def is_below(real: str, folder: str) -> bool:
    """Return whether a resolved path is the folder itself or inside it."""
    root = os.path.normcase(os.path.realpath(folder))
    return os.path.join(os.path.normcase(real), "").startswith(os.path.join(root, ""))


def display_path(real: str, cwd: str) -> str:
    """Return a resolved path as it is shown to a model: relative if it is in the working directory."""
    shown = os.path.relpath(real, os.path.realpath(cwd)) if is_below(real, cwd) else real
    return decodable_name(shown)


def decodable_name(name: str) -> str:
    """Return a file name as valid text, with undecodable bytes replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def matches_path(real: str, cwd: str, pattern: str) -> bool:
    """Return whether a pattern matches a resolved path.

    `*` also matches slashes, and a folder matches all files in it. A file outside the working directory is matched only
    by an absolute pattern, and a file in `.git` only by a pattern that names `.git`: git runs programs from there.
    """
    absolute = os.path.isabs(os.path.expanduser(pattern))
    if not absolute and not is_below(real, cwd):
        return False
    shown = (real if absolute else os.path.relpath(real, os.path.realpath(cwd))).replace(os.sep, "/")
    if is_in_git(real, cwd) and _GIT not in pattern:
        return False
    wanted = os.path.expanduser(pattern).replace(os.sep, "/").removeprefix("./").rstrip("/")
    return fnmatchcase(shown, wanted) or fnmatchcase(shown, f"{wanted}/*")


def is_in_git(real: str, cwd: str) -> bool:
    """Return whether a resolved path is in a `.git` folder; outside the working directory, any folder counts."""
    inner = os.path.relpath(real, os.path.realpath(cwd)) if is_below(real, cwd) else real
    return _GIT in os.path.normcase(inner).split(os.sep)
