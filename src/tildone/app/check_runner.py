"""`CheckRunner` proves tasks by their checks, and compares proofs with the files as they are now.

Digests of the files that a check depends on, by content: a commit changes none of them.

In a git repository, git knows the hashes of the files that have not changed since they were added, so that only the
others are read. The digest is of what `git ls-files --stage` would print if all changes were added. Elsewhere all files
are read that are neither hidden nor dependencies.
"""

from __future__ import annotations

import os
from hashlib import sha1, sha256
from stat import S_ISDIR, S_ISLNK
from time import monotonic

from tildone.app.person import FIELDS_BEFORE_PATH, STATUS, SafeGit, git_folder, is_repository, walk_files
from tildone.app.trust import Consent
from tildone.base import TYPE_CHECKING, Refused
from tildone.base.files import remove_if_there, replace_file
from tildone.base.private import PRIVATE_FILE, REPLACED, make_private_folder, open_private, real_path_inside
from tildone.plan.model import Proof, Result
from tildone.plan.text.proofs import check_text, output_end
from tildone.stores.agents import digest, digest_of_bytes

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from threading import Event

    from tildone.app.check_commands import CommandResult
    from tildone.app.trust import Approvals
    from tildone.plan.model import Check


MAX_KEPT = 8
"""How many projects have a copy."""

CHECKSUM_BYTES = 20


