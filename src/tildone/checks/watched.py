"""Digests of the files that a check depends on, by content: a commit changes none of them.

In a git repository, git knows the hashes of the files that have not changed since they were added, so that only the
others are read. The digest is of what `git ls-files --stage` would print if all changes were added. Elsewhere all files
are read that are neither hidden nor dependencies.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK
from time import monotonic

from tildone.agents.identity import digest_of_bytes
from tildone.agents.worktree import FIELDS_BEFORE_PATH, STATUS, SafeGit, is_repository, walk_files
from tildone.checks.kept_listings import KeptListings
from tildone.checks.listing import hash_length, matching, with_entries, without
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TIMEOUT_SECONDS = 10.0
MAX_FILES = 20_000
"""How many files outside a repository are read; of more, there is no digest, and a proof does not become stale."""

SHA256_DIGITS = 64


class WatchedFiles:
    """The files of a project at one moment. Each digest is computed once; an empty one means that it is not known.

    Paths that begin with one of `ignored` are left out. `listings` is the folder with the copies of listings, if there
    is one.
    """

    def __init__(
        self, project: str, ignored: Sequence[str] = (), seconds: float = TIMEOUT_SECONDS, listings: str = ""
    ) -> None:
        self._project = project
        self._own = tuple(os.fsencode(os.path.relpath(path, project).replace(os.sep, "/")) for path in ignored)
        self._ignored = tuple(ignored)
        self._git = SafeGit(project, monotonic() + seconds) if is_repository(project) else None
        self.status = None if self._git is None else self._git.output(*STATUS)
        """What `git status` prints; None if there is no repository, or if that takes too long."""
        self._changed, self._others = _changes(self.status or b"")
        self._kept = KeptListings(listings)
        self._listings: dict[bool, bytes | None] = {}
        self._digests: dict[tuple[bool, tuple[str, ...]], str] = {}

    def tracked(self, globs: tuple[str, ...]) -> str:
        """Return the digest of the tracked files that match; outside a repository, of all files."""
        return self._digest(globs, tracked=True)

    def everything(self, globs: tuple[str, ...]) -> str:
        """Return the digest of the files that match and are not ignored, tracked or not."""
        return self._digest(globs, tracked=False)

    def _digest(self, globs: tuple[str, ...], *, tracked: bool) -> str:
        key = (tracked or not self._others, globs)
        if key not in self._digests:
            found = self._from_folder(globs) if self._git is None else self._from_git(globs, tracked=key[0])
            self._digests[key] = "" if found is None else digest_of_bytes(found)
        return self._digests[key]

    def _from_git(self, globs: tuple[str, ...], *, tracked: bool) -> bytes | None:
        """Return what `git ls-files --stage` would print of these files if all changes were added."""
        listing = self._listing(tracked=tracked)
        return b"".join(matching(listing, _with_contents(globs))) if listing is not None and globs else listing

    def _listing(self, *, tracked: bool) -> bytes | None:
        if tracked not in self._listings:
            before = self._added() if tracked else self._listing(tracked=True)
            names = self._changed if tracked else self._others
            self._listings[tracked] = before if before is None else self._with_changes(before, names)
        return self._listings[tracked]

    def _added(self) -> bytes | None:
        """Return what `git ls-files --stage` prints; None if it cannot be known which files have changed since."""
        git = self._git
        if git is None or self.status is None:
            return None
        return self._kept.listing(self._project, lambda: git.output("ls-files", "--stage", "-z"))

    def _with_changes(self, listing: bytes, names: set[bytes]) -> bytes:
        """Return a listing with these files as they are now, and without our own files."""
        digits = hash_length(listing)
        entries = {name: self._entry(name, digits) for name in names if not name.startswith(self._own)}
        return without(with_entries(listing, entries), self._own)

    def _entry(self, name: bytes, digits: int = 0) -> bytes:
        """Return the entry of a file as git would print it; empty if the file is gone."""
        found = self._hash(name, digits)
        return found + b" 0\t" + name + b"\0" if found else b""

    def _hash(self, name: bytes, digits: int) -> bytes:
        """Return the mode and the hash of a file as git computes them; empty if it is gone."""
        path = os.path.join(os.fsencode(self._project), name)
        try:
            info = os.lstat(path)
            if S_ISLNK(info.st_mode):
                return b"120000 " + _blob(os.fsencode(os.readlink(path)), digits)
            if S_ISDIR(info.st_mode):
                return self._commit(os.fsdecode(path))
            with open(path, "rb") as file:
                return (b"100755 " if info.st_mode & 0o100 else b"100644 ") + _blob(file.read(), digits)
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
        return b"".join(sorted(found))


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


def _with_contents(globs: Iterable[str]) -> list[str]:
    """Return the globs, each also as a folder with everything in it."""
    return [each for glob in globs for each in (glob, f"{glob.rstrip('/')}/**")]


def _blob(content: bytes, digits: int) -> bytes:
    """Return the hash of a file with this content, as git computes it in a repository with hashes of this length."""
    # Late, because importing it takes longer than all else here if no file has changed.
    from hashlib import sha1, sha256  # noqa: PLC0415  see above

    algorithm = sha256 if digits == SHA256_DIGITS else sha1
    return algorithm(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest().encode()
