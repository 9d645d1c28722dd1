"""How results come to the branch of a run, in real repositories: one hand, several, and workers that come late."""

from pathlib import Path
from threading import Timer

import pytest

from tests.fleet.repositories import bare, change, files, git, project, write
from tildone.errors import RunFenced
from tildone.fleet.git import Git, GitError
from tildone.fleet.worktrees import Repository, Worktree, bring_in, chained, publish, settled, share
from tildone.log.fleet.names import FileName

RUN = FileName("nightly.1")
BRANCH = "tildone/nightly.1"


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    return project(tmp_path)


@pytest.fixture(name="bare")
def _bare(tmp_path: Path, project: Path) -> Path:
    return bare(tmp_path, project)


def held() -> None:
    """The lease is held."""


def hand(repository: Repository, number: int) -> Worktree:
    return repository.prepare(FileName.of(RUN, number), branch=RUN)


def shared(repository: Repository, worktree: Worktree, tip: str = "", own: str = "tildone/own") -> tuple[str, bool]:
    """Keep what a hand has done, and merge it; return the commit, and whether it is merged."""
    tree = Git(worktree.folder)
    commit = chained(tree, tip or tree.run("rev-parse", "HEAD"), "a task")
    return commit, share(repository, worktree, commit, own, held)


def test_what_is_left_is_committed_and_pushed(project: Path, bare: Path, tmp_path: Path) -> None:
    repository = Repository(str(project), str(tmp_path / "home"))
    worktree = repository.prepare(RUN)
    change(worktree)

    commit = publish(repository, worktree, "Write the parser", held)

    assert git(bare, "rev-parse", f"refs/heads/{BRANCH}") == git(project, "rev-parse", BRANCH) == commit
    assert git(bare, "log", "-1", "--format=%s", commit) == "Write the parser"
    assert git(worktree.folder, "status", "--porcelain") == ""
    assert publish(repository, worktree, "Nothing new", held) == commit


def test_two_workers_with_homes_of_their_own_share_a_repository(project: Path, tmp_path: Path) -> None:
    """The successor need not wait until the working tree of the other is removed."""
    old, new = (Repository(str(project), str(tmp_path / home)) for home in ("one", "two"))
    worktree = old.prepare(RUN)
    write(worktree, "parser.py", "two\n")
    kept = old.checkpoint(worktree, RUN, 1, "Task 1")
    successor = new.prepare(RUN, kept)
    write(successor, "lexer.py", "new\n")

    publish(new, successor, "Done", held)

    assert git(project, "show", f"{BRANCH}:parser.py") == "two"
    assert git(project, "show", f"{BRANCH}:lexer.py") == "new"


@pytest.mark.parametrize("remote", [False, True])
def test_a_worker_taken_for_dead_moves_nothing_that_its_heir_has_moved(
    project: Path, tmp_path: Path, request: pytest.FixtureRequest, *, remote: bool
) -> None:
    """It found its lease to be held, was stopped, and pushes when its successor has published."""
    where = request.getfixturevalue("bare") if remote else project
    old, new = (Repository(str(project), str(tmp_path / home)) for home in ("one", "two"))
    late, successor = old.prepare(RUN), new.prepare(RUN)
    write(late, "parser.py", "the late one's\n")
    write(successor, "parser.py", "the successor's\n")
    calls = []

    def stopped() -> None:
        calls.append("held")
        if len(calls) > 1:
            raise RunFenced(RUN)
        publish(new, successor, "Done", held)

    with pytest.raises(RunFenced):
        publish(old, late, "Done, too", stopped)

    assert git(where, "show", f"{BRANCH}:parser.py") == "the successor's"


def test_an_heir_publishes_although_the_other_has_pushed_the_branch(project: Path, bare: Path, tmp_path: Path) -> None:
    """The other was lost after it had pushed, and the successor has never seen that branch."""
    old = Repository(str(project), str(tmp_path / "one"))
    late = old.prepare(RUN)
    other = Repository(bare.as_uri(), str(tmp_path / "two"))
    write(late, "parser.py", "the first one's\n")
    publish(old, late, "Done", held)
    successor = other.prepare(RUN)
    write(successor, "parser.py", "the successor's\n")

    commit = publish(other, successor, "Done", held)

    assert git(bare, "rev-parse", BRANCH) == commit


