"""Working trees of runs in real repositories of git, and results when a remote repository or the machine fails."""

import os
import shutil
from pathlib import Path
from threading import Timer

import pytest

from tests.fleet.agents import touch, wait_for
from tests.fleet.repositories import bare, change, files, git, project, write
from tests.fleet.workers import Bench
from tests.stores.leases import take
from tests.suite.waiting import until
from tildone.base import RunFenced, replace
from tildone.base.ids import id_maker, now
from tildone.fleet import handover, workspaces
from tildone.fleet.git import Git, GitError
from tildone.fleet.workspaces import Workspace, digest_of, newest_checkpoint
from tildone.fleet.worktrees import (
    ADD_ATTEMPTS,
    Checkpoint,
    Repository,
    Worktree,
    bring_in,
    chained,
    names_with_checkpoints,
    publish,
    settled,
    share,
)
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.model import Check, Proof, Result, Status, Task, flat
from tildone.plan.names import FileName, is_address
from tildone.plan.ops import Mark, Numbered
from tildone.plan.runs import Kept, Lease, LeaseState, NewRun, RunReleased, RunTaken, Work

Begun = tuple[Repository, Worktree]
RUN = FileName("nightly.1")
SOURCES = ("old.py", "parser.py")
LONG_AGO = (1_600_000_000, 1_600_000_000)


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    return project(tmp_path)


@pytest.fixture
def begun(project: Path, tmp_path: Path) -> Begun:
    """A worker's repository, and the working tree of the run there."""
    repository = Repository(str(project), str(tmp_path / "home"))
    return repository, repository.prepare(RUN)


@pytest.fixture(name="bare")
def _bare(tmp_path: Path, project: Path) -> Path:
    return bare(tmp_path, project)


