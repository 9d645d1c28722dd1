"""A worker takes runs, works on them, and closes their leases as their agents end."""

import sys
from pathlib import Path

import pytest

from tests.fleet.agents import processes_of, touch, wait_for
from tests.fleet.workers import Bench, repository
from tests.suite.waiting import until
from tildone.base.errors import UsageError
from tildone.fleet import upkeep as slots
from tildone.fleet.git import Git
from tildone.fleet.worker import Worker
from tildone.fleet.worksite import WorkerOptions
from tildone.log.settings import FleetSettings
from tildone.plan.events import PlanChanged, latest_state
from tildone.plan.model import Check, Status, Task, flat
from tildone.plan.runs import Ask, Asked, Kept, LeaseState, NewRun, RunReleased, RunTaken, Work


def test_a_plan_that_is_worked_through_is_done_published_and_reported(bench: Bench, tmp_path: Path) -> None:
    repo = repository(tmp_path)
    bench.add("echo $TASK >> file", "tasks", repo=str(repo))

    with bench.worker():
        bench.becomes(LeaseState.DONE)
        report = tmp_path / "home" / "reports" / f"{bench.run}.md"
        until(report.exists)

    assert Git(str(repo)).run("show", f"tildone/{bench.run}:file") == "one\n1\n2"
    assert Git(str(repo)).run("show", "main:file") == "one"
    text = report.read_text(encoding="utf-8")
    assert "- State: done" in text
    assert "- [x] task 2" in text
    assert f"finished run {bench.run}" in text


def test_a_checkpoint_is_kept_after_each_task(bench: Bench, tmp_path: Path) -> None:
    repo, go = repository(tmp_path), tmp_path / "go"
    bench.add(f"echo $TASK >> file; [ $TASK = 1 ] || {wait_for(go)}", "tasks", repo=str(repo))

    with bench.worker():
        [kept] = until(lambda: bench.facts(Kept))
        go.touch()
        bench.becomes(LeaseState.DONE)

    assert isinstance(kept, Kept)
    assert (kept.task, kept.ref) == (1, f"refs/tildone/{bench.run}/1")
    assert Git(str(repo)).run("show", f"{kept.commit}:file").startswith("one\n1")


def test_an_agent_that_ends_with_open_tasks_has_failed(bench: Bench) -> None:
    bench.add("exit 0")

    with bench.worker():
        bench.becomes(LeaseState.FAILED)

    report = (bench.folder / "home" / "reports" / f"{bench.run}.md").read_text(encoding="utf-8")
    assert "the agent ended with 2 open tasks" in report


def test_an_agent_that_fails_is_tried_again_later_and_its_output_is_recorded_without_secrets(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "abcdefgh-12345")
    bench.add("echo the cause is $SOME_TOKEN; exit 3")

    with bench.worker():
        [released] = until(lambda: bench.facts(RunReleased))

    assert isinstance(released, RunReleased)
    assert released.why == "the agent ended with exit code 3\nthe cause is [redacted]"
    lease = bench.lease()
    assert (lease.state, lease.fails) == (LeaseState.OPEN, 1)
    assert lease.not_before - lease.since == 20_000


