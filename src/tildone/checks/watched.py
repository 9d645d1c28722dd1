"""Digests of the files that a check depends on, by content: a commit changes none of them.

In a git repository, git knows the hashes of the files that have not changed since they were added, so that only the
others are read. Elsewhere all files are read that are neither hidden nor dependencies.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from hashlib import blake2b, sha1
from stat import S_ISDIR, S_ISLNK
from time import monotonic

from tildone.agents.worktree import FIELDS_BEFORE_PATH, STATUS, SafeGit, is_repository, walk_files
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TIMEOUT_SECONDS = 10.0
MAX_FILES = 20_000
"""How many files outside a repository are read; of more, there is no digest, and a proof does not become stale."""


class WatchedFiles:
    """The files of a project at one moment. Each digest is computed once; an empty one means that it is not known."""

    def __init__(self, project: str, ignored: Sequence[str] = (), seconds: float = TIMEOUT_SECONDS) -> None:
        self._project = project
        self._own = tuple(os.fsencode(os.path.relpath(path, project)) for path in ignored)
        self._ignored = tuple(ignored)
        self._git = SafeGit(project, monotonic() + seconds) if is_repository(project) else None
        self._digests: dict[tuple[bool, tuple[str, ...]], str] = {}
        self._outputs: dict[tuple[str, ...], bytes | None] = {}
        self._tables: dict[bool, tuple[list[bytes], list[bytes]]] = {}
        self._entries: dict[bytes, bytes] = {}

    @property
    def status(self) -> bytes | None:
        """What `git status` prints; None if there is no repository, or if that takes too long."""
        return self._output(*STATUS)

    def tracked(self, globs: tuple[str, ...]) -> str:
        """Return the digest of the tracked files that match; outside a repository, of all files."""
        return self._digest(globs, tracked=True)

    def everything(self, globs: tuple[str, ...]) -> str:
        """Return the digest of the files that match and are not ignored, tracked or not."""
        return self._digest(globs, tracked=False)

    def _digest(self, globs: tuple[str, ...], *, tracked: bool) -> str:
        key = (tracked or self._git is None, globs)
        if key not in self._digests:
            found = self._from_folder(globs) if self._git is None else self._from_git(globs, tracked=tracked)
            self._digests[key] = "" if found is None else blake2b(found, digest_size=12).hexdigest()
        return self._digests[key]

    def _output(self, *arguments: str) -> bytes | None:
        if arguments not in self._outputs:
            self._outputs[arguments] = self._git.output(*arguments) if self._git is not None else None
        return self._outputs[arguments]

    def _from_git(self, globs: tuple[str, ...], *, tracked: bool) -> bytes | None:
        """Return what `git ls-files --stage` would print if all changes were added."""
        known, status = self._output("ls-files", "--stage", "-z"), self.status
        if known is None or status is None:
            return None
        changed, others = _changes(status)
        names = changed if tracked else changed | others
        if not globs and not names and not any(b"\t" + path in known for path in self._own):
            return known
        if tracked not in self._tables:
            self._tables[tracked] = self._table(known, names)
        names_in_order, entries = self._tables[tracked]
        places = _matching(names_in_order, globs) if globs else range(len(entries))
        return b"".join(entries[place] for place in places)

    def _table(self, known: bytes, names: set[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Return the names of the files in order, and their entries in the output."""
        # By name, because a file is in the list several times during a merge.
        found = {entry.partition(b"\t")[2]: entry for entry in known.split(b"\0") if entry}
        for name in names:
            if name not in self._entries:
                self._entries[name] = self._entry(name)
            found[name] = self._entries[name]
        kept = [
            (name, entry) for name, entry in found.items() if entry and not (self._own and name.startswith(self._own))
        ]
        kept.sort()
        return [name for name, _ in kept], [entry + b"\0" for _, entry in kept]

    def _entry(self, name: bytes) -> bytes:
        found = self._hash(name)
        return found + b" 0\t" + name if found else b""

    def _hash(self, name: bytes) -> bytes:
        """Return the mode and the hash of a file as git computes them; empty if it is gone."""
        path = os.path.join(os.fsencode(self._project), name)
        try:
            info = os.lstat(path)
            if S_ISLNK(info.st_mode):
                return b"120000 " + _blob(os.fsencode(os.readlink(path)))
            if S_ISDIR(info.st_mode):
                return self._commit(os.fsdecode(path))
            with open(path, "rb") as file:
                return (b"100755 " if info.st_mode & 0o100 else b"100644 ") + _blob(file.read())
        except (OSError, ValueError):
            return b""

    def _commit(self, path: str) -> bytes:
        """Return the entry of a submodule, which is the commit that is checked out; empty if it has none."""
        git = SafeGit(path, monotonic() + TIMEOUT_SECONDS) if is_repository(path) else None
        commit = git and git.output("rev-parse", "--verify", "HEAD")
        return b"160000 " + commit.strip() if commit else b""

    def _from_folder(self, globs: tuple[str, ...]) -> bytes | None:
        from tildone.checks.globs import matches  # noqa: PLC0415  most projects are repositories

        found: list[bytes] = []
        for path in walk_files(self._project, self._ignored, MAX_FILES, TIMEOUT_SECONDS):
            if path is None:
                return None
            name = os.path.relpath(path, self._project)
            if not globs or matches(name.replace(os.sep, "/"), _with_contents(globs)):
                found.append(self._entry(os.fsencode(name)))
        return b"\0".join(sorted(found))


def _changes(status: bytes) -> tuple[set[bytes], set[bytes]]:
    """Return the names of the tracked files that differ from the index, and of those that are not tracked."""
    changed, others = set[bytes](), set[bytes]()
    records = iter(status.split(b"\0"))
    for record in records:
        kind = record[:1].decode("ascii", "replace")
        fields = FIELDS_BEFORE_PATH.get(kind)
        if fields is None:
            continue
        name = record.split(b" ", fields)[-1]
        if kind == "2":
            # The name before.
            next(records, None)
        if kind == "?":
            others.add(name)
        elif kind == "u" or record[3:4] != b".":
            changed.add(name)
    return changed, others


def _matching(names: list[bytes], globs: Iterable[str]) -> list[int]:
    """Return the places of the names, which are in order, that match one of the globs."""
    found: set[int] = set()
    for glob in _with_contents(globs):
        prefix = os.fsencode(glob[: next((i for i, letter in enumerate(glob) if letter in "*?["), len(glob))])
        end = bisect_left(names, prefix[:-1] + bytes((min(prefix[-1] + 1, 255),))) if prefix else len(names)
        places = range(bisect_left(names, prefix), end)
        if glob.encode() == prefix + b"**":
            found.update(places)
        elif os.fsencode(glob) == prefix:
            found.update(place for place in places[:1] if names[place] == prefix)
        else:
            # Late, because few checks need it.
            from tildone.checks.globs import pattern  # noqa: PLC0415  see above

            fits = pattern(glob).fullmatch
            found.update(place for place in places if fits(os.fsdecode(names[place])))
    return sorted(found)


def _with_contents(globs: Iterable[str]) -> list[str]:
    """Return the globs, each also as a folder with everything in it."""
    return [each for glob in globs for each in (glob, f"{glob.rstrip('/')}/**")]


def _blob(content: bytes) -> bytes:
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest().encode()