def test_a_run_has_a_working_tree_of_its_own_which_the_next_agent_gets_as_it_is(project: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    worktree = Repository(str(project), home).prepare(RUN)

    assert (worktree.branch, git(worktree.folder, "branch", "--show-current")) == ("tildone/nightly.1", "")
    assert files(worktree.folder) == {"parser.py": "one\n", "old.py": "old\n"}
    assert git(project, "branch", "--show-current") == "main"

    change(worktree)
    again = Repository(str(project), home).prepare(RUN)

    assert again.found == "the working tree of the agent before"
    assert files(again.folder)["parser.py"] == "two\n"
    assert not again.lost


def test_a_checkpoint_changes_neither_the_index_nor_the_branch(begun: Begun, project: Path) -> None:
    repository, worktree = begun
    change(worktree)
    git(worktree.folder, "add", "parser.py")
    before = git(worktree.folder, "status", "--porcelain"), git(worktree.folder, "rev-parse", "HEAD")

    kept = repository.checkpoint(worktree, RUN, 7, "Task 1")

    assert kept is not None
    assert kept.ref == "refs/tildone/nightly.1/7"
    assert (git(worktree.folder, "status", "--porcelain"), git(worktree.folder, "rev-parse", "HEAD")) == before
    listed = git(project, "-c", "core.quotePath=false", "ls-tree", "--name-only", kept.ref).splitlines()
    assert listed == [".gitignore", "new ü.py", "parser.py"]


def test_a_checkpoint_has_a_change_that_was_made_when_the_index_was_written(begun: Begun, project: Path) -> None:
    """The file has the same size and time as before. Git compares its content because the index is not newer."""
    git(project, "config", "core.trustCTime", "false")
    repository, worktree = begun
    file = Path(worktree.folder, "parser.py")
    index = Path(worktree.folder, git(worktree.folder, "rev-parse", "--git-path", "index"))
    os.utime(file, LONG_AGO)
    git(worktree.folder, "update-index", "--refresh")
    write(worktree, "parser.py", "two\n")
    os.utime(file, LONG_AGO)
    os.utime(index, LONG_AGO)

    kept = repository.checkpoint(worktree, RUN, 1, "Task 1")

    assert kept is not None
    assert git(project, "show", f"{kept.ref}:parser.py") == "two"


@pytest.fixture
def persons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of the person who runs the worker. Those of a repository start no program."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    return tmp_path / "gitconfig"


def test_a_file_that_is_removed_meanwhile_does_not_prevent_a_checkpoint(
    begun: Begun, project: Path, persons: Path
) -> None:
    """Git calls the filter for the first file, and finds the second one missing after that."""
    repository, worktree = begun
    git(project, "config", "--file", str(persons), "filter.removing.clean", "rm -f z.tmp; cat")
    for name, text in ((".gitattributes", "a.py filter=removing\n"), ("a.py", "new\n"), ("z.tmp", "for a moment\n")):
        write(worktree, name, text)

    kept = repository.checkpoint(worktree, RUN, 1, "Task 1")

    assert kept is not None
    assert git(project, "ls-tree", "--name-only", kept.ref).split() == [
        ".gitattributes",
        ".gitignore",
        "a.py",
        *SOURCES,
    ]


def test_files_that_cannot_be_kept_are_tried_a_few_times(
    begun: Begun, project: Path, tmp_path: Path, persons: Path
) -> None:
    repository, worktree = begun
    git(project, "config", "--file", str(persons), "filter.broken.clean", f"echo x >> '{tmp_path}/calls'; exit 1")
    git(project, "config", "--file", str(persons), "filter.broken.required", "true")
    write(worktree, ".gitattributes", "a.py filter=broken\n")
    write(worktree, "a.py", "new\n")

    with pytest.raises(GitError, match="git add failed"):
        repository.checkpoint(worktree, RUN, 1, "Task 1")

    assert (tmp_path / "calls").read_text(encoding="ascii") == "x\n" * ADD_ATTEMPTS


def test_a_successor_on_another_machine_goes_on_from_the_checkpoint(begun: Begun, bare: Path, tmp_path: Path) -> None:
    """What was not committed still is not; what came after the checkpoint is lost, and said to be."""
    repository, worktree = begun
    write(worktree, "lexer.py", "lexer\n")
    git(worktree.folder, "add", "lexer.py")
    git(worktree.folder, "commit", "-qm", "The agent's own commit")
    change(worktree)
    kept = repository.checkpoint(worktree, RUN, 1, "Task 1")
    write(worktree, "parser.py", "three\n")

    successor = Repository(bare.as_uri(), str(tmp_path / "elsewhere")).prepare(RUN, kept)

    expected = {"parser.py": "two\n", "new ü.py": "new\n", "lexer.py": "lexer\n"}
    assert files(successor.folder) == expected
    assert git(successor.folder, "log", "--format=%s", "-1") == "The agent's own commit"
    assert "lost" in successor.lost
    assert successor.branch == worktree.branch


def test_a_worker_taken_for_dead_overwrites_nothing_of_its_successor(project: Path, bare: Path, tmp_path: Path) -> None:
    old = Repository(str(project), str(tmp_path / "home"))
    worktree = old.prepare(RUN)
    kept = old.checkpoint(worktree, RUN, 1, "Task 1")
    new = Repository(bare.as_uri(), str(tmp_path / "elsewhere"))
    successor = new.prepare(RUN, kept)
    write(successor, "parser.py", "the successor's\n")
    newest = new.checkpoint(successor, RUN, 3, "Task 2")
    assert newest is not None

    write(worktree, "parser.py", "the late one's\n")
    old.checkpoint(worktree, RUN, 1, "Task 2")

    assert git(bare, "show", f"{newest.ref}:parser.py") == "the successor's"


@pytest.mark.parametrize("hands", [1, 2])
def test_the_ref_of_a_checkpoint_carries_the_epoch_of_the_lease(project: Path, tmp_path: Path, hands: int) -> None:
    lease = Lease(RUN, hands - 1, "plan", Work(repo=str(project)), epoch=7, owner="here/1/a/1")
    workspace = Workspace(lease, str(tmp_path / "home"))
    workspace.prepare([], hands)

    kept = workspace.checkpoint(1, "a task")

    assert kept is not None
    assert (kept.epoch, kept.ref) == (7, f"refs/tildone/{workspace.name}/7")
    assert git(project, "for-each-ref", "--format=%(refname) %(objectname)", "refs/tildone/") == (
        f"{kept.ref} {kept.commit}"
    )


def test_a_run_begins_with_the_ref_that_it_names(project: Path, tmp_path: Path) -> None:
    git(project, "checkout", "-qb", "feature")
    (project / "feature.py").write_text("f\n", encoding="utf-8")
    git(project, "add", ".")
    git(project, "commit", "-qm", "Feature")
    git(project, "checkout", "-q", "main")
    repository = Repository(str(project), str(tmp_path / "home"))

    assert "feature.py" in files(repository.prepare(FileName("a"), ref="feature").folder)
    assert "feature.py" not in files(repository.prepare(FileName("b")).folder)


def test_what_a_run_cannot_begin_with_is_said(project: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    for ref in ("missing", "--upload-pack=x"):
        with pytest.raises(GitError, match=f"has no branch, tag or commit {ref}"):
            Repository(str(project), home).prepare(RUN, ref=ref)
    with pytest.raises(GitError, match="is not a folder on this machine"):
        Repository(str(tmp_path / "missing"), home)
    with pytest.raises(GitError, match="must not have a password"):
        Repository("https://ada:secret@example.org/a.git", home)
    with pytest.raises(GitError, match="ext"):
        Repository(f"ext::sh -c 'touch {tmp_path / 'ran'}'://x", home)
    assert not (tmp_path / "ran").exists()


def test_a_folder_without_git_is_worked_on_as_it_is(tmp_path: Path) -> None:
    repository = Repository(str(tmp_path), str(tmp_path / "home"))
    worktree = repository.prepare(RUN)

    assert worktree.folder == str(tmp_path)
    assert repository.checkpoint(worktree, RUN, 1, "Task 1") is None
    repository.remove(RUN)
    assert tmp_path.exists()
    git(tmp_path, "init", "-q")
    with pytest.raises(GitError, match="has no commit yet"):
        Repository(str(tmp_path), str(tmp_path / "home")).prepare(RUN)


def test_removing_leaves_the_branch_only(begun: Begun, project: Path, bare: Path) -> None:
    repository, worktree = begun
    change(worktree)
    repository.checkpoint(worktree, RUN, 1, "Task 1")
    publish(repository, worktree, "Done", lambda: None)
    assert names_with_checkpoints(str(project)) == {RUN}

    repository.remove(RUN)

    assert not os.path.exists(worktree.folder)
    assert names_with_checkpoints(str(project)) == set()
    assert git(bare, "for-each-ref", "refs/tildone/") == ""
    assert git(project, "rev-parse", "--verify", "tildone/nightly.1")


@pytest.mark.parametrize(
    ("source", "expected"),
    [("https://example.org/a", True), ("git@example.org:a/b", True), ("../a", False), ("C:/a", False), ("/a:b", False)],
)
def test_addresses_are_told_from_folders(source: str, *, expected: bool) -> None:
    assert is_address(source) is expected


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="took longer than 0 s"):
        Git(str(tmp_path), seconds=0.0).run("version")


def test_what_is_no_checkpoint_of_the_run_is_not_used(project: Path, tmp_path: Path) -> None:
    """Somebody else has written it into the log: git would take it for an option, or for another ref."""
    lease = Lease(RUN, 0, "plan", Work(repo=str(project)), epoch=7, owner="here/1/a/1")
    commit = git(project, "rev-parse", "HEAD")
    real = Kept(RUN, 0, 3, f"refs/tildone/{RUN}/3", commit)
    false = [
        replace(real, ref="refs/heads/main"),
        replace(real, ref="refs/tildone/other/3"),
        replace(real, commit="--upload-pack=x"),
        replace(real, commit="HEAD"),
    ]
    events = [Event(f"e{at}", None, at, Actor.TIMER, fact) for at, fact in enumerate([real, *false])]

    assert newest_checkpoint(events, lease) == Checkpoint(real.ref, commit)
    assert newest_checkpoint(events[1:], lease) is None
    Workspace(lease, str(tmp_path / "home")).prepare(events[1:])


BRANCH = "tildone/nightly.1"


def held() -> None:
    """The lease is held."""


def hand(repository: Repository, number: int) -> Worktree:
    return repository.prepare(FileName.of(RUN, number), branch=RUN)


def shared(repository: Repository, worktree: Worktree, tip: str = "", own: str = "tildone/own") -> tuple[str, bool]:
    """Keep what a hand has done, and merge it; return the commit, and whether it is merged."""
    tree = Git(worktree.folder)
    commit = chained(tree, tip or tree.run("rev-parse", "HEAD"), "a task")
    return commit, not share(repository, worktree, commit, own, held)


def test_what_is_left_is_committed_and_pushed(begun: Begun, project: Path, bare: Path) -> None:
    repository, worktree = begun
    change(worktree)

    commit = publish(repository, worktree, "Write the parser", held)

    assert git(bare, "rev-parse", f"refs/heads/{BRANCH}") == git(project, "rev-parse", BRANCH) == commit
    assert git(bare, "log", "-1", "--format=%s", commit) == "Write the parser"
    assert git(worktree.folder, "status", "--porcelain") == ""
    assert publish(repository, worktree, "Nothing new", held) == commit


@pytest.mark.parametrize("remote", [False, True])
def test_a_worker_taken_for_dead_moves_nothing_that_its_successor_has_moved(
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


def test_a_successor_publishes_although_the_other_has_pushed_the_branch(
    project: Path, bare: Path, tmp_path: Path
) -> None:
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

    assert share(repository, first, commit, "tildone/own", other_is_faster) == ()
    assert len(calls) == 2
    assert git(project, "ls-tree", "--name-only", BRANCH).split() == [".gitignore", "a.py", "b.py", *SOURCES]


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
def test_a_hand_brings_in_what_others_did(
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


def test_a_remote_repository_that_is_out_of_order_is_said(begun: Begun, bare: Path, tmp_path: Path) -> None:
    repository, worktree = begun
    bare.rename(tmp_path / "away.git")

    with pytest.raises(GitError, match="git ls-remote failed"):
        publish(repository, worktree, "Done", held)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "repository")
    (tmp_path / "repository" / "file.txt").write_text("text\n")
    return tmp_path / "repository"


def test_no_filter_of_the_repository_runs_and_no_secret_reaches_one(
    repository: Path, tmp_path: Path, persons: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the person does, such as that of git-lfs. The agent cannot put another one in its place."""
    seen, env = tmp_path / "seen", tmp_path / "env"
    persons.write_text(f'[filter "upper"]\n\tclean = "env > {env}; tr a-z A-Z"\n')
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    for name in ("evil", "upper"):
        git(repository, "config", f"filter.{name}.clean", f"env > {seen}; cat")
    git(repository, "config", "filter.evil.required", "true")
    (repository / "other.md").write_text("text\n")
    (repository / ".gitattributes").write_text("*.md filter=evil\n*.txt filter=upper\n")
    safe = Git(str(repository))

    safe.run("add", "-A")
    safe.run("commit", "-q", "-m", "checkpoint")

    assert not seen.exists()
    assert "sk-secret" not in env.read_text(encoding="utf-8")
    assert (safe.run("show", "HEAD:other.md"), safe.run("show", ":file.txt")) == ("text", "TEXT")


@pytest.mark.parametrize(
    "key", ["diff.external", "core.sshCommand", "core.editor", "gpg.program", "credential.helper", "diff.evil.textconv"]
)
def test_no_other_program_and_no_hook_of_the_repository_runs(repository: Path, tmp_path: Path, key: str) -> None:
    seen = tmp_path / "seen"
    git(repository, "config", key, f"touch {seen}; false")
    git(repository, "config", "commit.gpgSign", "true")
    (repository / ".gitattributes").write_text("* diff=evil\n")
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {seen}\n")
    hook.chmod(0o755)
    safe = Git(str(repository))

    safe.run("add", "-A")
    safe.run("commit", "-q", "-m", "checkpoint")
    (repository / "file.txt").write_text("other\n")
    safe.asks("diff", "HEAD")
    safe.asks("ls-remote", "ssh://localhost:1/none")

    assert not seen.exists()


def test_a_program_that_cannot_be_overridden_is_an_error(repository: Path) -> None:
    git(repository, "config", "filter.a=b.clean", "cat")

    with pytest.raises(GitError, match="name a program in a way that cannot be overridden"):
        Git(str(repository)).run("add", "-A")


@pytest.fixture(name="bench")
def _bench(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(handover, "FIRST_DELAY_MS", 100)
    return bench


def test_a_branch_that_cannot_be_published_is_tried_again_and_said(bench: Bench, bare: Path, tmp_path: Path) -> None:
    """The remote repository refuses the branch at first. No task is done again."""
    hook = bare / "hooks" / "update"
    hook.write_text("#!/bin/sh\ncase $1 in refs/heads/*) echo no permission; exit 1;; esac\n", encoding="utf-8")
    hook.chmod(0o755)
    bench.add("echo $TASK >> file", "tasks", repo=str(tmp_path / "project"))

    with bench.worker():
        released = until(lambda: bench.facts(RunReleased))[0]
        hook.unlink()
        bench.becomes(LeaseState.DONE)
        report = tmp_path / "home" / "reports" / f"{bench.run}.md"
        until(report.exists)

    assert released.why.startswith("git failed: the branch was not published: git push failed")
    assert released.fails == 0
    assert git(bare, "show", f"tildone/{bench.run}:file") == "1\n2"
    assert "the branch was not published" in report.read_text(encoding="utf-8")


def test_tasks_whose_files_are_lost_are_done_again(bench: Bench, bare: Path, tmp_path: Path) -> None:
    """The remote repository was out of order when task 2 was done, and then the machine was lost."""
    down, go = tmp_path / "down", tmp_path / "go"
    waits = f"[ $TASK != 2 ] || {wait_for(down)}; [ $TASK != 3 ] || {wait_for(go)}"
    bench.add(f"{waits}; echo $TASK > $TASK.txt", "tasks", tasks=3, repo=bare.as_uri())
    with bench.worker("one"):
        until(lambda: [fact.task for fact in bench.facts(Kept)] == [1])
        bare.rename(tmp_path / "away.git")
        down.touch()
        until(lambda: bench.plan().tasks[1].status is Status.COMPLETED)
    shutil.rmtree(tmp_path / "one")
    (tmp_path / "away.git").rename(bare)
    go.touch()

    with bench.worker("two"):
        bench.becomes(LeaseState.DONE)

    assert git(bare, "ls-tree", "--name-only", f"tildone/{bench.run}").split()[1:4] == ["1.txt", "2.txt", "3.txt"]
    [note] = bench.plan().tasks[1].notes
    assert note.startswith("reopened: its files were lost with the worker before")
    assert len(bench.facts(RunTaken)) == 2


def test_a_task_that_is_done_while_a_checkpoint_is_kept_is_not_lost(bench: Bench, bare: Path, tmp_path: Path) -> None:
    """Its files are not in that checkpoint. Before the next one, the machine is lost."""
    pushing, go, down, end = (tmp_path / name for name in ("pushing", "go", "down", "end"))
    hook = bare / "hooks" / "update"
    first = f"[ ! -e {down} ] || exit 1; {touch(pushing)}; {wait_for(go)}; {touch(down)}"
    hook.write_text(f"#!/bin/sh\ncase $1 in refs/tildone/*) {first};; esac\n", encoding="utf-8")
    hook.chmod(0o755)
    waits = f"[ $TASK != 2 ] || {wait_for(pushing)}; [ $TASK != 3 ] || {wait_for(end)}"
    bench.add(f"{waits}; echo $TASK > $TASK.txt", "tasks", tasks=3, repo=bare.as_uri())
    with bench.worker("one"):
        until(lambda: bench.plan().tasks[1].status is Status.COMPLETED)
        go.touch()
        until(lambda: bench.facts(Kept))
    shutil.rmtree(tmp_path / "one")
    hook.unlink()
    end.touch()

    with bench.worker("two"):
        bench.becomes(LeaseState.DONE)

    assert git(bare, "ls-tree", "--name-only", f"tildone/{bench.run}").split()[1:4] == ["1.txt", "2.txt", "3.txt"]
    notes = [task.notes for task in bench.plan().tasks]
    assert [len(each) for each in notes] == [0, 1, 0]


def test_a_proof_does_not_outlive_the_files_that_were_lost(bench: Bench, tmp_path: Path) -> None:
    """The files that it made are not tracked: without them, the tracked files are as they were for the proof."""
    check = Check(("test", "-e", "made"))
    work = Work(agent="sh", model="exit 3", repo=str(project(tmp_path)))
    bench.leases.add(NewRun(bench.run, "s", work), [PlanChanged(flat(Task("one", number=1, check=check)))])
    lost = take(bench.leases, "there/1/a/1", bench.run)
    assert lost is not None
    agent = Session(bench.store, "s", BY_HAND, now=now, new_id=id_maker(now, os.urandom))
    done = [Mark(Numbered((1,)), Status.COMPLETED)]
    agent.change(done, Actor.AGENT, proofs={1: Proof(Result.PASSED, check.command)})
    assert bench.plan().tasks[0].status is Status.COMPLETED
    bench.leases.release(lost.fence, "the machine is gone")

    with bench.worker():
        until(lambda: bench.plan().tasks[0].status is Status.PENDING)

    [task] = bench.plan().tasks
    assert task.check == check
    assert task.proof is not None
    assert (task.proof.result, task.proof.reason) == (Result.FAILED, "its files were lost with the worker before")


def test_a_successor_with_another_home_goes_on_in_the_same_repository(bench: Bench, tmp_path: Path) -> None:
    repo, go = project(tmp_path), tmp_path / "go"
    bench.add(f"[ $TASK = 1 ] || {wait_for(go)}; echo $TASK > $TASK.txt", "tasks", repo=str(repo))
    with bench.worker("one"):
        until(lambda: bench.facts(Kept))
    go.touch()

    with bench.worker("two"):
        bench.becomes(LeaseState.DONE)

    assert git(repo, "ls-tree", "--name-only", f"tildone/{bench.run}").split()[1:3] == ["1.txt", "2.txt"]
    assert [task.notes for task in bench.plan().tasks] == [(), ()]


def test_the_digest_of_a_folder_tells_its_files_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text("one")
    first = digest_of(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")

    assert first == digest_of(str(tmp_path)) != ""
    (tmp_path / "deep" / "a").write_text("two")
    second = digest_of(str(tmp_path))
    (tmp_path / "deep" / "a").rename(tmp_path / "deep" / "b")
    assert len({first, second, digest_of(str(tmp_path))}) == 3
    monkeypatch.setattr(workspaces, "MAX_FILES", 0)
    assert digest_of(str(tmp_path)) == ""