def test_a_run_whose_agent_has_asked_waits_without_a_slot(bench: Bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    bench.add(wait_for(go))

    with bench.worker():
        until(lambda: bench.lease().is_held)
        bench.leases.append(bench.lease().fence, Asked(bench.run, 0, "q1", "question", "Which?"), "e1")
        go.touch()
        assert bench.becomes(LeaseState.WAITING).owner == ""
        bench.leases.answer(bench.run, "q1", "this one", "me", "e2")
        until(lambda: len(bench.facts(RunTaken)) == 2)


def test_an_answer_that_came_before_the_agent_ended_queues_the_run_again(bench: Bench, tmp_path: Path) -> None:
    go = tmp_path / "go"
    bench.add(wait_for(go))

    with bench.worker():
        until(lambda: bench.lease().is_held)
        bench.leases.append(bench.lease().fence, Asked(bench.run, 0, "q1", "question", "Which?"), "e1")
        bench.leases.answer(bench.run, "q1", "this one", "me", "e2")
        go.touch()
        until(lambda: len(bench.facts(RunTaken)) > 1)


def test_what_is_not_permitted_is_given_back_for_others(bench: Bench) -> None:
    bench.add("exit 0", "tasks")

    with bench.worker(agents=("sh",)):
        [released] = until(lambda: bench.facts(RunReleased))

    assert isinstance(released, RunReleased)
    assert released.why == "not permitted here: the agent 'tasks'"
    assert bench.lease().is_queued
    assert not (bench.folder / "home" / "folders").exists()


def test_what_a_worker_refuses_it_takes_once_and_another_takes_at_once(bench: Bench) -> None:
    """The delay of a lease would show: it is longer than a test may take."""
    bench.leases.configure(FleetSettings(lease=1_000_000, heartbeat=500, margin=1000, reaper=200, renewal=5000))
    bench.add("exit 0", "tasks")

    with bench.worker("refusing", agents=("sh",)):
        until(lambda: bench.lease().refused)
        # Whatever is announced, the worker does not take it again.
        bench.leases.request_stop(bench.run, Ask.NOTHING)
        with bench.worker("permitting"):
            bench.becomes(LeaseState.DONE)

    assert len(bench.facts(RunTaken)) == 2
    assert len(bench.facts(RunReleased)) == 1


@pytest.mark.parametrize(("ask", "state"), [((), LeaseState.OPEN), (("rm *",), LeaseState.WAITING)])
def test_a_check_that_is_not_permitted_is_asked_for_only_if_the_worker_may_ask(
    bench: Bench, ask: tuple[str, ...], state: LeaseState
) -> None:
    """Any agent blocks the tasks whose checks do not run. Else another worker may take the run."""
    plan = flat(Task("Remove", Status.BLOCKED, check=Check(("rm", "x"))))
    bench.leases.add(NewRun(bench.run, "s", Work(agent="sh", model="exit 0")), [PlanChanged(plan)])

    with bench.worker(allow=("make *",), ask=ask):
        [released] = until(lambda: bench.facts(RunReleased))

    assert isinstance(released, RunReleased)
    assert (bench.lease().state, [fact.text for fact in bench.facts(Asked) if isinstance(fact, Asked)]) == (
        state,
        ["rm x"] if ask else [],
    )
    assert ask or released.why == "not permitted here: the command rm x"


def test_a_worker_with_a_full_disk_takes_nothing_and_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.add("exit 0")
    monkeypatch.setattr(slots, "free_mb", lambda _: 4)

    with bench.worker(min_free_mb=5) as worker:
        until(lambda: [each.slots for each in bench.leases.workers()] == [0])
        assert worker.takes_nothing
        monkeypatch.setattr(slots, "free_mb", lambda _: 5)
        bench.becomes(LeaseState.FAILED)
        until(lambda: [each.slots for each in bench.leases.workers()] == [1])

    told = [line for line in capsys.readouterr().err.splitlines() if "MB" in line]
    assert [line.rpartition(": ")[2] for line in told] == ["the worker takes no run", "the worker takes runs again"]


@pytest.mark.parametrize(("ask", "state"), [(Ask.PAUSE, LeaseState.PAUSED), (Ask.CANCEL, LeaseState.CANCELLED)])
def test_a_run_that_is_to_end_or_rest_does_so_after_the_task_that_it_is_in(
    bench: Bench, tmp_path: Path, ask: Ask, state: LeaseState
) -> None:
    """When it is resumed or retried, it goes on with the next task."""
    go, on = tmp_path / "go", tmp_path / "on"
    bench.add(f"[ $TASK = 1 ] && {wait_for(go)} || {wait_for(on)}", "tasks")

    with bench.worker():
        until(lambda: bench.lease().is_held and (tmp_path / "marks").exists())
        bench.leases.request_stop(bench.run, ask)
        # The worker has read the wish with the first renewal when it makes the second one.
        for _ in range(2):
            bench.is_renewed()
        go.touch()
        bench.becomes(state)
        first = [not task.status.is_open for task in latest_state(bench.store.history("s")).plan.tasks]
        on.touch()
        bench.leases.requeue(bench.run)
        bench.becomes(LeaseState.DONE)

    assert first == [True, False]
    begun = [line.split()[3] for line in (tmp_path / "marks").read_text().splitlines() if line.startswith("begin")]
    assert begun[0] == "1"
    assert begun.count("1") == 1


def test_a_run_that_is_paused_at_once_goes_on_with_the_same_task(bench: Bench, tmp_path: Path) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    bench.add(f"{touch(began)}; {wait_for(go)}", "tasks", tasks=1)

    with bench.worker():
        until(began.exists)
        held = bench.lease()
        bench.leases.request_stop(bench.run, Ask.PAUSE_NOW)
        bench.becomes(LeaseState.PAUSED)
        left = processes_of(str(held.fence))
        go.touch()
        bench.leases.requeue(bench.run)
        bench.becomes(LeaseState.DONE)

    assert left == []
    assert bench.lease().losses == bench.lease().fails == 0


def test_a_cancelled_run_is_ended_with_all_its_processes(bench: Bench) -> None:
    bench.add("sleep 3600 & sleep 3600")

    with bench.worker():
        lease = until(lambda: bench.lease().is_held and bench.lease())
        until(lambda: len(processes_of(str(lease.fence))) > 1)
        bench.leases.request_stop(bench.run, Ask.CANCEL_NOW)
        bench.becomes(LeaseState.CANCELLED)

    assert processes_of(str(lease.fence)) == []


LOCKS = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
open(sys.argv[2], "w").close()
time.sleep(3600)
"""
"""A program that begins to write to a store, and does not end."""


def test_an_agent_that_is_frozen_while_it_writes_to_the_store_does_not_block_it_for_ever(
    bench: Bench, tmp_path: Path
) -> None:
    """No lease can be renewed, so the agent is frozen. Nobody could end that but its supervisor."""
    bench.leases.configure(FleetSettings(lease=3000, heartbeat=500, margin=1300, reaper=300, renewal=600))
    locked = tmp_path / "locked"
    program = tmp_path / "locks.py"
    program.write_text(LOCKS, encoding="utf-8")
    bench.add(f"test -e {locked} && exit 0; exec {sys.executable} {program} {bench.address} {locked}")

    with bench.worker():
        until(locked.exists)
        bench.becomes(LeaseState.FAILED)

    # The lease was given back, or had lapsed: neither is a failure of the agent.
    assert (len(bench.facts(RunTaken)), bench.lease().fails) == (2, 0)


def test_the_agent_of_a_run_that_has_passed_on_is_ended(bench: Bench, tmp_path: Path) -> None:
    """The worker does not give back what it no longer has. Its slot is free for the next attempt."""
    began = tmp_path / "began"
    bench.add(f"{touch(began)}; sleep 3600")

    with bench.worker():
        until(began.exists)
        held = bench.lease()
        bench.leases.lose(held.fence, "its lease has lapsed")
        until(lambda: len(bench.facts(RunTaken)) == 2)
        left = processes_of(str(held.fence))
        released = bench.facts(RunReleased)

    assert (left, released) == ([], [])


def test_a_worker_that_is_stopped_gives_its_run_back(bench: Bench, tmp_path: Path) -> None:
    began = tmp_path / "began"
    bench.add(f"{touch(began)}; sleep 3600")

    with bench.worker():
        until(began.exists)

    assert bench.lease().is_queued
    [released] = bench.facts(RunReleased)
    assert isinstance(released, RunReleased)
    assert released.why == "its worker was stopped"
    assert bench.leases.workers() == []


def test_a_worker_that_a_person_drains_finishes_what_it_has_and_ends(bench: Bench, tmp_path: Path) -> None:
    began, go = tmp_path / "began", tmp_path / "go"
    bench.add(f"{touch(began)}; {wait_for(go)}", "tasks", tasks=1)

    with bench.worker() as worker:
        until(began.exists)
        bench.leases.drain(worker.id)
        until(lambda: worker.takes_nothing)
        assert bench.lease().is_held
        go.touch()
        bench.becomes(LeaseState.DONE)
        until(lambda: bench.leases.workers() == [])


def test_a_worker_needs_a_slot(bench: Bench) -> None:
    options = WorkerOptions(0, frozenset(), (), frozenset(), "", 1.0)

    with pytest.raises(UsageError, match="at least one slot"):
        Worker(bench.leases, options, bench.address)
