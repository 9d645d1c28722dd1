"""Where a run is worked on: its working tree, the checkpoints of it, and its other files on this machine.

The working tree of a run is used again if the agent before was here, too. If the run was elsewhere in between, what is
here is out of date: it is removed, and the newest checkpoint takes its place. A file with an epoch says whose it is.

Each hand of a run has a working tree of its own. After each task, what it has done is merged into the branch of the
run.
"""

import os
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b

from tildone.base import UsageError, replace
from tildone.base.files import read_text, write_text
from tildone.base.private import REPLACED, make_private_folder, open_private, path_of
from tildone.fleet import worktrees
from tildone.fleet.git import Git
from tildone.fleet.handover import last_messages, messages_in, with_messages
from tildone.fleet.supervision import Unsupported, end_processes, orphans
from tildone.plan.command_line import words_and_command
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.model import Plan, Task, completed_in
from tildone.plan.names import MAX_COUNT, FileName, branch_of, is_address, is_commit
from tildone.plan.runs import Kept, Lease, Published, RunTaken, fence_in, is_of
from tildone.plan.text.safe import clipped, shown_text

LOOK_SECONDS = 0.05
KILL_SECONDS = 10.0
ELSEWHERE = "The files of the agent before you are on another machine, and not here."


class Workspace:
    """The files of one lease on this machine, below the folder `home`."""

    def __init__(self, lease: Lease, home: str, redact: Callable[[str], str] = str) -> None:
        self.name = FileName.of(lease.run, lease.hand)
        self._lease, self._home, self._redact, self._hands = lease, home, redact, 1
        self._repository: worktrees.Repository | None = None
        self._tip = ""
        self.worktree = worktrees.Worktree("")
        self.messages_before: list[str] = []
        self.was_here = False

    @property
    def own_branch(self) -> str:
        """The branch of what a hand has done that could not be merged."""
        return branch_of(FileName.of_hand(self._lease.run, self._lease.hand))

    @property
    def merge_command(self) -> str:
        """What a person types to merge that branch into the one of the run."""
        repo, branch, own = self._lease.work.repo, self.worktree.branch, self.own_branch
        words = [] if is_address(repo) else [f"cd {shlex.quote(repo)}"]
        if self._repository is not None and self._repository.has_remote:
            remote = worktrees.REMOTE
            words += [f"git fetch {remote}", f"git switch {branch}", f"git merge {remote}/{own}"]
            return " && ".join([*words, f"git push {remote} {branch}"])
        return " && ".join([*words, f"git switch {branch}", f"git merge {own}"])

    @property
    def output(self) -> str:
        return self._file(f"{self._lease.epoch}.output")

    @property
    def transcript(self) -> str:
        """The file in which hooks note where the transcript of the agent is."""
        return self._file(f"{self._lease.epoch}.transcript")

    def prepare(self, events: Sequence[Event], hands: int = 1) -> worktrees.Worktree:
        """Make the working tree ready, and return it. No agent before may still be running."""
        make_private_folder(os.path.join(self._home, "runs"))
        self._hands = hands
        work = self._lease.work
        if work.repo:
            self._repository = worktrees.Repository(work.repo, self._home)
            self.was_here = self._is_here(events)
            if self._repository.is_git and not self.was_here:
                shutil.rmtree(path_of(os.path.join(self._home, "worktrees"), self.name), ignore_errors=True)
            kept = newest_checkpoint(events, self._lease)
            # A hand may have kept the commit that it began with, which has no parent of the hand.
            kept = replace(kept, is_committed=hands > 1) if kept else None
            worktree = self._repository.prepare(self.name, kept, work.ref, FileName.of(self._lease.run, 0))
            self.worktree = replace(worktree, shared=hands > 1)
            self._tip = kept.commit if kept else ""
        else:
            self.was_here = self._is_here(events)
            make_private_folder(self._place)
            self.worktree = worktrees.Worktree(
                self._place, found="a folder of its own", lost="" if self.was_here else ELSEWHERE
            )
        if self._is_here(events):
            # What the agent before said and did last is in its own files, or else in the newest checkpoint.
            before = self._last_epoch(events)
            said = last_messages(self._file(f"{before}.transcript"), self._file(f"{before}.output"))
            self.messages_before = [self._redact(line) for line in said]
        elif checkpoint := newest_checkpoint(events, self._lease):
            message = Git(self.worktree.folder).asks("log", "-1", "--format=%B", checkpoint.ref)
            self.messages_before = messages_in(message or "")
        with os.fdopen(open_private(self._file("epoch"), REPLACED), "w", encoding="ascii") as file:
            file.write(str(self._lease.epoch))
        return self.worktree

    def checkpoint(self, task: int, message: str) -> Kept | None:
        """Keep the files as they are, and return the fact to record; None outside of git."""
        repository, lease = self._repository, self._lease
        if repository is None:
            return None
        messages = last_messages(self.transcript, self.output)
        said = self._redact(with_messages(message, messages)) if messages else ""
        follows = self._tip if self._hands > 1 else None
        kept = repository.checkpoint(self.worktree, self.name, lease.epoch, self._redact(message), follows, said)
        if kept is None:
            return None
        self._tip = kept.commit
        return Kept(lease.run, lease.hand, lease.epoch, kept.ref, kept.commit, task)

    def share(self, still_held: worktrees.StillHeld) -> tuple[str, ...]:
        """Merge the last checkpoint of a hand into the branch of its run; return the files in conflict."""
        if self._repository is None or not self._tip or self._hands == 1:
            return ()
        return worktrees.share(self._repository, self.worktree, self._tip, self.own_branch, still_held)

    def publish(self, message: str, still_held: worktrees.StillHeld) -> None:
        """Commit what is left, and make it the branch of the run; nothing outside of git, and with several hands."""
        if self._repository is not None and self.worktree.branch and self._hands == 1:
            worktrees.publish(self._repository, self.worktree, message, still_held)

    def has_same_files(self, events: Sequence[Event]) -> bool:
        """Return whether the files are those with which the attempt before has ended, at the end of this one."""
        if self._repository is None:
            path, now = self._file("files"), digest_of(self.worktree.folder)
            before = read_text(path)
            write_text(path, now)
            return bool(now) and now == before
        kept = newest_checkpoint(events, self._lease, self._lease.epoch)
        if kept is None or not self._tip:
            return False
        trees = [self._repository.git.asks("rev-parse", f"{each}^{{tree}}") for each in (kept.commit, self._tip)]
        return trees[0] is not None and trees[0] == trees[1]

    def published(self) -> Published | None:
        """Return what the branch of the run has changed; None outside of git."""
        if self._repository is None or not self.worktree.branch:
            return None
        return worktrees.published(self._repository, self.worktree.branch, self._lease.work.ref)

    def remove(self) -> None:
        """Remove the working tree and its checkpoints: the branch has all of it. Folders without git stay."""
        if self._repository is not None and self.worktree.branch:
            self._repository.remove(self.name)

    def _is_here(self, events: Sequence[Event]) -> bool:
        """Return whether the agent before worked in the working tree, or the folder, that is here."""
        earlier = self._last_epoch(events)
        try:
            with open(self._file("epoch"), encoding="ascii") as file:
                is_newest = bool(earlier) and file.read() == str(earlier)
            return is_newest and os.path.exists(self._place)
        except OSError:
            return False

    @property
    def _place(self) -> str:
        """What is on this machine if the run was worked on here."""
        if not self._lease.work.repo:
            return path_of(os.path.join(self._home, "folders"), self.name)
        if self._repository is not None and not self._repository.is_git:
            return self._lease.work.repo
        return os.path.join(path_of(os.path.join(self._home, "worktrees"), self.name), ".git")

    def _last_epoch(self, events: Sequence[Event]) -> int:
        """Return the epoch of the agent before; 0 if there was none."""
        taken = [event.fact for event in events if isinstance(event.fact, RunTaken) and is_of(event.fact, self._lease)]
        return max((fact.epoch for fact in taken if fact.epoch < self._lease.epoch), default=0)

    def _file(self, suffix: str) -> str:
        return path_of(os.path.join(self._home, "runs"), f"{self.name}.{suffix}")


