"""Drills: workers are killed, stopped and told to cancel in the middle of tasks, and every task is done once."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.agents import eventually, processes_of
from tests.fleet.drills.harness import SHORT, Drill, Outcome, outcome_of
from tildone.log.fleet.lease import Ask, LeaseState

QUICK, LONG = "sleep 0.3", f"sleep {SHORT.lease / 1000 + 1}"
"""A task that is longer than the lease shows that an agent is stopped in the middle of it."""


@pytest.fixture
def drill(tmp_path: Path) -> Iterator[Callable[[str], Drill]]:
    drills: list[Drill] = []

    def make(command: str) -> Drill:
        drills.append(Drill(tmp_path, command))
        return drills[-1]

    yield make
    for each in drills:
        each.close()


def check(drill: Drill, name: str) -> Outcome:
    drill.wait_until_ended()
    outcome = outcome_of(drill)
    print(f"{name}: {outcome}")
    assert (outcome.lost, outcome.twice, outcome.stuck) == (0, 0, 0)
    return outcome


def test_a_worker_is_killed(drill: Callable[[str], Drill]) -> None:
    fleet = drill(QUICK)
    fleet.add(runs=4, tasks=3)
    first, _ = fleet.start(slots=2), fleet.start(slots=2)
    held = eventually(lambda: len(fleet.marks("begin")) >= 4 and fleet.held_by(first))

    fleet.kill(first)

    outcome = check(fleet, "kill -9 of a worker")
    assert outcome.takeovers
    assert not any(processes_of(str(lease.fence)) for lease in held)


def test_a_worker_is_stopped_for_longer_than_its_lease(drill: Callable[[str], Drill]) -> None:
    fleet = drill(LONG)
    fleet.add(runs=2, tasks=1)
    first = fleet.start(slots=2)
    eventually(lambda: len(fleet.marks("begin")) == 2)
    epochs = {run: fleet.lease(run).epoch for run in ("r0", "r1")}

    first.send_signal(signal.SIGSTOP)
    fleet.start(slots=2)
    eventually(
        lambda: all(fleet.lease(run).epoch > epoch and fleet.lease(run).is_held for run, epoch in epochs.items())
    )
    first.send_signal(signal.SIGCONT)

    outcome = check(fleet, "SIGSTOP of a worker past the lease")
    assert outcome.begun_twice == 2
    assert outcome.ended_twice == 0


def test_all_workers_are_killed_and_another_one_starts(drill: Callable[[str], Drill]) -> None:
    fleet = drill(QUICK)
    fleet.add(runs=4, tasks=3)
    both = [fleet.start(slots=2), fleet.start(slots=2)]
    eventually(lambda: len(fleet.marks("begin")) >= 4)

    for worker in both:
        fleet.kill(worker)
    fleet.start(slots=3)

    check(fleet, "both workers killed, a third starts")


def test_a_run_is_cancelled_in_the_middle_of_a_task(drill: Callable[[str], Drill]) -> None:
    fleet = drill("sleep 0.3; [ $TASK != 2 ] || sleep 3600")
    fleet.add(runs=1, tasks=3)
    worker = fleet.start(slots=1)
    eventually(lambda: len(fleet.marks("begin")) == 2)
    held = fleet.lease()

    fleet.leases.wish("r0", Ask.CANCEL)
    fleet.wait_until_ended()

    assert fleet.lease().state is LeaseState.CANCELLED
    assert processes_of(str(held.fence)) == []
    assert [task for _, task, _ in fleet.marks("end")] == ["1"]
    print(f"cancel in the middle of a task: {outcome_of(fleet)}")
    worker.terminate()
    assert worker.wait() == 0
