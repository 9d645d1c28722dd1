"""The store in a folder of session files in pi's format, one file per session: a log, with records beside it.

The methods are documented by `Store` and `Records` in `tildone.log.store`.

Theory of operation. Writers hold the folder's lock, read what was appended since their last read, check the head, and
append whole lines with one `write` and an fsync. Nothing in a file is ever changed, so pi, which uses no lock, may
append to the same file: an entry that it appends becomes an ancestor of the next event, or starts a branch.

Readers take no lock. They see complete lines only: a line without its newline is a write in progress, or was torn by a
crash and is skipped. Several lines that belong together form a batch that is ignored until its last line is there.

The modification time of a file orders sessions by their last event. The store sets it explicitly, to times that only
grow (`FolderLock.next_mtime`), and an entry that only moves the head leaves it as it was.

Deleting a session removes its file if tildone alone has written to it. Otherwise an entry is appended that cancels all
events before it, and the conversation stays.

Each kind of record is one small file in the folder, with a line of JSON for each. pi reads only `*.jsonl` files, so it
does not notice them. A file is replaced as a whole under the folder's lock, under which events are appended, too, and
read without it. It is not flushed to disk: what a loss of power removes is written again by the agents and readers that
wrote it, and no agent is running then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import time_ns

from tildone.base import HeadMoved, StoreError, UnknownEvent, UnknownNeed, durable
from tildone.base.durable import FolderLock, set_mtime
from tildone.base.json import dump, parse
from tildone.log.kept import Finding, KeptSummary, counts_of
from tildone.log.needs import Need, answered, decode_needs, encode_need, open_needs, without_old
from tildone.log.presence import Presence, decode_presences, encode_presence, with_presence
from tildone.log.store import ProgressCallback
from tildone.plan import claims as claiming
from tildone.plan.claims import Claim, ClaimFence, encode_claimant
from tildone.plan.events import Event, SessionChange, SessionHead, SessionInfo
from tildone.stores import TIMEOUT_SECONDS
from tildone.stores.memory import ClaimsOfSessions
from tildone.stores.pi.entries import PlanInEntry
from tildone.stores.pi.folder import (
    MAX_BATCH_EVENTS,
    Folder,
    Histories,
    Listing,
    read_lines,
    read_seen,
    remove_seen,
    write_lines,
    write_seen,
)
from tildone.stores.pi.history import Draft, History, import_draft, unknown_events
from tildone.stores.polling import Changes, wait_until

Fingerprint = tuple[int, int, int]


PRESENCES, NEEDS, SUMMARIES = ".tildone.presence", ".tildone.needs", ".tildone.summaries"
CLAIMS = ".tildone.claims"


class JsonlRecords(ClaimsOfSessions):
    """What the store in a folder of session files keeps beside the log."""

    def __init__(self, files: Histories) -> None:
        self._files = files
        self._folder = files.folder
        self._feed: ChangeFeed | None = None

    def seen(self, session: str, reader: str) -> str | None:
        return read_seen(self._folder.path, session).get(reader)

    def set_seen(self, session: str, reader: str, head: str | None) -> None:
        def record(history: History | None, _lock: FolderLock) -> None:
            if history is not None and history.has_events():
                write_seen(self._folder.path, session, reader, head)

        if head != self.seen(session, reader):
            self._files.change(session, record)

    def revision(self) -> int:
        with self._files.changed:
            return self._change_feed().revision()

    def changed(self, since: int) -> list[SessionChange]:
        with self._files.changed:
            return self._change_feed().changed(since)

    def wait_any(self, revision: int, timeout: float) -> bool:
        return wait_until(self._files.changed, lambda: self.revision() != revision, timeout)

    def beat(self, presence: Presence) -> None:
        with self._files.lock():
            _write_presences(self._folder.path, with_presence(self.presences(), presence))

    def leave(self, agent: str) -> None:
        if any(each.agent == agent for each in self.presences()):
            with self._files.lock():
                _write_presences(self._folder.path, [each for each in self.presences() if each.agent != agent])

    def presences(self) -> list[Presence]:
        return decode_presences(read_lines(self._folder.path, PRESENCES))

    def ask(self, need: Need) -> None:
        def added(needs: list[Need]) -> list[Need]:
            return needs if any(each.id == need.id for each in needs) else without_old([*needs, need], need.since)

        self._change_needs(added)

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        decided: list[Need] = []

        def with_answer(needs: list[Need]) -> list[Need]:
            decided.extend(answered(each, answer, by, at) for each in needs if each.id == need)
            if not decided:
                raise UnknownNeed(need)
            return without_old([*decided, *(each for each in needs if each.id != need)], at)

        self._change_needs(with_answer)
        return decided[0]

    def withdraw(self, need: str) -> None:
        self._change_needs(lambda needs: [each for each in needs if each.id != need or not each.is_open])

    def need(self, need: str) -> Need | None:
        return next((each for each in read_needs(self._folder.path) if each.id == need), None)

    def needs(self) -> list[Need]:
        return open_needs(read_needs(self._folder.path))

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> list[Claim]:
        taken: list[Claim] = []

        def check() -> None:
            now, known = self._now(), read_claims(self._folder.path)
            before = known.get(session, [])
            after = claiming.fenced(session, before, fence, now)
            # Before the event: a claim without its event lapses, but nothing would fence an event without its claim.
            if after != before:
                write_claims(self._folder.path, known | {session: after})
            taken.extend(claiming.taken(before, after, now))

        self._files.append(session, event, seen_by, check)
        return taken

    def claims(self, session: str) -> list[Claim]:
        return claiming.unreleased(read_claims(self._folder.path).get(session, []), self._now())

    def kept_summaries(self) -> dict[str, KeptSummary]:
        return dict(_summaries(self._folder.path))

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        try:
            existing = self._folder.files()
            kept = {session: each for session, each in summaries.items() if session in existing}
            if kept:
                with FolderLock(self._folder.path, 0):
                    _write_summaries(self._folder.path, self.kept_summaries() | kept)
        except StoreError:
            return

    def density(self, session: str, begin: int, end: int, buckets: int) -> list[int]:
        return counts_of((event.at for event in self._files.events(session)), begin, end, buckets)

    def _change_feed(self) -> ChangeFeed:
        if self._feed is None:
            self._feed = ChangeFeed(self._files)
        return self._feed

    def _change_needs(self, change: Callable[[list[Need]], list[Need]]) -> None:
        folder = self._folder.path
        with self._files.lock() as lock, self._files.changed:
            before = read_needs(folder)
            after = change(before)
            if after != before:
                _write_needs(folder, after)
                # Two files of the same size may follow each other faster than the clock of the file system counts.
                set_mtime(os.path.join(folder, NEEDS), lock.next_mtime(self._files.clock()))
            self._files.changed.notify_all()

    def change_claims(self, session: str, change: Callable[[list[Claim], int], list[Claim]]) -> tuple[list[Claim], int]:
        with self._files.lock():
            now, known = self._now(), read_claims(self._folder.path)
            before = known.get(session, [])
            after = change(before, now)
            if after != before:
                write_claims(self._folder.path, known | {session: after})
        return after, now

    def _now(self) -> int:
        return self._files.clock() // 1_000_000


def read_needs(folder: str) -> list[Need]:
    return decode_needs(read_lines(folder, NEEDS))


def forget_session(folder: str, session: str) -> None:
    """Remove what is kept of a session that is deleted. The caller holds the folder's lock.

    Raises StoreError if a file cannot be written.
    """
    presences = decode_presences(read_lines(folder, PRESENCES))
    if any(each.session == session for each in presences):
        _write_presences(folder, [each for each in presences if each.session != session])
    needs = read_needs(folder)
    if any(need.session == session for need in needs):
        _write_needs(folder, [need for need in needs if need.session != session])
    claims = read_claims(folder)
    if claims.pop(session, None):
        write_claims(folder, claims)
    summaries = dict(_summaries(folder))
    if summaries.pop(session, None):
        _write_summaries(folder, summaries)


def _summaries(folder: str) -> Iterator[tuple[str, KeptSummary]]:
    for line in read_lines(folder, SUMMARIES):
        try:
            match parse(line):
                case [str(session), str() | None as head, str(text)]:
                    yield session, KeptSummary(head, text)
        except ValueError:
            continue


def _write_presences(folder: str, presences: Iterable[Presence]) -> None:
    write_lines(folder, PRESENCES, [encode_presence(each) for each in presences])


def _write_needs(folder: str, needs: Iterable[Need]) -> None:
    write_lines(folder, NEEDS, [encode_need(each) for each in needs])


def _write_summaries(folder: str, summaries: Mapping[str, KeptSummary]) -> None:
    write_lines(folder, SUMMARIES, [dump([session, each.head, each.text]) for session, each in summaries.items()])


def read_claims(folder: str) -> dict[str, list[Claim]]:
    found: dict[str, list[Claim]] = {}
    for line in read_lines(folder, CLAIMS):
        try:
            match parse(line):
                case [str(session), int(task), int(epoch), int(until), str(holder), str(before)]:
                    claim = claiming.decode_claim(task, epoch, until, (holder, before), 0)
                    found.setdefault(session, []).append(claim)
        except ValueError:
            continue
    return found


def write_claims(folder: str, claims: dict[str, list[Claim]]) -> None:
    """Replace, under the folder's lock, the claims of all sessions. Raises StoreError if the file cannot be written."""
    rows = [
        [session, claim.task, claim.epoch, claim.until, encode_claimant(claim.holder), encode_claimant(claim.before)]
        for session, each in claims.items()
        for claim in each
    ]
    write_lines(folder, CLAIMS, map(dump, rows))


