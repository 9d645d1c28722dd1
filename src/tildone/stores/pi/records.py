"""What a folder of session files keeps beside the log: presences, questions and summaries.

Each kind is one small file in the folder, with a line of JSON for each record. pi reads only `*.jsonl` files, so it
does not notice them. A file is replaced as a whole under the folder's lock, and read without it. It is not flushed to
disk: what a loss of power removes is written again by the agents and readers that wrote it.
"""

from __future__ import annotations

import os

from tildone.errors import StoreError, UnknownNeed
from tildone.files.durable import set_mtime
from tildone.files.lock import FolderLock
from tildone.log.density import counts_of
from tildone.log.json_scanner import dump, parse
from tildone.log.kept import KeptSummary
from tildone.log.needs import answered, decode_needs, encode_need, open_needs, without_old
from tildone.log.presence import decode_presences, encode_presence, with_presence
from tildone.stores.pi.claims import forget_claims
from tildone.stores.pi.small_files import read_lines, write_lines
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from threading import Condition

    from tildone.log.events import Event
    from tildone.log.needs import Need
    from tildone.log.presence import Presence
    from tildone.stores.pi.folder import Folder

PRESENCES, NEEDS, SUMMARIES = ".tildone.presence", ".tildone.needs", ".tildone.summaries"


class JsonlRecords:
    """The part of a store of session files that is not the log."""

    _folder: Folder
    _timeout: float
    _clock: Callable[[], int]
    _changed: Condition

    def events(self, session: str) -> Iterator[Event]:
        """Return every event of every branch."""
        raise NotImplementedError

    def beat(self, presence: Presence) -> None:
        """Record a sign of life of an agent."""
        with FolderLock(self._folder.path, self._timeout):
            _write_presences(self._folder.path, with_presence(self.presences(), presence))

    def leave(self, agent: str) -> None:
        """Remove the presence of an agent."""
        if any(each.agent == agent for each in self.presences()):
            with FolderLock(self._folder.path, self._timeout):
                _write_presences(self._folder.path, [each for each in self.presences() if each.agent != agent])

    def presences(self) -> list[Presence]:
        """Return the presences of all agents."""
        return decode_presences(read_lines(self._folder.path, PRESENCES))

    def ask(self, need: Need) -> None:
        """Add an open question, unless there is one with its id."""

        def added(needs: list[Need]) -> list[Need]:
            return needs if any(each.id == need.id for each in needs) else without_old([*needs, need], need.since)

        self._change_needs(added)

    def answer(self, need: str, answer: str, by: str, at: int) -> Need:
        """Answer an open question; the first answer wins.

        Raises:
            NeedAnswered: there is an answer already.
            UnknownNeed: there is no such question.
        """
        decided: list[Need] = []

        def with_answer(needs: list[Need]) -> list[Need]:
            decided.extend(answered(each, answer, by, at) for each in needs if each.id == need)
            if not decided:
                raise UnknownNeed(need)
            return without_old([*decided, *(each for each in needs if each.id != need)], at)

        self._change_needs(with_answer)
        return decided[0]

    def withdraw(self, need: str) -> None:
        """Remove a question if it is open."""
        self._change_needs(lambda needs: [each for each in needs if each.id != need or not each.is_open])

    def need(self, need: str) -> Need | None:
        """Return a question, open or answered."""
        return next((each for each in read_needs(self._folder.path) if each.id == need), None)

    def needs(self) -> list[Need]:
        """Return the open questions, the oldest first."""
        return open_needs(read_needs(self._folder.path))

    def kept_summaries(self) -> dict[str, KeptSummary]:
        """Return the kept summaries by session."""
        return dict(_summaries(self._folder.path))

    def keep_summaries(self, summaries: Mapping[str, KeptSummary]) -> None:
        """Keep summaries of sessions that exist, unless another process writes at this moment."""
        try:
            existing = self._folder.files()
            kept = {session: each for session, each in summaries.items() if session in existing}
            if kept:
                with FolderLock(self._folder.path, 0):
                    _write_summaries(self._folder.path, self.kept_summaries() | kept)
        except StoreError:
            return

    def density(self, session: str, begin: int, end: int, buckets: int) -> list[int]:
        """Count the events of all branches in equal intervals of time."""
        return counts_of((event.at for event in self.events(session)), begin, end, buckets)

    def _change_needs(self, change: Callable[[list[Need]], list[Need]]) -> None:
        folder = self._folder.path
        with FolderLock(folder, self._timeout) as lock, self._changed:
            before = read_needs(folder)
            after = change(before)
            if after != before:
                _write_needs(folder, after)
                # Two files of the same size may follow each other faster than the clock of the file system counts.
                set_mtime(os.path.join(folder, NEEDS), lock.next_mtime(self._clock()))
            self._changed.notify_all()


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
    forget_claims(folder, session)
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