MAX_SUBJECT = 72


def subject_of(task: Task) -> str:
    """Return the subject of the commit of a task: its words without the command."""
    words, command = words_and_command(task.text)
    return f"{clipped(shown_text(words or command), MAX_SUBJECT)} (task {task.number})"


MAX_FILES, MAX_BYTES = 1000, 16_000_000
"""With more files, or more in them, they are taken for different ones."""


def digest_of(folder: str) -> str:
    """Return a digest of the names and the content of the files in a folder; empty if there are too many."""
    paths = sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    paths = [path for path in paths if os.path.isfile(path)]
    if len(paths) > MAX_FILES or sum(map(os.path.getsize, paths)) > MAX_BYTES:
        return ""
    found = blake2b(digest_size=16)
    for path in paths:
        with open(path, "rb") as file:
            content = file.read()
        found.update(b"%d %d " % (len(os.fsencode(path)), len(content)) + os.fsencode(path) + content)
    return found.hexdigest()


def remove_workspace(home: str, lease: Lease) -> None:
    name, repo = FileName.of(lease.run, lease.hand), lease.work.repo
    shutil.rmtree(path_of(os.path.join(home, "folders"), name), ignore_errors=True)
    runs = os.path.join(home, "runs")
    for file in os.listdir(runs) if os.path.isdir(runs) else ():
        suffix = file.removeprefix(f"{name}.")
        if suffix != file and (suffix in ("epoch", "files") or suffix[:1].isdigit()):
            os.remove(os.path.join(runs, file))
    if repo and os.path.isdir(worktrees.clone_folder(repo, home) if is_address(repo) else repo):
        worktrees.Repository(repo, home).remove(name)


