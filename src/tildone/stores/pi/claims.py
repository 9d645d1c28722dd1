"""The claims of a folder of session files: one small file, with a line of JSON for each claim.

The file is replaced as a whole under the folder's lock, under which events are appended, too, and read without it. It
is not flushed to disk: after a loss of power, no agent is running.
"""

from __future__ import annotations

from tildone.files.lock import FolderLock
from tildone.log import claims as claiming
from tildone.log.claims import encode_claimant
from tildone.log.json_scanner import dump, parse
from tildone.stores.pi.small_files import read_lines, write_lines
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tildone.log.claims import Claim, Claimant, ClaimFence
    from tildone.log.events import Event
    from tildone.stores.pi.folder import Folder

    Change = Callable[[list[Claim], int], list[Claim]]

CLAIMS = ".tildone.claims"


class JsonlClaims:
    """The part of a store of session files that has to do with claims."""

    _folder: Folder
    _timeout: float
    _clock: Callable[[], int]

    def append_if(self, session: str, event: Event, seen_by: str, check: Callable[[], None]) -> None:
        """Append an event unless `check`, which is called under the folder's lock, raises an error."""
        raise NotImplementedError

    def append_fenced(self, session: str, event: Event, seen_by: str, fence: ClaimFence) -> list[Claim]:
        """Append `event` if the fence allows it; return the claims that it takes.

        Raises:
            HeadMoved: `event.parent` is no longer the head.
            Fenced: tasks that the event changes, or that the writer had, are those of other agents.
        """
        taken: list[Claim] = []

        def check() -> None:
            now, known = self._now(), read_claims(self._folder.path)
            before = known.get(session, [])
            after = claiming.fenced(session, before, fence, now)
            # Before the event: a claim without its event lapses, but nothing would fence an event without its claim.
            if after != before:
                write_claims(self._folder.path, known | {session: after})
            taken.extend(claiming.taken(before, after, now))

        self.append_if(session, event, seen_by, check)
        return taken

    def claim(self, session: str, task: int, claimant: Claimant, lease: int) -> Claim:
        """Claim a task, and return its newest claim."""
        after, now = self._change_claims(
            session, lambda known, now: claiming.claimed(known, task, claimant, lease, now)
        )
        return next(claim for claim in claiming.current(after, now) if claim.task == task)

    def renew(self, session: str, agent: str, lease: int) -> list[Claim]:
        """Renew the leases of an agent; return the claims of tasks that it has lost."""
        after, now = self._change_claims(session, lambda known, now: claiming.renewed(known, agent, lease, now))
        return claiming.lost_by(after, agent, now)

    def release(self, session: str, agent: str, tasks: frozenset[int] | None = None) -> None:
        """Give back the tasks of an agent."""
        self._change_claims(session, lambda known, _now: claiming.released(known, agent, tasks))

    def lapse(self, session: str, agent: str) -> None:
        """End the leases of an agent."""
        self._change_claims(session, lambda known, _now: claiming.lapsed(known, agent))

    def claims(self, session: str) -> list[Claim]:
        """Return the newest claim of each task that was not given back."""
        return claiming.unreleased(read_claims(self._folder.path).get(session, []), self._now())

    def _change_claims(self, session: str, change: Change) -> tuple[list[Claim], int]:
        with FolderLock(self._folder.path, self._timeout):
            now, known = self._now(), read_claims(self._folder.path)
            before = known.get(session, [])
            after = change(before, now)
            if after != before:
                write_claims(self._folder.path, known | {session: after})
        return after, now

    def _now(self) -> int:
        return self._clock() // 1_000_000


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


def forget_claims(folder: str, session: str) -> None:
    """Remove the claims of a session that is deleted. The caller holds the folder's lock."""
    known = read_claims(folder)
    if known.pop(session, None):
        write_claims(folder, known)


def _decoded(folder: str) -> Iterator[tuple[str, Claim]]:
    for line in read_lines(folder, CLAIMS):
        try:
            match parse(line):
                case [str(session), int(task), int(epoch), int(until), str(holder), str(before)]:
                    yield session, claiming.decode_claim(task, epoch, until, (holder, before), 0)
        except ValueError:
            continue