def test_hands_merge_what_they_have_done_task_by_task(project: Path, tmp_path: Path) -> None:
    repository = Repository(str(project), str(tmp_path / "home"))
    first, second = hand(repository, 0), hand(repository, 1)

    write(first, "parser.py", "one\ntwo\n")
    tip, _ = shared(repository, first)
    write(second, "lexer.py", "a\n")
    other, _ = shared(repository, second)
    write(first, "parser.py", "one\ntwo changed\nthree\n")
    _, is_merged = shared(repository, first, tip)
    git(second.folder, "add", "lexer.py")
    git(second.folder, "commit", "-qm", "The agent's own commit")
    write(second, "lexer.py", "a changed\nb\n")
    assert shared(repository, second, other)[1]

    assert is_merged
    assert git(project, "show", f"{BRANCH}:parser.py") == "one\ntwo changed\nthree"
    assert git(project, "show", f"{BRANCH}:lexer.py") == "a changed\nb"
    assert shared(repository, first, tip)[1]


def test_a_conflict_keeps_the_branch_of_the_hand(project: Path, bare: Path, tmp_path: Path) -> None:
    first, second = Repository(str(project), str(tmp_path / "one")), Repository(bare.as_uri(), str(tmp_path / "two"))
    here, there = hand(first, 0), hand(second, 1)
    write(here, "parser.py", "the first one's\n")
    write(there, "parser.py", "the second one's\n")

    assert shared(first, here)[1]
    assert not shared(second, there, own="tildone/nightly.1.hand1")[1]

    assert git(bare, "show", f"{BRANCH}:parser.py") == "the first one's"
    assert git(bare, "show", f"{BRANCH}.hand1:parser.py") == "the second one's"


def test_hands_that_merge_at_the_same_time_merge_again(project: Path, tmp_path: Path) -> None:
    repository = Repository(str(project), str(tmp_path / "home"))
    first, second = hand(repository, 0), hand(repository, 1)
    write(first, "a.py", "a\n")
    write(second, "b.py", "b\n")
    tree = Git(first.folder)
    commit = chained(tree, tree.run("rev-parse", "HEAD"), "a task")
    calls = []

    def other_is_faster() -> None:
        calls.append("held")
        if len(calls) == 1:
            shared(repository, second)

    assert share(repository, first, commit, "tildone/own", other_is_faster)
    assert len(calls) == 2
    assert git(project, "ls-tree", "--name-only", BRANCH).split() == [
        ".gitignore",
        "a.py",
        "b.py",
        "old.py",
        "parser.py",
    ]


def test_a_hand_waits_while_another_moves_the_branch(project: Path, tmp_path: Path) -> None:
    """Another git may have the lock of the branch for a while on a slow machine."""
    repository = Repository(str(project), str(tmp_path / "home"))
    worktree = hand(repository, 1)
    write(worktree, "one.py", "one\n")
    lock = project / ".git" / "refs" / "heads" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    timer = Timer(1.0, lock.unlink)
    timer.start()

    commit, is_merged = shared(repository, worktree)

    timer.join()
    assert is_merged
    assert git(project, "rev-parse", BRANCH) == commit


@pytest.mark.parametrize("remote", [False, True])
def test_a_hand_brings_in_what_the_others_have_done(
    project: Path, tmp_path: Path, request: pytest.FixtureRequest, *, remote: bool
) -> None:
    source = request.getfixturevalue("bare").as_uri() if remote else str(project)
    first, second = Repository(source, str(tmp_path / "one")), Repository(source, str(tmp_path / "two"))
    here, there = hand(first, 0), hand(second, 1)
    tree = Git(there.folder)
    assert bring_in(tree, BRANCH)
    write(here, "a.py", "a\n")
    shared(first, here)
    change(there)
    settled(tree, "a task")

    assert bring_in(tree, BRANCH)

    assert files(there.folder) == {"a.py": "a\n", "parser.py": "two\n", "new ü.py": "new\n", "noise.log": "x\n"}
    assert git(there.folder, "status", "--porcelain") == ""
    write(here, "parser.py", "a conflict\n")
    settled(Git(here.folder), "a task")
    shared(first, here)
    assert not bring_in(tree, BRANCH)
    assert files(there.folder)["parser.py"] == "two\n"


def test_a_remote_repository_that_is_out_of_order_is_said(project: Path, bare: Path, tmp_path: Path) -> None:
    repository = Repository(str(project), str(tmp_path / "home"))
    worktree = repository.prepare(RUN)
    bare.rename(tmp_path / "away.git")

    with pytest.raises(GitError, match="git ls-remote failed"):
        publish(repository, worktree, "Done", held)

    (tmp_path / "away.git").rename(bare)
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho not for you; exit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with pytest.raises(GitError, match="pre-receive"):
        publish(repository, worktree, "Done", held)
