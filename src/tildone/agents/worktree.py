"""A fingerprint of a project's files, which shows whether an agent changed anything between two stops.

Theory of operation. The gate ends a chain of nudges when an agent stops again and again without doing anything. It
cannot see the agent's work, so it compares fingerprints of the files. The fingerprint must change with every edit,
must not change without one, and must take only a few milliseconds. In a git repository, it covers the commit and every
path that `git status` reports, with its size and modification time, because another edit to a modified file does not
change the output of git. Elsewhere, it covers all files except hidden ones and dependencies.

What can go wrong: tildone's own files may be in the project and change at every stop, so the caller excludes them. Git
might take an optional lock or run a command that the project configures (`core.fsmonitor`). Both are disabled, because
the agent may be committing, and the project's settings are not trusted. A folder that is too large to read in time has
no fingerprint (the empty string), because the part that was read could differ between two stops.
"""

from __future__ import annotations

import os
from time import monotonic

from tildone.agents.command_output import command_output
from tildone.agents.identity import digest
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GIT_TIMEOUT_SECONDS = 1.5

MAX_INSPECTED_FILES = 2000
"""How many changed files are inspected for size and time; for the others, only the output of git counts."""

MAX_WALKED_FILES = 5000
WALK_TIMEOUT_SECONDS = 0.5

_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=")
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
_OTHER_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"})
"""Variables that would make git look at another repository."""

_DEPENDENCIES = frozenset({"node_modules", "__pycache__", "venv"})
_FIELDS_BEFORE_PATH = {"1": 8, "2": 9, "u": 10, "?": 1}
"""For each type of record in git's porcelain v2 format. A record of type 2 (a rename) is followed by the old path."""


def fingerprint(folder: str, excluded: Sequence[str] = ()) -> str:
    """Return a fingerprint of the files in a project; empty if there are too many to read in time.

    Paths that begin with one of `excluded` are ignored.
    """
    status = _git_status(folder)
    if status is not None:
        return digest("\n".join(_lines_from_git(folder, status, excluded)))
    lines = list(_lines_from_walk(folder, excluded))
    return "" if None in lines else digest("\n".join(line for line in lines if line is not None))


def _git_status(folder: str) -> str | None:
    """The output of `git status`; None if there is no repository or no git, or if it takes too long."""
    if not os.path.exists(os.path.join(folder, ".git")):
        return None
    environ = {name: text for name, text in os.environ.items() if name not in _OTHER_REPOSITORY}
    try:
        output = command_output([*_GIT, "-C", folder, *_STATUS], environ, GIT_TIMEOUT_SECONDS)
    except OSError:
        return None
    return None if output is None else os.fsdecode(output)


def _lines_from_git(folder: str, status: str, excluded: Sequence[str]) -> Iterator[str]:
    """The commit, and each changed path with its status, size and time."""
    records = iter(status.split("\0"))
    inspected = 0
    for record in records:
        if record.startswith("# branch.oid "):
            yield record
        fields = _FIELDS_BEFORE_PATH.get(record[:1])
        if fields is None:
            continue
        path = os.path.join(folder, record.split(" ", fields)[-1])
        if record[0] == "2":
            next(records, None)
        if path.startswith(tuple(excluded)):
            continue
        yield record
        inspected += 1
        if inspected <= MAX_INSPECTED_FILES:
            yield _size_and_time(path)


def _lines_from_walk(folder: str, excluded: Sequence[str]) -> Iterator[str | None]:
    """Every file with its size and time; ends with None if a limit was reached."""
    deadline = monotonic() + WALK_TIMEOUT_SECONDS
    folders, files = [folder], 0
    while folders:
        if monotonic() > deadline:
            yield None
            return
        for entry in _entries(folders.pop(), excluded):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
                continue
            files += 1
            if files > MAX_WALKED_FILES:
                yield None
                return
            yield f"{entry.path} {_size_and_time(entry.path)}"


def _entries(folder: str, excluded: Sequence[str]) -> Iterator[os.DirEntry[str]]:
    """The relevant entries of a folder, sorted by name; none if it cannot be read."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        hidden = entry.name.startswith(".") or entry.name in _DEPENDENCIES
        if not hidden and not entry.path.startswith(tuple(excluded)):
            yield entry


def _size_and_time(path: str) -> str:
    try:
        info = os.lstat(path)
    except OSError:
        return "gone"
    return f"{info.st_size} {info.st_mtime_ns}"
