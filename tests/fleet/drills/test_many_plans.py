"""Four workers and many plans: every task is done once, every limit is held, and approvals are waited for."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.fleet.drills.forms import LONG
from tests.fleet.drills.harness import Drill, wait_until
from tests.fleet.drills.outcome import outcome_of
from tests.fleet.drills.places import Ground, Place
from tests.fleet.workers import repository
from tests.plans import plan_of
from tildone.log.events import PlanChanged
from tildone.log.fleet.facts import RunEnded, RunLost, RunReleased, RunTaken
from tildone.log.fleet.lease import LeaseState, NewRun, Work
from tildone.log.fleet.settings import ProviderLimit

PLANS = int(os.environ.get("TILDONE_DRILL_PLANS", "16"))
TASKS, REPOSITORIES, PROVIDER_RUNS = 5, 3, 2
ASKS = "3"
"""The task before which some agents ask."""

Step = tuple[int, int, str]
"""When a run was taken (1) or given up (-1), in milliseconds since 1970, and what is counted."""


def work_of(number: int, repositories: list[str]) -> Work:
    """Return what a run needs: most need something that is limited."""
    match number % 4:
        case 0:
            return Work(agent="test", repo=repositories[number // 4 % REPOSITORIES])
        case 1:
            return Work(agent="test", provider="limited")
        case 2:
            return Work(agent="test", labels=("special",))
        case _:
            return Work(agent="test", model=ASKS)


@pytest.mark.slow
def test_many_plans_keep_every_limit(tmp_path: Path) -> None:
    drill = Drill(tmp_path, LONG, Ground(Place.SQLITE, str(tmp_path / "plans.db")))
    try:
        special = start_workers(drill)
        asking = add_plans(drill)
        approve(drill, asking)
        drill.wait_until_ended()
        outcome = outcome_of(drill)
        print(outcome)
        assert outcome.is_good
        assert Counter((mark.run, mark.task) for mark in drill.marks("done")).total() == PLANS * TASKS
        check_limits(drill, special)
    finally:
        drill.close()


def start_workers(drill: Drill) -> list[str]:
    """Start four workers, and return the process ids of those with a label."""
    started = [drill.start(2, 0, command="true", labels=("special",) if number < 2 else ()) for number in range(4)]
    return [str(worker.pid) for worker in started[:2]]


def add_plans(drill: Drill) -> list[str]:
    """Queue the runs, and return those that ask."""
    drill.leases.set_limit(ProviderLimit("limited", runs=PROVIDER_RUNS))
    folders = [drill.folder / f"repository{number}" for number in range(REPOSITORIES)]
    for folder in folders:
        folder.mkdir()
    repositories = [str(repository(folder)) for folder in folders]
    plan = plan_of(*(f"task {task}" for task in range(1, TASKS + 1)))
    works = {f"r{drill.name}-{number}": work_of(number, repositories) for number in range(PLANS)}
    drill.leases.add_all([(NewRun(run, f"plan of {run}", work), [PlanChanged(plan)]) for run, work in works.items()])
    return [run for run, work in works.items() if work.model]


def approve(drill: Drill, asking: list[str]) -> None:
    """Answer the runs that ask, once all of them wait and have done nothing more."""
    wait_until(lambda: all(drill.lease(run).state is LeaseState.WAITING for run in asking))
    assert not [mark for mark in drill.marks() if mark.run in asking and mark.task >= int(ASKS)]
    for run in asking:
        drill.leases.answer(run, f"may-{ASKS}", "yes", "a person", f"answer-{run}")


def check_limits(drill: Drill, special: list[str]) -> None:
    """Check from the logs who had what at every moment."""
    steps: list[Step] = []
    for lease in drill.all_leases():
        for event in drill.store.events(lease.session):
            match event.fact:
                case RunTaken(owner=owner):
                    assert not lease.work.labels or owner.split("/")[1] in special
                    steps += [(event.at, 1, key) for key in keys_of(lease.work, owner)]
                    keys = keys_of(lease.work, owner)
                case RunEnded() | RunReleased() | RunLost():
                    steps += [(event.at, -1, key) for key in keys]
    held: Counter[str] = Counter()
    for _, change, key in sorted(steps):
        held[key] += change
        limit = {"provider": PROVIDER_RUNS, "repository": 1, "worker": 2}[key.split(" ")[0]]
        assert held[key] <= limit, key
    assert not any(held.values())


def keys_of(work: Work, owner: str) -> list[str]:
    """Return what a run uses that is limited."""
    found = [f"worker {owner.rpartition('/')[0]}"]
    return found + [f"repository {work.repo}"] * bool(work.repo) + [f"provider {work.provider}"] * bool(work.provider)
