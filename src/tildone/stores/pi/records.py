"""What a folder of session files keeps beside the log. The methods are documented by `Records` in `tildone.log.store`.

Each kind is one small file in the folder, with a line of JSON for each record. pi reads only `*.jsonl` files, so it
does not notice them. A file is replaced as a whole under the folder's lock, under which events are appended, too, and
read without it. It is not flushed to disk: what a loss of power removes is written again by the agents and readers that
wrote it, and no agent is running then.
"""

from __future__ import annotations

import os

from tildone.errors import StoreError, UnknownNeed
from tildone.files.durable import set_mtime
from tildone.files.lock import FolderLock
from tildone.log import claims as claiming
from tildone.log.claims import encode_claimant
from tildone.log.density import counts_of
from tildone.log.json_scanner import dump, parse
from tildone.log.kept import KeptSummary
from tildone.log.needs import answered, decode_needs, encode_need, open_needs, without_old
from tildone.log.presence import decode_presences, encode_presence, with_presence
from tildone.stores.pi.seen import read_seen, write_seen
from tildone.stores.pi.small_files import read_lines, write_lines
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tildone.log.claims import Claim, Claimant, ClaimFence
    from tildone.log.events import Event
    from tildone.log.needs import Need
    from tildone.log.presence import Presence
    from tildone.log.tree import SessionChange
    from tildone.stores.pi.feed import ChangeFeed
    from tildone.stores.pi.histories import Histories
    from tildone.stores.pi.history import History

PRESENCES, NEEDS, SUMMARIES = ".tildone.presence", ".tildone.needs", ".tildone.summaries"
CLAIMS = ".tildone.claims"


class JsonlRecords:
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
        """Return a number that grows when a file of the folder changes. It belongs to this object."""
        with self._files.changed:
            return self._change_feed().revision()

    def changed(self, since: int) -> list[SessionChange]:
        with self._files.changed:
            return self._change_feed().changed(since)

    def wait_any(self, revision: int, timeout: float) -> bool:
        return self._files.wait_until(lambda: self.revision() != revision, timeout)

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

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        after, now = self._change_claims(
            session, lambda known, now: claiming.claimed(known, task, claimant, lease, now)
        )
        return next(claim for claim in claiming.current(after, now) if claim.task == task)

    def renew(self, session: str, agent: str, lease: int) -> list[Claim]:
        after, now = self._change_claims(session, lambda known, now: claiming.renewed(known, agent, lease, now))
        return claiming.lost_by(after, agent, now)

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        self._change_claims(session, lambda known, _now: claiming.released(known, agent, tasks))

    def lapse(self, session: str, agent: str) -> None:
        self._change_claims(session, lambda known, _now: claiming.lapsed(known, agent))

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
            # Late, because few callers follow all sessions.
            from tildone.stores.pi.feed import ChangeFeed  # noqa: PLC0415  see above

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

    def _change_claims(
        self, session: str, change: Callable[[list[Claim], int], list[Claim]]
    ) -> tuple[list[Claim], int]:
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
    """Return the questions of a folder, open and answered."""
    return decode_needs(read_lines(folder, NEEDS))


def forget_session(folder: str, session: str) -> None:
    """Remove what is kept of a session that is deleted. The caller holds the folder's lock.

    Raises:
        StoreError: a file cannot be written.
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
    """Return the claims of all sessions."""
    found: dict[str, list[Claim]] = {}
    for session, claim in _decoded(folder):
        found.setdefault(session, []).append(claim)
    return found


def write_claims(folder: str, claims: dict[str, list[Claim]]) -> None:
    """Replace the claims of all sessions. The caller holds the folder's lock.

    Raises:
        StoreError: the file cannot be written.
    """
    lines = [
        dump(
            [
                session,
                claim.task,
                claim.epoch,
                claim.until,
                encode_claimant(claim.holder),
                encode_claimant(claim.before),
            ]
        )
        for session, each in claims.items()
        for claim in each
    ]
    write_lines(folder, CLAIMS, lines)


def _decoded(folder: str) -> Iterator[tuple[str, Claim]]:
    for line in read_lines(folder, CLAIMS):
        try:
            match parse(line):
                case [str(session), int(task), int(epoch), int(until), str(holder), str(before)]:
                    yield session, claiming.decode_claim(task, epoch, until, (holder, before), 0)
        except ValueError:
            continue
