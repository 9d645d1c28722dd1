"""Several hands of one run: real workers with homes of their own, shell agents, a repository, both kinds of store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.fleet.conftest import postgres, sqlite
from tests.fleet.agents import FOREVER, touch, wait_for
from tests.fleet.crew import Crew, shell
from tests.fleet.repositories import bare, git
from tests.fleet.workers import SETTINGS
from tests.stores.postgres import needs_server
from tests.suite.waiting import until
from tildone.core.numbers import numbered
from tildone.core.plan import flat
from tildone.log.fleet.lease import LeaseState
from tildone.value import replace

FOREVER_MS = int(FOREVER * 1000)


on_both_stores = pytest.mark.parametrize(
    "crew",
    [sqlite, pytest.param(postgres, marks=[needs_server, pytest.mark.slow])],
    ids=["sqlite", "postgres"],
    indirect=True,
)


@pytest.fixture(params=[sqlite])
def crew(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Crew]:
    found = Crew(tmp_path, request.param(request))
    yield found
    found.close()


@on_both_stores
def test_three_hands_do_each_task_once_although_a_worker_is_killed(crew: Crew, tmp_path: Path) -> None:
    """The last task comes after the others, and finds their files, whichever hands have made them."""
    wait = f"{wait_for(tmp_path / 'go')};"
    each = [shell(f"task {n}", f"{wait if n == 2 else ''} echo {n} > {n}.txt") for n in range(1, 6)]
    last = shell("last", "cat 1.txt 2.txt 3.txt 4.txt 5.txt > all.txt", after=(1, 2, 3, 4, 5))
    crew.add(numbered(flat(*each, last)), hands=3)
    for _ in range(3):
        crew.start()

    killed = until(lambda: crew.worker_of(2))
    # What it has done before is not lost with it.
    until(crew.is_all_kept)
    killed.kill()
    killed.wait()
    # Its agent ends with it, before the task can.
    until(lambda: not crew.holds(killed))
    (tmp_path / "go").touch()
    until(lambda: crew.completions()[6])
    until(lambda: is_done_soon(crew))

    assert crew.completions() == dict.fromkeys(range(1, 7), 1)
    assert git(crew.repo, "show", f"tildone/{crew.run}:all.txt").split() == ["1", "2", "3", "4", "5"]
    assert all(not task.notes for task in crew.plan().tasks)


def is_done_soon(crew: Crew) -> bool:
    """Whether all hands are done. One that waits would see only after the time of a lease that nothing is left."""
    crew.leases.skip_delay(crew.run)
    return all(lease.state is LeaseState.DONE for lease in crew.hands())


@on_both_stores
def test_a_hand_that_waits_begins_as_soon_as_another_has_done_what_it_waits_for(crew: Crew, tmp_path: Path) -> None:
    """The last two tasks end only if they are worked on at once. A hand looks by itself after the time of a lease."""
    go, *marks = (tmp_path / name for name in ("go", "second", "third"))
    both = "; ".join(map(wait_for, marks))
    later = [shell(mark.name, f"{touch(mark)}; {both}", after=(1,)) for mark in marks]
    crew.leases.configure(replace(SETTINGS, lease=FOREVER_MS, engine="table"))
    crew.add(numbered(flat(shell("first", wait_for(go)), *later)), hands=2)
    for _ in range(2):
        crew.start()

    until(lambda: any(lease.not_before for lease in crew.hands()))
    go.touch()
    until(lambda: all(lease.state is LeaseState.DONE for lease in crew.hands()))

    assert crew.completions() == dict.fromkeys(range(1, 4), 1)


def test_a_task_waits_for_files_that_are_lost_until_they_are_made_again(crew: Crew, tmp_path: Path) -> None:
    """A hand has completed a task, and is lost before its files are kept. Its successor does the task again."""
    remote = bare(tmp_path, tmp_path / "project")
    pushing, refuse, go = (tmp_path / name for name in ("pushing", "refuse", "go"))
    hook = remote / "hooks" / "update"
    hook.write_text(f"#!/bin/sh\n[ -e {pushing} ] || {{ {touch(pushing)}; {wait_for(refuse)}; exit 1; }}\n")
    hook.chmod(0o755)
    first = shell("first", "echo 1 > 1.txt")
    second = shell("second", f"cat 1.txt || exit 1; {wait_for(go)}; cat 1.txt > 2.txt", after=(1,))
    crew.repo = remote.as_uri()
    try:
        crew.add(numbered(flat(first, second)), hands=2)
        crew.start()
        killed = until(lambda: crew.worker_of(2))
        until(pushing.exists)
        killed.kill()
        killed.wait()
        refuse.touch()
        for _ in range(2):
            crew.start()
        go.touch()
        until(lambda: not any(lease.state.is_active for lease in crew.hands()))

        assert [lease.state for lease in crew.hands()] == [LeaseState.DONE] * 2
        assert crew.completions() == {1: 2, 2: 1}
        assert git(remote, "show", f"tildone/{crew.run}:2.txt") == "1"
    finally:
        refuse.touch()


def test_what_two_hands_cannot_merge_is_noted_and_kept_on_a_branch(crew: Crew, tmp_path: Path) -> None:
    marks = {n: tmp_path / f"mark{n}" for n in (1, 2)}
    both = "; ".join(map(wait_for, marks.values()))
    each = [shell(f"task {n}", f"{touch(marks[n])}; {both}; echo {n} > parser.py") for n in (1, 2)]
    crew.add(numbered(flat(*each)), hands=2)
    crew.start()
    crew.start()
    until(lambda: all(lease.state is LeaseState.DONE for lease in crew.hands()))

    [note] = [note for task in crew.plan().tasks for note in task.notes]
    kept = note.rpartition(" ")[2]
    assert note.startswith("conflict: what hand ")
    merged, own = (git(crew.repo, "show", f"{branch}:parser.py") for branch in (f"tildone/{crew.run}", kept))
    assert {merged, own} == {"1", "2"}
