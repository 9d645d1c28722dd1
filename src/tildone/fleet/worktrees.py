"""Working trees of runs: where an agent works, what is kept of it, and how results come to their branches.

A run has a working tree of its own, without a branch: the branch `tildone/RUN` is moved when there are results, so that
workers that share a repository do not keep each other from it. What an agent has not committed is kept by checkpoints:
commits that are made with another index, so that neither the agent's index nor its HEAD changes. A checkpoint's ref
carries the epoch of the lease, so that a worker which was taken for dead cannot overwrite what its successor keeps.

A branch is moved only from the commit that was seen before the lease was found to be held. A worker that was taken for
dead, and pushes late, therefore moves nothing that its successor has moved since. The hands of one run share its
branch: what a hand has done is merged into it. What cannot be merged stays on a branch of the hand: a person is asked.

Whatever runs git may raise `GitError`; what calls `still_held` raises `RunFenced` if the lease has passed to another.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from hashlib import blake2b

from tildone.base import value
from tildone.base.durable import FolderLock
from tildone.base.private import make_private_folder, path_of
from tildone.fleet.git import SECONDS, Git, GitError
from tildone.plan.names import FileName, branch_of, is_address
from tildone.plan.runs import Published

StillHeld = Callable[[], object]
"""Raises RunFenced if the lease has passed to another worker."""


REMOTE = "origin"
MAX_MESSAGE = 16_000
CHECKPOINTS = "refs/tildone/"
ADD_ATTEMPTS = 5
"""How often git tries to add all files. It fails if the agent removes a file, or changes it, at that moment."""

_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^/@\s]*:[^/@\s]*@", re.IGNORECASE)


@value
class Worktree:
    """Where an agent works: a working tree whose results become a branch; without one, a folder that has no git.

    `found` says what it was made from, and `lost` is what the successor has to be told of. The branch is `shared` by
    the hands of a run.
    """

    folder: str
    branch: str = ""
    found: str = ""
    lost: str = ""
    shared: bool = False


@value
class Checkpoint:
    """A commit that holds a working tree as it was, and the ref that keeps it.

    With `is_committed`, the next agent goes on after that commit; else what the commit changes is not committed for it.
    It was taken when the task `task` was done, before the next one; 0 if it was taken in the middle of a task.
    """

    ref: str
    commit: str
    is_committed: bool = False
    task: int = 0


class Repository:
    """A repository that runs of a fleet work on; `source` is a folder, or the address of a remote repository."""

    def __init__(self, source: str, home: str) -> None:
        """Make the repository ready; a remote one is cloned below `home`, where the working trees are, too."""
        self._home = home
        self.is_git = True
        if is_address(source):
            self._git = self._clone(source)
        else:
            self._git = Git(os.path.abspath(source))
            self.is_git = os.path.isdir(source) and self._git.asks("rev-parse", "--git-dir") is not None
            if not os.path.isdir(source):
                raise GitError(f"{source} is not a folder on this machine")

    @property
    def git(self) -> Git:
        return self._git

    def prepare(
        self, run: FileName, kept: Checkpoint | None = None, ref: str = "", branch: FileName | None = None
    ) -> Worktree:
        """Return the working tree of a run: as its last agent left it, else from the newest checkpoint, else a new one.

        `branch` is the name of the branch of the results, without `tildone/`; by default that of the run.
        """
        if not self.is_git:
            return Worktree(self._git.folder, found="the folder itself, which is no repository of git")
        folder, name = self._folder(run), branch_of(branch or run)
        with self._alone():
            self._git.run("worktree", "prune")
            if os.path.exists(os.path.join(folder, ".git")):
                return Worktree(folder, name, "the working tree of the agent before")
            shutil.rmtree(folder, ignore_errors=True)
            # Git fills the empty folder, whose mode keeps others out of whatever modes the files have.
            make_private_folder(folder)
            if kept is not None:
                return self._restored(folder, name, kept)
            self._git.run("worktree", "add", "-q", "-f", "-f", "--detach", folder, self._start(name, ref))
        _add_submodules(folder)
        return Worktree(folder, name, "a new working tree")

    def checkpoint(
        self, worktree: Worktree, run: FileName, epoch: int, message: str, follows: str | None = None, said: str = ""
    ) -> Checkpoint | None:
        """Keep a working tree as it is, also at the remote repository if there is one; None outside of git.

        The commit of a hand `follows` the one before, or HEAD if that is empty: see `chained`. What its agent has
        `said` is the message of another commit that follows it, at the ref.
        """
        if not worktree.branch:
            return None
        git, ref = Git(worktree.folder), f"{CHECKPOINTS}{run}/{epoch}"
        head = git.run("rev-parse", "HEAD")
        commit = commit_of(git, head, message) if follows is None else chained(git, follows or head, message)
        last = git.run("commit-tree", f"{commit}^{{tree}}", "-p", commit, "-F", "-", text=said) if said else commit
        self._git.run("update-ref", ref, last)
        if self.has_remote:
            self._git.run("push", "-q", "--force", REMOTE, f"{last}:{ref}")
        return Checkpoint(ref, commit)

    def remove(self, run: FileName) -> None:
        """Remove the working tree and the checkpoints of a run, also at the remote; its branch stays."""
        if not self.is_git:
            return
        folder = self._folder(run)
        if os.path.exists(folder):
            self._git.asks("worktree", "remove", "--force", "--force", folder)
            shutil.rmtree(folder, ignore_errors=True)
        self._git.run("worktree", "prune")
        kept = self._git.asks("for-each-ref", "--format=%(refname)", f"{CHECKPOINTS}{run}/") or ""
        for ref in kept.splitlines():
            self._git.run("update-ref", "-d", ref)
        if self.has_remote:
            # Other machines have pushed theirs, of which nothing is known here.
            listed = self._git.asks("ls-remote", REMOTE, f"{CHECKPOINTS}{run}/*") or ""
            refs = [line.partition("\t")[2] for line in listed.splitlines()]
            if refs:
                self._git.run("push", "-q", REMOTE, *(f":{ref}" for ref in refs))

    @property
    def has_remote(self) -> bool:
        return self.is_git and REMOTE in (self._git.asks("remote") or "").split()

    def _clone(self, address: str) -> Git:
        if _PASSWORD.match(address):
            raise GitError("the address of a repository must not have a password; use a credential helper or SSH")
        folder = clone_folder(address, self._home)
        git = Git(folder)
        # Two runs of a worker may need the same repository at once, and git does not wait for another fetch.
        with FolderLock(f"{folder}.lock", SECONDS):
            if not os.path.isdir(folder):
                with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as partial:
                    make_private_folder(os.path.join(partial, "clone"))
                    Git(partial).run("clone", "-q", "--no-checkout", "--", address, "clone")
                    os.replace(os.path.join(partial, "clone"), folder)
            git.run("fetch", "-q", "--prune", REMOTE)
        return git

    def _alone(self) -> FolderLock:
        """Return the lock under which working trees of this repository are added by the workers of this home."""
        name = blake2b(os.fsencode(os.path.realpath(self._git.folder)), digest_size=8).hexdigest()
        return FolderLock(os.path.join(self._home, "repositories", f"{name}.adding"), SECONDS)

    def _folder(self, run: FileName) -> str:
        return path_of(os.path.join(self._home, "worktrees"), run)

    def _start(self, branch: str, ref: str) -> str:
        """Return the commit a run begins with: that of its branch, else of the ref that it names, else the newest."""
        # A clone for the fleet has no branch of its own that is newer than those of the remote repository.
        own = (f"{REMOTE}/{branch}", branch) if self._is_clone else (branch,)
        for name in (*own, *self.starts(ref)):
            is_commit = not name.startswith("-") and self._git.asks("rev-parse", "-q", "--verify", f"{name}^{{commit}}")
            if is_commit:
                return str(is_commit)
        what = f"no branch, tag or commit {ref}" if ref else "no commit yet"
        raise GitError(f"the repository {self._git.folder} has {what}")

    def starts(self, ref: str) -> Sequence[str]:
        """Return the names of what a run may begin with that names `ref`, or nothing."""
        if ref:
            return f"{REMOTE}/{ref}", ref
        return (f"{REMOTE}/HEAD",) if self._is_clone else ("HEAD",)

    @property
    def _is_clone(self) -> bool:
        return self._git.folder.startswith(os.path.join(self._home, "repositories", ""))

    def _restored(self, folder: str, branch: str, kept: Checkpoint) -> Worktree:
        if self._git.asks("cat-file", "-e", f"{kept.commit}^{{commit}}") is None:
            if not self.has_remote:
                raise GitError(f"the checkpoint {kept.ref} is not on this machine, and there is no remote repository")
            self._git.run("fetch", "-q", REMOTE, f"+{kept.ref}:{kept.ref}")
            if self._git.asks("cat-file", "-e", f"{kept.commit}^{{commit}}") is None:
                raise GitError(f"the remote repository has no longer the checkpoint {kept.commit[:12]} of {kept.ref}")
        base = kept.commit if kept.is_committed else f"{kept.commit}^1"
        self._git.run("worktree", "add", "-q", "-f", "-f", "--detach", folder, base)
        Git(folder).run("restore", f"--source={kept.commit}", "--worktree", "--", ":/")
        _add_submodules(folder)
        lost = "What the agent before you changed after that is lost."
        when = f"after task {kept.task}" if kept.task else "in the middle of a task"
        return Worktree(folder, branch, f"the checkpoint {kept.ref}, taken {when}", lost)


def commit_of(git: Git, parent: str, message: str, *more: str) -> str:
    """Return a commit of all files in a working tree that are not ignored, on parents; its index stays as it is."""
    parents = [word for each in (parent, *more) for word in ("-p", each)]
    return git.run("commit-tree", tree_of(git), *parents, "-F", "-", text=message[:MAX_MESSAGE])


def tree_of(git: Git) -> str:
    """Return the tree of all files in a working tree that are not ignored, without touching its index."""
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        current = git.run("rev-parse", "--git-path", "index")
        path = os.path.join(git.folder, current)
        if os.path.exists(path):
            # The copy keeps the time of the index: git compares the content of files that are not older than that.
            shutil.copy2(path, index)
        for remaining in reversed(range(ADD_ATTEMPTS)):
            try:
                git.run("add", "--all", "--", ":/", index=index)
                break
            except GitError:
                if not remaining:
                    raise
        return git.run("write-tree", index=index)


def clone_folder(address: str, home: str) -> str:
    name = blake2b(address.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return os.path.join(home, "repositories", name)


def names_with_checkpoints(folder: str) -> set[str]:
    """Return the names of the runs, or of their hands, of which the repository in a folder has checkpoints."""
    listed = Git(folder).asks("for-each-ref", "--format=%(refname)", CHECKPOINTS) or ""
    return {ref.split("/")[2] for ref in listed.splitlines()}


def _add_submodules(folder: str) -> None:
    if os.path.exists(os.path.join(folder, ".gitmodules")):
        Git(folder).run("submodule", "update", "-q", "--init", "--recursive")


MAX_MOVES = 20
"""How often a branch is moved again that others move at the same time."""


def publish(repository: Repository, worktree: Worktree, message: str, still_held: StillHeld) -> str:
    """Commit what is left in a working tree, make it the branch of the run, and return the commit."""
    head = settled(Git(worktree.folder), message)
    return moved(repository, worktree.branch, lambda _: head, still_held)


def published(repository: Repository, branch: str, ref: str) -> Published | None:
    """Return what the branch of a run has changed; None if there is none. `ref` is what the run began with."""
    git, commit = repository.git, commit_at(repository, f"refs/heads/{branch}")
    if not commit:
        return None
    start = next((found for name in repository.starts(ref) if (found := git.asks("merge-base", name, commit))), "")
    # Each line is: lines added, lines removed, path; "-" for binary files.
    lines = git.run("diff", "--numstat", start, commit).splitlines() if start else ()
    counts = [[int(word) if word.isdecimal() else 0 for word in line.split("\t")[:2]] for line in lines]
    return Published(commit, start, len(counts), sum(each[0] for each in counts), sum(each[1] for each in counts))


def share(repository: Repository, worktree: Worktree, commit: str, own: str, still_held: StillHeld) -> tuple[str, ...]:
    """Merge a commit of a hand into the branch of its run; return the files in conflict if it is put on `own`."""
    conflicts: tuple[str, ...] = ()

    def wanted(before: str) -> str:
        nonlocal conflicts
        found, conflicts = merged(repository.git, before, commit)
        return found or before

    moved(repository, worktree.branch, wanted, still_held)
    if conflicts:
        moved(repository, own, lambda _: commit, still_held)
    return conflicts


def settled(git: Git, message: str) -> str:
    head = git.run("rev-parse", "HEAD")
    if tree_of(git) != git.run("rev-parse", "HEAD^{tree}"):
        head = commit_of(git, head, message)
        git.run("reset", "-q", "--mixed", head)
    return head


def moved(repository: Repository, branch: str, wanted: Callable[[str], str], still_held: StillHeld) -> str:
    """Move a branch to the commit that `wanted` returns for its commit before, which may be empty, and return it.

    With a remote repository, the branch there decides.
    """
    ref = f"refs/heads/{branch}"
    for _ in range(MAX_MOVES):
        before = commit_at(repository, ref)
        still_held()
        commit = wanted(before)
        try:
            if commit != before:
                git = repository.git
                if repository.has_remote:
                    git.run("push", "-q", f"--force-with-lease={ref}:{before}", REMOTE, f"{commit}:{ref}")
                    git.run("update-ref", ref, commit)
                else:
                    git.run("update-ref", ref, commit, before)
        except GitError:
            if commit_at(repository, ref) == before:
                raise
            continue
        return commit
    raise GitError(f"the branch {branch} was moved by others {MAX_MOVES} times")


def commit_at(repository: Repository, ref: str) -> str:
    """Return the commit of a ref, which is here then, also if the ref is that of the remote; empty if there is none."""
    git = repository.git
    if not repository.has_remote:
        return git.asks("rev-parse", "-q", "--verify", f"{ref}^{{commit}}") or ""
    commit, _, _ = git.run("ls-remote", REMOTE, ref).partition("\t")
    if commit and git.asks("cat-file", "-e", f"{commit}^{{commit}}") is None:
        git.run("fetch", "-q", REMOTE, ref)
    return commit


def merged(git: Git, before: str, commit: str) -> tuple[str, tuple[str, ...]]:
    """Return a commit with both; an empty text, and the files in conflict, if they cannot be merged."""
    if not before or _has(git, commit, before):
        return commit, ()
    if _has(git, before, commit):
        return before, ()
    succeeded, printed = git.tries("merge-tree", "--write-tree", "--name-only", "--no-messages", before, commit)
    tree, *files = printed.splitlines() or [""]
    if not succeeded:
        if not files:
            raise GitError("git 2.38 or later is needed to merge what several agents of a run have done")
        return "", tuple(files)
    message = "Merge what another agent of the run has done"
    return git.run("commit-tree", tree, "-p", before, "-p", commit, "-F", "-", text=message), ()


def chained(git: Git, tip: str, message: str) -> str:
    """Return a commit of the files in a working tree that follows the commit `tip`, and HEAD; `tip` if it has them.

    So each commit of a hand can be merged after the one before, whatever its agent commits itself.
    """
    head = git.run("rev-parse", "HEAD")
    more = () if _has(git, tip, head) else (head,)
    if not more and tree_of(git) == git.run("rev-parse", f"{tip}^{{tree}}"):
        return tip
    return commit_of(git, tip, message[:MAX_MESSAGE], *more)


def bring_in(git: Git, branch: str) -> bool:
    """Merge the branch of a run into the working tree of a hand, whose files are committed; False if it cannot be."""
    if REMOTE in git.run("remote").split():
        git.asks("fetch", "-q", REMOTE, f"+refs/heads/{branch}:refs/heads/{branch}")
    theirs = git.asks("rev-parse", "-q", "--verify", f"refs/heads/{branch}^{{commit}}")
    head = git.run("rev-parse", "HEAD")
    both = merged(git, head, theirs)[0] if theirs else head
    if both and both != head:
        git.run("read-tree", "-m", "-u", head, both)
        git.run("update-ref", "--no-deref", "HEAD", both)
    return bool(both)


def _has(git: Git, commit: str, ancestor: str) -> bool:
    return git.asks("merge-base", "--is-ancestor", ancestor, commit) is not None
