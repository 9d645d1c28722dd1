"""Where a run is worked on: its working tree, the checkpoints of it, and its other files on this machine.

The working tree of a run is used again if the agent before was here, too. If the run was elsewhere in between, what is
here is out of date: it is removed, and the newest checkpoint takes its place. A file with an epoch says whose it is.
"""

from __future__ import annotations

import os
import shutil
import time

from tildone.errors import UsageError
from tildone.files.private import make_private_folder
from tildone.fleet.leftovers import Unsupported, end_processes, orphans
from tildone.fleet.worktrees import Checkpoint, Repository, Worktree
from tildone.log.fleet.facts import Kept, RunTaken
from tildone.log.fleet.lease import fence_in
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.log.events import Event
    from tildone.log.fleet.lease import Lease

LOOK_SECONDS = 0.05
KILL_SECONDS = 10.0


class Workspace:
    """The files of one lease on this machine, below the folder `home`."""

    def __init__(self, lease: Lease, home: str) -> None:
        self.name = lease.run if not lease.hand else f"{lease.run}.hand{lease.hand}"
        self._lease, self._home = lease, home
        self._repository: Repository | None = None
        self.worktree = Worktree("")

    @property
    def output(self) -> str:
        """The file with the output of the agent."""
        return self._file(f"{self._lease.epoch}.output")

    def prepare(self, events: Sequence[Event]) -> Worktree:
        """Make the working tree ready, and return it. No agent before may still be running.

        Raises:
            GitError: the repository cannot be used.
            OSError: the disk cannot be written to.
        """
        make_private_folder(os.path.join(self._home, "runs"))
        work = self._lease.work
        if work.repo:
            self._repository = Repository(work.repo, self._home)
            if self._repository.is_git and not self._was_here(events):
                shutil.rmtree(os.path.join(self._home, "worktrees", self.name), ignore_errors=True)
            self.worktree = self._repository.prepare(self.name, newest_checkpoint(events, self._lease), work.ref)
        else:
            folder = os.path.join(self._home, "folders", self.name)
            make_private_folder(folder)
            self.worktree = Worktree(folder, found="a folder of its own")
        with open(self._file("epoch"), "w", encoding="ascii") as file:
            file.write(str(self._lease.epoch))
        return self.worktree

    def checkpoint(self, task: int, message: str) -> Kept | None:
        """Keep the files as they are, and return the fact to record; None outside of git.

        Raises:
            GitError: they could not be kept.
        """
        if self._repository is None:
            return None
        lease = self._lease
        kept = self._repository.checkpoint(self.worktree, self.name, lease.epoch, message)
        return Kept(lease.run, lease.hand, lease.epoch, kept.ref, kept.commit, task) if kept else None

    def publish(self, message: str) -> str:
        """Commit what is left on the branch of the run, push it, and return the commit; empty outside of git.

        Raises:
            GitError: it could not be committed or pushed.
        """
        return self._repository.publish(self.worktree, message) if self._repository else ""

    def _was_here(self, events: Sequence[Event]) -> bool:
        """Return whether the agent before worked in the working tree that is here."""
        earlier = [
            event.fact.epoch
            for event in events
            if isinstance(event.fact, RunTaken)
            and _is_of(event.fact, self._lease)
            and event.fact.epoch < self._lease.epoch
        ]
        try:
            with open(self._file("epoch"), encoding="ascii") as file:
                return bool(earlier) and file.read() == str(max(earlier))
        except OSError:
            return False

    def _file(self, suffix: str) -> str:
        return os.path.join(self._home, "runs", f"{self.name}.{suffix}")


def end_earlier_agents(lease: Lease, seconds: float) -> None:
    """Wait until no process of an earlier holder of a lease runs here; kill what still does after so many seconds."""
    until = time.monotonic() + seconds
    while earlier := _earlier(lease):
        if time.monotonic() > until:
            for each in earlier:
                end_processes(each, KILL_SECONDS)
            return
        time.sleep(LOOK_SECONDS)


def newest_checkpoint(events: Sequence[Event], lease: Lease) -> Checkpoint | None:
    """Return the newest checkpoint of a run's hand."""
    for event in reversed(events):
        if isinstance(event.fact, Kept) and _is_of(event.fact, lease):
            return Checkpoint(event.fact.ref, event.fact.commit)
    return None


def _is_of(fact: Kept | RunTaken, lease: Lease) -> bool:
    return (fact.run, fact.hand) == (lease.run, lease.hand)


def _earlier(lease: Lease) -> set[str]:
    try:
        found = {process.lease for process in orphans({str(lease.fence)})}
    except Unsupported:
        return set()
    return {text for text in found if _is_earlier(text, lease)}


def _is_earlier(text: str, lease: Lease) -> bool:
    try:
        fence = fence_in(text)
    except UsageError:
        return False
    return (fence.run, fence.hand) == (lease.run, lease.hand) and fence.epoch < lease.epoch