def end_earlier_agents(lease: Lease, seconds: float) -> None:
    """Wait until no process of an earlier holder of a lease runs here; kill what still does after so many seconds."""
    until = time.monotonic() + seconds
    while earlier := _earlier(lease):
        if time.monotonic() > until:
            for each in earlier:
                end_processes(each, KILL_SECONDS)
            return
        time.sleep(LOOK_SECONDS)


def newest_checkpoint(events: Sequence[Event], lease: Lease, before: int = MAX_COUNT) -> worktrees.Checkpoint | None:
    """Return the newest checkpoint of a run's hand, of an epoch before `before`.

    What is no checkpoint of it was put into the log by others.
    """
    name = FileName.of(lease.run, lease.hand)
    for event in reversed(events):
        if isinstance(event.fact, Kept) and is_of(event.fact, lease) and event.fact.epoch < before:
            kept = event.fact
            if kept.ref == f"{worktrees.CHECKPOINTS}{name}/{kept.epoch}" and is_commit(kept.commit):
                return worktrees.Checkpoint(kept.ref, kept.commit, task=kept.task)
    return None


def _earlier(lease: Lease) -> set[str]:
    earlier: set[str] = set()
    with suppress(Unsupported):
        for process in orphans({str(lease.fence)}):
            with suppress(UsageError):
                fence = fence_in(process.lease)
                if (fence.run, fence.hand) == (lease.run, lease.hand) and fence.epoch < lease.epoch:
                    earlier.add(process.lease)
    return earlier


def lost_tasks(events: Sequence[Event], lease: Lease, plan: Plan, hands: int) -> list[int]:
    """Return the numbers of the tasks of `plan` that agents of a hand have completed since its newest checkpoint.

    Without a checkpoint, since it was first taken. What people have completed needs no files. With several hands, only
    the shell agent tells in its name which hand it is, and only its tasks are known.
    """
    positions: dict[str, int] = {}
    taken = kept = None
    for at, event in enumerate(events):
        positions[event.id] = at
        fact = event.fact
        if isinstance(fact, Kept) and is_of(fact, lease):
            kept = covered(fact, at, positions) + 1
        elif isinstance(fact, RunTaken) and is_of(fact, lease) and taken is None:
            taken = at
    since = next((found for found in (kept, taken) if found is not None), len(events))
    done, lost = frozenset[int](), set[int]()
    for event in events[:since]:
        if isinstance(event.fact, PlanChanged):
            done = completed_in(event.fact.plan)
    for event in events[since:]:
        if isinstance(event.fact, PlanChanged):
            now = completed_in(event.fact.plan)
            is_ours = hands == 1 or event.author.agent.endswith(f":{lease.run}/{lease.hand}")
            if event.actor is Actor.AGENT and is_ours:
                lost |= now - done
            done = now
    return sorted(lost & completed_in(plan))


def covered(fact: Kept, at: int, positions: Mapping[str, int]) -> int:
    """Return the position of the last event whose files a checkpoint has, whose fact is `at` a position itself."""
    return positions.get(fact.as_of, at)
