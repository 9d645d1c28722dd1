"""Workers of several hands that are killed again and again: no file is lost, and what is done again is noted."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

from tests.fleet.crew import Crew, shell
from tests.fleet.repositories import bare, git
from tests.fleet.workers import SETTINGS
from tests.suite.waiting import until
from tildone.base import replace
from tildone.plan.model import Task, flat, numbered
from tildone.plan.runs import LeaseState

TASKS, HANDS, KILLS = 10, 3, 4
"""A run fails whose worker is lost five times in one task."""


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    found = Crew(tmp_path, str(tmp_path / "plans.db"))
    found.leases.configure(replace(SETTINGS, engine="table", lease=6000, margin=500, renewal=1000))
    yield found
    found.close()


def task(number: int, chance: random.Random) -> Task:
    """A task that needs the files of up to two others, takes some time, and makes a file."""
    after = tuple(sorted(chance.sample(range(1, number), min(number - 1, chance.randint(0, 2)))))
    needs = " ".join(f"{each}.txt" for each in after)
    script = f"cat /dev/null {needs} && sleep {chance.uniform(0, 0.6):.2f} && echo {number} > {number}.txt"
    return shell(f"task {number}", script, after)


def kill_one(crew: Crew, chance: random.Random) -> None:
    """Kill a worker, and start another one, with a home of its own."""
    killed: subprocess.Popen[bytes] = chance.choice([each for each in crew.processes if each.poll() is None])
    killed.kill()
    killed.wait()
    crew.start()


@pytest.mark.slow
@pytest.mark.parametrize("remote", [False, True], ids=["here", "remote"])
def test_no_file_is_lost_with_workers_that_are_killed(crew: Crew, tmp_path: Path, *, remote: bool) -> None:
    chance = random.Random(f"remote {remote}")  # noqa: S311  to be repeatable
    repository = tmp_path / "project"
    if remote:
        repository = bare(tmp_path, repository)
        crew.repo = repository.as_uri()
    crew.add(numbered(flat(*(task(number, chance) for number in range(1, TASKS + 1)))), hands=HANDS)
    for _ in range(HANDS):
        crew.start()

    for _ in range(KILLS):
        sleep(chance.uniform(0, 1.2))
        kill_one(crew, chance)
    until(lambda: not any(lease.state.is_active for lease in crew.hands()))

    assert [lease.state for lease in crew.hands()] == [LeaseState.DONE] * HANDS
    branch = f"tildone/{crew.run}"
    made = {number: git(repository, "show", f"{branch}:{number}.txt") for number in range(1, TASKS + 1)}
    assert made == {number: str(number) for number in range(1, TASKS + 1)}
    # A task is done again only if its files were lost, which a note says.
    reopened = {each.number: sum(note.startswith("reopened: ") for note in each.notes) for each in crew.plan().tasks}
    assert {number: times - 1 for number, times in crew.completions().items()} == reopened
