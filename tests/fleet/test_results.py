"""What becomes of the results of a run when its remote repository fails, or when the machine with its files is lost."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.agents import touch, wait_for
from tests.fleet.repositories import bare, git, project
from tests.fleet.workers import Bench
from tests.suite.waiting import until
from tildone.base.ids import id_maker, now
from tildone.fleet import endings
from tildone.log.session import Session
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, PlanChanged, latest_state
from tildone.plan.model import Check, Proof, Result, Status, Task, flat
from tildone.plan.ops import Mark, Numbered
from tildone.plan.runs import Claimer, Kept, LeaseState, NewRun, RunReleased, RunTaken, Work


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    for name in ("TILDONE_STORE", "MARKS"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(endings, "FIRST_DELAY_MS", 100)
    found = Bench(tmp_path)
    yield found
    found.store.close()


@pytest.fixture(name="remote")
def _remote(tmp_path: Path) -> Path:
    return bare(tmp_path, project(tmp_path))


def test_a_branch_that_cannot_be_published_is_tried_again_and_said(bench: Bench, remote: Path, tmp_path: Path) -> None:
    """The remote repository refuses the branch at first. No task is done again."""
    hook = remote / "hooks" / "update"
    hook.write_text("#!/bin/sh\ncase $1 in refs/heads/*) echo no permission; exit 1;; esac\n", encoding="utf-8")
    hook.chmod(0o755)
    bench.add("echo $TASK >> file", "tasks", repo=str(tmp_path / "project"))

    with bench.worker():
        released = until(lambda: bench.facts(RunReleased))[0]
        hook.unlink()
        bench.becomes(LeaseState.DONE)
        report = tmp_path / "home" / "reports" / f"{bench.run}.md"
        until(report.exists)

    assert isinstance(released, RunReleased)
    assert released.why.startswith("git failed: the branch was not published: git push failed")
    assert released.fails == 0
    assert git(remote, "show", f"tildone/{bench.run}:file") == "1\n2"
    assert "the branch was not published" in report.read_text(encoding="utf-8")


def test_tasks_whose_files_are_lost_are_done_again(bench: Bench, remote: Path, tmp_path: Path) -> None:
    """The remote repository was out of order when task 2 was done, and then the machine was lost."""
    down, go = tmp_path / "down", tmp_path / "go"
    waits = f"[ $TASK != 2 ] || {wait_for(down)}; [ $TASK != 3 ] || {wait_for(go)}"
    bench.add(f"{waits}; echo $TASK > $TASK.txt", "tasks", tasks=3, repo=remote.as_uri())
    with bench.worker("one"):
        until(lambda: [fact.task for fact in bench.facts(Kept) if isinstance(fact, Kept)] == [1])
        remote.rename(tmp_path / "away.git")
        down.touch()
        until(lambda: _statuses(bench)[1] is Status.COMPLETED)
    shutil.rmtree(tmp_path / "one")
    (tmp_path / "away.git").rename(remote)
    go.touch()

    with bench.worker("two"):
        bench.becomes(LeaseState.DONE)

    assert git(remote, "ls-tree", "--name-only", f"tildone/{bench.run}").split()[1:4] == ["1.txt", "2.txt", "3.txt"]
    [note] = latest_state(bench.store.history("s")).plan.tasks[1].notes
    assert note.startswith("reopened: its files were lost with the worker before")
    assert len(bench.facts(RunTaken)) == 2


def test_a_task_that_is_done_while_a_checkpoint_is_kept_is_not_lost(bench: Bench, remote: Path, tmp_path: Path) -> None:
    """Its files are not in that checkpoint. Before the next one, the machine is lost."""
    pushing, go, down, end = (tmp_path / name for name in ("pushing", "go", "down", "end"))
    hook = remote / "hooks" / "update"
    first = f"[ ! -e {down} ] || exit 1; {touch(pushing)}; {wait_for(go)}; {touch(down)}"
    hook.write_text(f"#!/bin/sh\ncase $1 in refs/tildone/*) {first};; esac\n", encoding="utf-8")
    hook.chmod(0o755)
    waits = f"[ $TASK != 2 ] || {wait_for(pushing)}; [ $TASK != 3 ] || {wait_for(end)}"
    bench.add(f"{waits}; echo $TASK > $TASK.txt", "tasks", tasks=3, repo=remote.as_uri())
    with bench.worker("one"):
        until(lambda: _statuses(bench)[1] is Status.COMPLETED)
        go.touch()
        until(lambda: bench.facts(Kept))
    shutil.rmtree(tmp_path / "one")
    hook.unlink()
    end.touch()

    with bench.worker("two"):
        bench.becomes(LeaseState.DONE)

    assert git(remote, "ls-tree", "--name-only", f"tildone/{bench.run}").split()[1:4] == ["1.txt", "2.txt", "3.txt"]
    notes = [task.notes for task in latest_state(bench.store.history("s")).plan.tasks]
    assert [len(each) for each in notes] == [0, 1, 0]


def test_a_proof_does_not_outlive_the_files_that_were_lost(bench: Bench, tmp_path: Path) -> None:
    """The files that it made are not tracked: without them, the tracked files are as they were for the proof."""
    check = Check(("test", "-e", "made"))
    work = Work(agent="sh", model="exit 3", repo=str(project(tmp_path)))
    bench.leases.add(NewRun(bench.run, "s", work), [PlanChanged(flat(Task("one", number=1, check=check)))])
    lost = bench.leases.take(Claimer("there/1/a"), "there/1/a/1", bench.run, 0, 1)
    assert lost is not None
    agent = Session(bench.store, "s", BY_HAND, now=now, new_id=id_maker(now, os.urandom))
    done = [Mark(Numbered((1,)), Status.COMPLETED)]
    agent.change(done, Actor.AGENT, proofs={1: Proof(Result.PASSED, check.command)})
    assert _statuses(bench) == [Status.COMPLETED]
    bench.leases.release(lost.fence, "the machine is gone")

    with bench.worker():
        until(lambda: _statuses(bench) == [Status.PENDING])

    [task] = latest_state(bench.store.history("s")).plan.tasks
    assert task.check == check
    assert task.proof is not None
    assert (task.proof.result, task.proof.reason) == (Result.FAILED, "its files were lost with the worker before")


def test_an_heir_with_another_home_goes_on_in_the_same_repository(bench: Bench, tmp_path: Path) -> None:
    repo, go = project(tmp_path), tmp_path / "go"
    bench.add(f"[ $TASK = 1 ] || {wait_for(go)}; echo $TASK > $TASK.txt", "tasks", repo=str(repo))
    with bench.worker("one"):
        until(lambda: bench.facts(Kept))
    go.touch()

    with bench.worker("two"):
        bench.becomes(LeaseState.DONE)

    assert git(repo, "ls-tree", "--name-only", f"tildone/{bench.run}").split()[1:3] == ["1.txt", "2.txt"]
    assert [task.notes for task in latest_state(bench.store.history("s")).plan.tasks] == [(), ()]


def _statuses(bench: Bench) -> list[Status]:
    return [task.status for task in latest_state(bench.store.history("s")).plan.tasks]