class KeptListings:
    """Copies of listings in a folder, one for each project; none if the folder is empty text.

    Git need not print the same listing again at each stop of an agent.

    Theory of operation. Git ends its index with a checksum of all that it contains, and a listing depends on nothing
    else. A copy is kept with the checksum of its index and is used only while the index has the same. Git replaces the
    index as a whole, so that a checksum that is the same before and after git has printed a listing is the one of that
    listing. An index without a checksum (`index.skipHash`) has zeros in its place, and no copy is kept of its listing.
    What can go wrong: a copy that is lost, incomplete or cannot be written costs time and nothing else.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def listing(self, project: str, new_listing: Callable[[], bytes | None]) -> bytes | None:
        """Return the listing of a project: the copy, or if it is not valid, a new one, which is then kept."""
        checksum = _checksum(project) if self._folder else b""
        if not checksum:
            return new_listing()
        path = os.path.join(self._folder, digest(project))
        copy = _copy(path, checksum)
        if copy is not None:
            return copy
        found = new_listing()
        if found is not None and _checksum(project) == checksum:
            self._keep(path, checksum, found)
        return found

    def _keep(self, path: str, checksum: bytes, listing: bytes) -> None:
        try:
            make_private_folder(self._folder)
            replace_file(path, _header(checksum, len(listing)) + listing, mode=PRIVATE_FILE, durable=False)
            paths = [os.path.join(self._folder, name) for name in os.listdir(self._folder)]
            for oldest in sorted(paths, key=os.path.getmtime)[:-MAX_KEPT]:
                remove_if_there(oldest)
        except OSError:
            return


def _checksum(project: str) -> bytes:
    """Return the checksum in the index of a project; empty if there is none."""
    try:
        with open(os.path.join(git_folder(project), "index"), "rb") as index:
            index.seek(-CHECKSUM_BYTES, os.SEEK_END)
            checksum = index.read()
    except (OSError, ValueError):
        return b""
    return checksum if any(checksum) else b""


def _copy(path: str, checksum: bytes) -> bytes | None:
    try:
        with open(path, "rb") as file:
            header = file.readline()
            listing = file.read()
    except OSError:
        return None
    return listing if header == _header(checksum, len(listing)) else None


def _header(checksum: bytes, length: int) -> bytes:
    return b"%s %d\n" % (checksum.hex().encode(), length)


HASH_START = 7
"""Where the hash of an entry begins, after its mode."""


def hash_length(listing: bytes) -> int:
    """Return how many hexadecimal digits the hashes in a listing have; 0 if it is empty."""
    return listing.index(b" ", HASH_START) - HASH_START if listing else 0


def with_entries(listing: bytes, entries: Mapping[bytes, bytes]) -> bytes:
    """Return a listing in which the files of these names have these entries; those with an empty one are left out."""
    pieces: list[bytes] = []
    at = 0
    for name in sorted(entries):
        start = _place(listing, name)
        # During a merge, a file has several entries.
        pieces += (listing[at:start], entries[name])
        at = _place(listing, name + b"\0")
    return b"".join((*pieces, listing[at:])) if pieces else listing


def without(listing: bytes, prefixes: Iterable[bytes]) -> bytes:
    for prefix in prefixes:
        start, end = _range(listing, prefix)
        if start < end:
            listing = listing[:start] + listing[end:]
    return listing


def matching(listing: bytes, globs: Iterable[str]) -> Iterator[bytes]:
    at = 0
    for start, end in sorted(span for glob in globs for span in _spans(listing, glob)):
        yield listing[max(at, start) : end]
        at = max(at, end)


def _spans(listing: bytes, glob: str) -> Iterator[tuple[int, int]]:
    literal = glob[: next((i for i, letter in enumerate(glob) if letter in "*?["), len(glob))]
    prefix = os.fsencode(literal)
    if glob == literal:
        yield _place(listing, prefix), _place(listing, prefix + b"\0")
        return
    start, end = _range(listing, prefix)
    if glob == f"{literal}**":
        yield start, end
        return
    fits = pattern(glob).fullmatch
    for entry in listing[start:end].split(b"\0")[:-1]:
        after = start + len(entry) + 1
        if fits(os.fsdecode(entry.partition(b"\t")[2])):
            yield start, after
        start = after


def pattern(glob: str) -> re.Pattern[str]:
    """Return a glob as a regular expression for whole paths, with slashes."""
    import re  # noqa: PLC0415  few checks need globs

    return re.compile(_expression(glob, re.escape))


def matches(path: str, globs: Iterable[str]) -> bool:
    return any(pattern(glob).fullmatch(path) for glob in globs)


def _expression(glob: str, escape: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    while at < len(glob):
        end = glob.find("]", at + 2) if glob[at] == "[" else -1
        if glob.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            parts.append(".*")
            at += 2
        elif end > 0:
            inner = glob[at + 1 : end].replace("\\", "\\\\").replace("!", "^", 1)
            parts.append(f"[{inner}]")
            at = end + 1
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(glob[at], escape(glob[at])))
            at += 1
    return "".join(parts)


def _range(listing: bytes, prefix: bytes) -> tuple[int, int]:
    # The first text that is greater than all texts with the prefix.
    shorter = prefix.rstrip(b"\xff")
    end = _place(listing, shorter[:-1] + bytes((shorter[-1] + 1,))) if shorter else len(listing)
    return _place(listing, prefix), end


def _place(listing: bytes, name: bytes) -> int:
    """Return where the first entry starts whose name is not less than this one."""
    low, high = 0, len(listing)
    while low < high:
        # The entry around the middle: an entry ends with a null byte, and a tab precedes its name.
        start = listing.rfind(b"\0", low, (low + high) // 2) + 1 or low
        tab = listing.index(b"\t", start)
        end = listing.index(b"\0", tab)
        if listing[tab + 1 : end] < name:
            low = end + 1
        else:
            high = start
    return low


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
    return [each for glob in globs for each in (glob, f"{glob.rstrip('/')}/**")]


def _blob(content: bytes, digits: int) -> bytes:
    """Return the hash of a file with this content, as git computes it in a repository with hashes of this length."""
    algorithm = sha256 if digits == SHA256_DIGITS else sha1
    return algorithm(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest().encode()


MAX_SECONDS = 86_400.0
"""How long a check may take whose own limit is longer, or which has none."""

SECONDS_TO_LOOK = 2.5
"""How long a hook may take to look at the files."""


class CheckRunner:
    """Runs the checks of one plan.

    `project` is the working tree. Paths that begin with one of `ignored` are tildone's own, and are watched by nobody.
    `outputs` is the folder where the whole outputs are kept, and `listings` that of `KeptListings`. `started` is called
    before each check is run. `ask` asks the person, if there is a way to, whether a check that was only proposed may be
    run. `seconds` limits how long all checks together may take, in a hook: those that do not end in time are not
    proved, and nothing is known of them. `nobody` returns why the answers to `ask` would be no person's; else nothing.

    A runner is for one change of the plan, or for one look at its proofs: it looks at the files once, and again only
    after it has run a check. What is edited meanwhile makes a proof stale, as it should.
    """

    def __init__(  # noqa: PLR0913  all dependencies are passed by name
        self,
        project: str,
        approvals: Approvals,
        *,
        ignored: Sequence[str] = (),
        outputs: str = "",
        listings: str = "",
        now: Callable[[], int],
        by: Callable[[], str] = str,
        started: Callable[[int, Check], None] = lambda _number, _check: None,
        seconds: float | None = None,
        nobody: Callable[[], str] = str,
    ) -> None:
        self._project = project
        self._approvals = approvals
        self._ignored = tuple(ignored)
        self._outputs = outputs
        self._listings = listings
        self._now = now
        self._by = by
        self.started = started
        self.nobody = nobody
        self.ask: Callable[[int, Check], Consent] = lambda _number, _check: Consent.NO
        self._deadline = None if seconds is None else monotonic() + seconds
        self._running: list[Event] = []
        self._seen: WatchedFiles | None = None

    def is_allowed(self, check: Check) -> bool:
        return self._approvals.is_allowed(check)

    def prove(self, checks: Mapping[int, Check]) -> dict[int, Proof]:
        """Run these checks, one after the other. Several tasks with the same check share one run."""
        done: dict[Check, Proof | None] = {}
        for number, check in checks.items():
            if check not in done:
                done[check] = self._run(number, check)
        return {number: proof for number, check in checks.items() if (proof := done[check]) is not None}

    def stale(self, proofs: Mapping[int, tuple[Check, Proof]]) -> frozenset[int]:
        """Return for which of these proofs the watched files have changed since."""
        files = self._files()
        return frozenset(number for number, (check, proof) in proofs.items() if not _is_fresh(check, proof, files))

    @property
    def status(self) -> bytes | None:
        """What `git status` printed when the files were looked at; None if they were not, or are looked at again."""
        return self._seen.status if self._seen is not None else None

    def _files(self) -> WatchedFiles:
        if self._seen is None:
            seconds = TIMEOUT_SECONDS if self._deadline is None else SECONDS_TO_LOOK
            self._seen = WatchedFiles(self._project, self._ignored, seconds, self._listings)
        return self._seen

    def interrupt(self) -> None:
        """End the checks that other threads run now. They raise `Interrupted` there, and nothing is recorded."""
        for over in tuple(self._running):
            over.set()

    def _is_approved(self, number: int, check: Check) -> bool:
        if self.is_allowed(check):
            return True
        if self.nobody():
            return False
        consent = self.ask(number, check)
        if consent is Consent.ALWAYS:
            self._approvals.approve(check)
        return consent is not Consent.NO

    def _run(self, number: int, check: Check) -> Proof | None:
        """Run a check; None if it did not end in the time that there is."""
        if not self._is_approved(number, check):
            return Proof(Result.REFUSED, check.command, reason="a person has to approve its check first")
        from tildone.base.secrets import Redactor  # noqa: PLC0415  most hooks run no commands

        files, self._seen = self._files(), None
        # Before it runs: what is changed meanwhile, it may not have seen.
        tracked, everything = "" if check.watches else files.tracked(()), files.everything(check.watches)
        self.started(number, check)
        result = self._attempts(check)
        if result is None:
            return None
        outcome = Result.PASSED if result.exit_code == 0 else Result.FAILED
        command = check_text(check)
        reason = "" if outcome is Result.PASSED else f"`{command}` failed with exit code {result.exit_code}"
        if result.exit_code is None:
            outcome, reason = Result.INCONCLUSIVE, f"`{command}` is inconclusive: {result.problem}"
        # A check gets no secrets from the environment, but it may find them in files.
        output = "" if outcome is Result.PASSED else Redactor(os.environ).text(result.output)
        return Proof(
            outcome,
            check.command,
            tracked,
            everything,
            result.exit_code,
            reason,
            result.milliseconds,
            self._now(),
            self._by(),
            "" if outcome is Result.PASSED else self._keep(check, output),
            output_end(output),
            result.program,
            result.program_sha256,
        )

    def _attempts(self, check: Check) -> CommandResult | None:
        """Run a command until it passes, as often as it may fail; None if the time for all checks is over."""
        # Late, because most looks at proofs run no command.
        from threading import Event  # noqa: PLC0415  see above

        from tildone.app.check_commands import CommandResult, run_command  # noqa: PLC0415  see above

        over, environ = Event(), dict(os.environ)
        environ["PATH"] = self._approvals.search_path(check, environ.get("PATH", ""))
        try:
            folder = real_path_inside(self._project, os.path.join(self._project, check.folder))
        except Refused as error:
            return CommandResult(None, str(error), "", 0)
        self._running.append(over)
        try:
            result = None
            for _ in range(check.retries + 1):
                left = self._seconds_left()
                if left <= 0:
                    return None
                over.clear()
                result = run_command(check.command, folder, min(check.seconds, left), environ, over)
                if result.exit_code in (0, None):
                    break
            is_late = result is None or (result.exit_code is None and self._seconds_left() <= 0)
            return None if is_late else result
        finally:
            self._running.remove(over)

    def _seconds_left(self) -> float:
        return MAX_SECONDS if self._deadline is None else self._deadline - monotonic()

    def _keep(self, check: Check, output: str) -> str:
        """Write the whole output to a file, in place of the last one, and return its path; empty if that fails."""
        if not self._outputs:
            return ""
        path = os.path.join(self._outputs, digest("\0".join((self._project, check.folder, *check.command))) + ".log")
        try:
            make_private_folder(self._outputs)
            with os.fdopen(open_private(path, REPLACED), "w", encoding="utf-8", errors="replace") as file:
                file.write(output)
        except OSError:
            return ""
        return path


def _is_fresh(check: Check, proof: Proof, files: WatchedFiles) -> bool:
    """Return whether the files are as they were.

    A check that names what it watches watches all such files, tracked or not. One that does not watches the tracked
    files: a new file that is added to the repository was there before it was tracked, and one that is not added is not
    watched, so that it suffices if one of the two digests is the same.
    """
    if not proof.files and not proof.all_files:
        return True
    # What cannot be read now, in time, is not called stale.
    if proof.files and files.tracked(check.watches) in ("", proof.files):
        return True
    return proof.all_files != "" and files.everything(check.watches) in ("", proof.all_files)
