"""How results of runs come to their branches, in this repository and at its remote one.

A branch is moved only from the commit that was seen before the lease was found to be held. A worker that was taken for
dead, and pushes late, therefore moves nothing that its heir has moved since. The hands of one run share its branch:
what a hand has done is merged into it. What cannot be merged stays on a branch of the hand, for a person.
"""

from __future__ import annotations

from tildone.fleet.git import Git, GitError
from tildone.fleet.worktrees import MAX_MESSAGE, REMOTE, Repository, Worktree, commit_of, tree_of
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    StillHeld = Callable[[], object]
    """Raises RunFenced if the lease has passed to another worker."""

MAX_MOVES = 20
"""How often a branch is moved anew that others move at the same time."""


def publish(repository: Repository, worktree: Worktree, message: str, still_held: StillHeld) -> str:
    """Commit what is left in a working tree, make it the branch of the run, and return the commit.

    Raises:
        GitError: It could not be committed or pushed.
        RunFenced: The lease has passed to another worker.
    """
    git = Git(worktree.folder)
    head = settled(git, message)
    moved(repository, worktree.branch, lambda _: head, still_held)
    return head


def share(repository: Repository, worktree: Worktree, commit: str, own: str, still_held: StillHeld) -> bool:
    """Merge a commit of a hand into the branch of its run; return False if it stays on the branch `own` instead.

    Raises:
        GitError: A branch could not be moved or pushed.
        RunFenced: The lease has passed to another worker.
    """
    is_merged = True

    def wanted(before: str) -> str:
        nonlocal is_merged
        found = merged(repository.git, before, commit)
        is_merged = bool(found)
        return found or before

    moved(repository, worktree.branch, wanted, still_held)
    if not is_merged:
        moved(repository, own, lambda _: commit, still_held)
    return is_merged


def settled(git: Git, message: str) -> str:
    """Commit what is left in a working tree, and return its HEAD.

    Raises:
        GitError: It could not be committed.
    """
    head = git.run("rev-parse", "HEAD")
    if tree_of(git) != git.run("rev-parse", "HEAD^{tree}"):
        head = commit_of(git, head, message)
        git.run("reset", "-q", "--mixed", head)
    return head


def moved(repository: Repository, branch: str, wanted: Callable[[str], str], still_held: StillHeld) -> str:
    """Move a branch to the commit that `wanted` returns for its commit before, which may be empty, and return it.

    With a remote repository, the branch there decides.

    Raises:
        GitError: It could not be moved or pushed.
        RunFenced: The lease has passed to another worker.
    """
    ref = f"refs/heads/{branch}"
    for _ in range(MAX_MOVES):
        before = commit_at(repository, ref)
        still_held()
        commit = wanted(before)
        try:
            if commit != before:
                _move(repository, ref, commit, before)
        except GitError:
            if commit_at(repository, ref) == before:
                raise
            continue
        return commit
    raise GitError(f"the branch {branch} was moved by others {MAX_MOVES} times")


def commit_at(repository: Repository, ref: str) -> str:
    """Return the commit of a ref, which is here then, also if the ref is that of the remote; empty if there is none.

    Raises:
        GitError: The remote repository cannot be reached.
    """
    git = repository.git
    if not repository.has_remote:
        return git.asks("rev-parse", "-q", "--verify", f"{ref}^{{commit}}") or ""
    commit, _, _ = git.run("ls-remote", REMOTE, ref).partition("\t")
    if commit and git.asks("cat-file", "-e", f"{commit}^{{commit}}") is None:
        git.run("fetch", "-q", REMOTE, ref)
    return commit


def merged(git: Git, before: str, commit: str) -> str:
    """Return a commit with both; empty if they cannot be merged.

    Raises:
        GitError: This version of git cannot merge without a working tree.
    """
    if not before or _has(git, commit, before):
        return commit
    if _has(git, before, commit):
        return before
    tree = git.asks("merge-tree", "--write-tree", before, commit)
    if tree is None:
        if git.asks("merge-tree", "--write-tree", commit, commit) is None:
            raise GitError("git 2.38 or later is needed to merge what several hands have done")
        return ""
    message = "Merge what another hand of the run has done"
    return git.run("commit-tree", tree, "-p", before, "-p", commit, "-F", "-", text=message)


def chained(git: Git, tip: str, message: str) -> str:
    """Return a commit of the files in a working tree that follows the commit `tip`, and HEAD; `tip` if it has them.

    So each commit of a hand can be merged after the one before, whatever its agent commits itself.

    Raises:
        GitError: It could not be made.
    """
    head = git.run("rev-parse", "HEAD")
    more = () if _has(git, tip, head) else (head,)
    if not more and tree_of(git) == git.run("rev-parse", f"{tip}^{{tree}}"):
        return tip
    return commit_of(git, tip, message[:MAX_MESSAGE], *more)


def bring_in(git: Git, branch: str) -> bool:
    """Merge the branch of a run into the working tree of a hand, whose files are committed; False if it cannot be.

    Raises:
        GitError: The branch cannot be had, or the files cannot be written.
    """
    if REMOTE in git.run("remote").split():
        git.asks("fetch", "-q", REMOTE, f"+refs/heads/{branch}:refs/heads/{branch}")
    theirs = git.asks("rev-parse", "-q", "--verify", f"refs/heads/{branch}^{{commit}}")
    head = git.run("rev-parse", "HEAD")
    both = merged(git, head, theirs) if theirs else head
    if both and both != head:
        git.run("read-tree", "-m", "-u", head, both)
        git.run("update-ref", "--no-deref", "HEAD", both)
    return bool(both)


def _move(repository: Repository, ref: str, commit: str, before: str) -> None:
    git = repository.git
    if repository.has_remote:
        git.run("push", "-q", f"--force-with-lease={ref}:{before}", REMOTE, f"{commit}:{ref}")
        git.run("update-ref", ref, commit)
    else:
        git.run("update-ref", ref, commit, before)


def _has(git: Git, commit: str, ancestor: str) -> bool:
    return git.asks("merge-base", "--is-ancestor", ancestor, commit) is not None