class ChangeFeed:
    """What changed in the files of a folder, for one thread at a time.

    Theory of operation. pi appends to the files without telling anybody, so a change is noticed by looking: a scan
    compares the inode, the size and the modification time of every file with those of the scan before. Only the files
    that differ are read, and every one counts, even if only another program has written to it. Of several changes
    between two scans, the order is that of the modification times. The file of questions is compared in the same way: a
    session changes when it gets a question, or when one is answered or withdrawn.

    Revisions are numbers of this object. They begin at the time of its creation in microseconds: one that was kept from
    an object of the past is smaller than all of them, and everything has changed since.
    """

    def __init__(self, histories: Histories) -> None:
        self._folder = histories.folder
        self._histories = histories
        self._changes = Changes(histories.clock() // 1000)
        self._files: dict[str, tuple[Fingerprint, str | None]] = {}
        self._needs: tuple[Fingerprint | None, dict[str, Need]] = None, {}

    def revision(self) -> int:
        self._scan()
        return self._changes.revision

    def changed(self, since: int) -> list[SessionChange]:
        self._scan()
        return [self._change(session, revision) for session, revision in self._changes.after(since)]

    def _scan(self) -> None:
        found = {path: mark for path in self._folder.paths() if (mark := _fingerprint(path)) is not None}
        changed = [self._files.pop(path)[1] for path in [*self._files] if path not in found]
        for path in sorted(found, key=lambda path: found[path][2]):
            fingerprint, session = self._files.get(path, (None, None))
            if fingerprint != found[path]:
                self._files[path] = found[path], self._folder.session_or_none(path)
                changed += [session, self._files[path][1]]
        for session in dict.fromkeys([*changed, *self._asked()]):
            if session is not None:
                self._changes.add(session)

    def _asked(self) -> list[str]:
        """Return the sessions with a question that was asked, answered or withdrawn since the last scan."""
        mark, before = self._needs
        found = _fingerprint(os.path.join(self._folder.path, NEEDS))
        if found == mark:
            return []
        after = {need.id: need for need in read_needs(self._folder.path)}
        self._needs = found, after
        # An answered question goes in the end, which is no change.
        withdrawn = [need for name, need in before.items() if name not in after and need.is_open]
        return [need.session for need in (*withdrawn, *after.values()) if before.get(need.id) != after.get(need.id)]

    def _change(self, session: str, revision: int) -> SessionChange:
        try:
            head, exists = self._histories.use(session, _head)
        except StoreError:
            # Whoever reads the session gets the error.
            head, exists = None, True
        return SessionChange(session, head, revision, exists=exists)


def _head(history: History | None) -> tuple[str | None, bool]:
    """Return the head, and whether there is a session: the conversation of another program may have no events."""
    if history is None:
        return None, False
    head = history.session_head().head
    return head, head is not None or history.has_events()


def _fingerprint(path: str) -> Fingerprint | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class JsonlStore:
    """A store in a folder of session files. Acknowledged changes are on disk.

    `recover` returns the plan in an entry of another program. Entries of other programs are never changed. Raises
    StoreError if the folder or a file cannot be used; the subclass says why. Any method may raise it.
    """

    durable = True
    user = ""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        recover: PlanInEntry,
        *,
        timeout: float = TIMEOUT_SECONDS,
        clock: Callable[[], int] = time_ns,
    ) -> None:
        self._folder = Folder(os.path.abspath(folder))
        self._recover = recover
        self._files = Histories(self._folder, recover, timeout, clock)
        self._listing = Listing(self._folder, recover)
        self.records = JsonlRecords(self._files)
        # List the folder at once, so that errors are raised on opening.
        self._folder.paths()

    def session_head(self, session: str) -> SessionHead:
        return self._files.read(session, History.session_head) or SessionHead()

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        newest = self.session_head(session).head if head is None else head
        return iter(()) if newest is None else self._ancestors(session, self._path(session, newest, 1))

    def events(self, session: str) -> Iterator[Event]:
        return self._files.events(session)

    def append(self, session: str, event: Event, seen_by: str = "") -> None:
        self._files.append(session, event, seen_by)

    def move_head(self, session: str, to: SessionHead, *, expected: str | None) -> None:
        def set_head(history: History | None, _lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != expected:
                raise HeadMoved(session)
            draft.set_head(to, self._files.clock() // 1_000_000)
            if history is not None and history.has_events():
                self._folder.write(session, history, draft)

        self._files.change(session, set_head)

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        imported = list(events)

        def insert(history: History | None, lock: FolderLock) -> int:
            new = unknown_events(session, history, imported)
            draft = import_draft(history, new, to, self._files.clock() // 1_000_000)
            if new:
                self._folder.write(session, history, draft, lock.next_mtime(self._files.clock()))
            elif history is not None and history.has_events():
                self._folder.write(session, history, draft)
            return len(new)

        return self._files.change(session, insert)

    def delete(self, session: str, *, expected: str | None) -> None:
        """Delete the session, its events, and what is kept beside them. Entries of other programs stay in its file.

        Raises HeadMoved if the head is not `expected`: another writer is using the session.
        """

        def remove(history: History | None, _lock: FolderLock) -> None:
            draft = Draft(history)
            if draft.session_head.head != expected:
                raise HeadMoved(session)
            if history is not None and history.has_events():
                if history.is_all_ours():
                    durable.remove(history.outline.path)
                else:
                    draft.delete_plan(self._files.clock() // 1_000_000)
                    self._folder.write(session, history, draft)
                remove_seen(self._folder.path, session)
                forget_session(self._folder.path, session)

        self._files.change(session, remove)

    def leaves(self, session: str) -> list[str]:
        return self._files.read(session, History.leaves) or []

    def sessions(self) -> list[SessionInfo]:
        """Return every session, the most recently written first. Unreadable files are skipped."""
        with self._files.changed:
            return self._listing.infos()

    def session_info(self, session: str) -> SessionInfo | None:
        """Return the entry of one session; None if it does not exist or cannot be read."""
        with self._files.changed:
            return self._listing.info(session)

    def unreadable(self) -> list[str]:
        """Return what is wrong with each file that `sessions` skips."""
        with self._files.changed:
            return self._listing.problems()

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        return wait_until(self._files.changed, lambda: self.session_head(session).head != head, timeout)

    def check(self, _progress: ProgressCallback | None = None) -> Iterator[Finding]:
        from tildone.stores.pi.examination import findings  # noqa: PLC0415  only checks of a store need it

        return findings(self._folder, self._recover)

    def compact(self) -> None:
        """Do nothing: a deleted session leaves no unused space in other files."""

    def close(self) -> None:
        """Drop the caches. A closed store must not be used again."""
        self._files.clear()

    def _path(self, session: str, head: str, limit: int) -> list[Event]:
        def newest_first(history: History) -> list[Event]:
            at = history.find(head)
            return [] if at is None else history.newest_first(at, limit)

        if events := self._files.read(session, newest_first):
            return events
        raise UnknownEvent(head)

    def _ancestors(self, session: str, newest: list[Event]) -> Iterator[Event]:
        limit = 1
        yield from newest
        while (parent := newest[-1].parent) is not None:
            limit = min(2 * limit, MAX_BATCH_EVENTS)
            yield from (newest := self._path(session, parent, limit))
