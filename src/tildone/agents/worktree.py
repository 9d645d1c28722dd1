"""A fingerprint of a project's files: if it differs between two stops of an agent, something was done meanwhile.

Theory of operation. The gate ends a chain of nudges when an agent stops again and again without doing anything. It
cannot see the agent's work, so it compares fingerprints of the files. The fingerprint must change with every edit,
must not change without one, and must cost a few milliseconds. In a git repository it covers the commit and every path
that `git status` reports, with the size and modification time of each: an edit to a file that was already modified
leaves git's own output as it was. Elsewhere it covers all files, except hidden ones and dependencies.

What can go wrong: tildone's own files lie in the project and change at every stop, so the caller excludes them. Git
might take an optional lock, or run a command that the project configures (`core.fsmonitor`): both are switched off,
because the agent may be committing, and the project's settings are not trusted. A folder too large to read in time
has no fingerprint (the empty string), because that of an arbitrary part would change with the part.
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
"""Of how many changed files the size and time are read; of the rest only the names count."""

MAX_WALKED_FILES = 5000
WALK_TIMEOUT_SECONDS = 0.5

_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=")
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
_OTHER_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"})
"""Variables that would make git look at another repository."""

_DEPENDENCIES = frozenset({"node_modules", "__pycache__", "venv"})
_FIELDS_BEFORE_PATH = {"1": 8, "2": 9, "u": 10, "?": 1}
"""By the type of a record in git's porcelain v2 format. A record of type 2 (a rename) is followed by the old path."""


def fingerprint(folder: str, excluded: Sequence[str] = ()) -> str:
    """A fingerprint of the files in a project; empty if it has too many to read in time.

    Paths that begin with one of `excluded` do not count.
    """
    status = _git_status(folder)
    if status is not None:
        return digest("\n".join(_lines_from_git(folder, status, excluded)))
    lines = list(_lines_from_walk(folder, excluded))
    return "" if None in lines else digest("\n".join(line for line in lines if line is not None))


def _git_status(folder: str) -> str | None:
    """The status of the repository; None if there is none, or no git, or it takes too long."""
    if not os.path.exists(os.path.join(folder, ".git")):
        return None
    environ = {name: text for name, text in os.environ.items() if name not in _OTHER_REPOSITORY}
    try:
        output = command_output([*_GIT, "-C", folder, *_STATUS], environ, GIT_TIMEOUT_SECONDS)
    except OSError:
        return None
    return None if output is None else os.fsdecode(output)


def _lines_from_git(folder: str, status: str, excluded: Sequence[str]) -> Iterator[str]:
    """The commit, and each changed path with what git and the file system say of it."""
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
    """The entries of a folder that count, in a fixed order; none if it cannot be read."""
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
        found = os.lstat(path)
    except OSError:
        return "gone"
    return f"{found.st_size} {found.st_mtime_ns}"
