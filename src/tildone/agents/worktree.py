"""Whether anything was done to the files of a project, told from a mark of them: another mark, other files."""

from __future__ import annotations

import os
import sys
from time import monotonic

from tildone.agents.identity import digest
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECONDS = 1.5
"""How long git may take."""

MOST = 2000
"""Of how many changed files size and time are looked at."""

MOST_WALKED = 5000
SECONDS_WALKED = 0.5

_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=")
_STATUS = ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
_ELSEWHERE = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX"})
_NOT_WORK = frozenset({"node_modules", "__pycache__", "venv"})
_FIELDS = {"1": 8, "2": 9, "u": 10, "?": 1}
"""How many fields stand before the path, by the kind of a record; after a path of kind 2 comes the one it had."""


def fingerprint(folder: str, apart: Sequence[str] = ()) -> str:
    """A mark of what is in a project; empty if that would take too long to say.

    In a git repository that is the commit, and every file that differs from it or is not known to it. Elsewhere it is
    every file, if there are not too many. Paths that begin like one of those `apart` do not count.
    """
    status = _git_status(folder)
    if status is not None:
        return _marked(_told_by_git(folder, status, apart))
    found = list(_walked(folder, apart))
    return "" if None in found else _marked(path for path in found if path is not None)


def _marked(lines: Iterator[str]) -> str:
    return digest("\n".join(lines))


def _git_status(folder: str) -> str | None:
    """What git says of the project; None where it is none of git's, or there is no git, or it takes too long."""
    if not os.path.exists(os.path.join(folder, ".git")):
        return None
    environ = {name: held for name, held in os.environ.items() if name not in _ELSEWHERE}
    try:
        said = _output([*_GIT, "-C", folder, *_STATUS], environ)
    except OSError:
        return None
    return None if said is None else os.fsdecode(said)


def _told_by_git(folder: str, status: str, apart: Sequence[str]) -> Iterator[str]:
    records = iter(status.split("\0"))
    looked_at = 0
    for record in records:
        if record.startswith("# branch.oid "):
            yield record
        fields = _FIELDS.get(record[:1])
        if fields is None:
            continue
        path = os.path.join(folder, record.split(" ", fields)[-1])
        if record[0] == "2":
            next(records, None)
        if path.startswith(tuple(apart)):
            continue
        yield record
        looked_at += 1
        if looked_at <= MOST:
            yield _size_and_time(path)


def _walked(folder: str, apart: Sequence[str]) -> Iterator[str | None]:
    """Every file with its size and time; None at the end if that is not all."""
    until = monotonic() + SECONDS_WALKED
    waiting, seen = [folder], 0
    while waiting:
        if monotonic() > until:
            yield None
            return
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name in _NOT_WORK or entry.path.startswith(tuple(apart)):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
                continue
            seen += 1
            if seen > MOST_WALKED:
                yield None
                return
            yield f"{entry.path} {_size_and_time(entry.path)}"


def _size_and_time(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return "gone"
    return f"{found.st_size} {found.st_mtime_ns}"


if sys.platform == "win32":

    def _output(command: list[str], environ: dict[str, str]) -> bytes | None:
        """What a program prints; None if it fails, or is not done in time."""
        # Late, because it takes longer to load than git takes to answer; elsewhere there is another way.
        from subprocess import DEVNULL, SubprocessError, run  # noqa: PLC0415  see above

        try:
            done = run(command, stdin=DEVNULL, capture_output=True, env=environ, timeout=SECONDS, check=True)  # noqa: S603  its words are ours
        except SubprocessError:
            return None
        return done.stdout

else:
    import select

    _KILL = 9
    """The signal of that name, whose module takes as long to load as all of this."""

    def _output(command: list[str], environ: dict[str, str]) -> bytes | None:
        """What a program prints; None if it fails, or is not done in time."""
        ours, theirs = os.pipe()
        try:
            nowhere = (
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_RDWR, 0),
            )
            actions = [*nowhere, (os.POSIX_SPAWN_DUP2, theirs, 1)]
            child = os.posix_spawnp(command[0], command, environ, file_actions=actions)
            os.close(theirs)
            theirs = -1
            said = _read(ours)
            if said is None:
                os.kill(child, _KILL)
            _, status = os.waitpid(child, 0)
            return said if status == 0 else None
        finally:
            os.close(ours)
            if theirs >= 0:
                os.close(theirs)

    def _read(file: int) -> bytes | None:
        """All that comes out of a pipe until it is closed; None if that takes too long."""
        until, said = monotonic() + SECONDS, bytearray()
        while (left := until - monotonic()) > 0 and select.select([file], [], [], left)[0]:
            piece = os.read(file, 1 << 16)
            if not piece:
                return bytes(said)
            said += piece
        return None
