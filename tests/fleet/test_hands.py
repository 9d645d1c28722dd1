"""Several hands of one run.

Real workers with homes of their own, a repository, and workers that are killed again and again.
"""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

from tests.cli.fleet.conftest import postgres, sqlite
from tests.fleet.agents import FOREVER, touch, wait_for
from tests.fleet.repositories import bare, git, project
from tests.fleet.workers import SETTINGS, Bench, Crew, shell
from tests.plans import plan_of
from tests.stores.leases import take
from tests.stores.postgres import needs_server
from tests.suite.waiting import until
from tildone.base import replace
from tildone.fleet import hands as hand_rules
from tildone.fleet.handover import RunEnding
from tildone.fleet.hands import (
    MAX_LOOKS,
    FilesMissing,
    HandTree,
    OtherHands,
    Waker,
    hand_ending,
    looks_of,
    other_hands,
    waits,
)
from tildone.plan.claims import Claim, Claimant
from tildone.plan.events import Actor, Author, Event, Fact, PlanChanged
from tildone.plan.model import Plan, Status, Task, flat, numbered
from tildone.plan.names import FileName
from tildone.plan.runs import (
    Asked,
    Kept,
    Lease,
    LeaseState,
    NewRun,
    RunEnded,
    RunQueued,
    RunReleased,
    Work,
    WorkOutcome,
)

FOREVER_MS = int(FOREVER * 1000)


on_both_stores = pytest.mark.parametrize(
    "crew",
    [sqlite, pytest.param(postgres, marks=[needs_server, pytest.mark.slow])],
    ids=["sqlite", "postgres"],
    indirect=True,
)


@pytest.fixture(params=[sqlite])
def crew(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    monkeypatch.setenv("MARKS", "")
    found = Crew(tmp_path, request.param(request))
    yield found
    found.close()


@on_both_stores
def test_three_hands_do_each_task_once_although_a_worker_is_killed(crew: Crew, tmp_path: Path) -> None:
    """The last task comes after the others, and finds their files, whichever hands have made them."""
    wait = f"{wait_for(tmp_path / 'go')};"
    each = [shell(f"task {n}", f"{wait if n == 2 else ''} echo {n} > {n}.txt") for n in range(1, 6)]
    last = shell("last", "cat 1.txt 2.txt 3.txt 4.txt 5.txt > all.txt", after=(1, 2, 3, 4, 5))
    crew.add_plan(numbered(flat(*each, last)), hands=3)
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
    crew.add_plan(numbered(flat(shell("first", wait_for(go)), *later)), hands=2)
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
        crew.add_plan(numbered(flat(first, second)), hands=2)
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


def conflict(crew: Crew, tmp_path: Path) -> tuple[int, Asked]:
    """Let two hands change one file at once; return the hand that has to ask, and its question."""
    marks = {n: tmp_path / f"mark{n}" for n in (1, 2)}
    both = "; ".join(map(wait_for, marks.values()))
    each = [shell(f"task {n}", f"{touch(marks[n])}; {both}; echo {n} > parser.py") for n in (1, 2)]
    crew.add_plan(numbered(flat(*each)), hands=2)
    crew.start()
    crew.start()
    until(lambda: {lease.state for lease in crew.hands()} == {LeaseState.WAITING, LeaseState.DONE})
    [asking] = [lease.hand for lease in crew.hands() if lease.state is LeaseState.WAITING]
    [asked] = crew.facts(Asked)
    return asking, asked


@on_both_stores
def test_what_two_hands_cannot_merge_needs_a_person_and_is_done_when_they_have_merged_it(
    crew: Crew, tmp_path: Path
) -> None:
    asking, asked = conflict(crew, tmp_path)
    branch, own = f"tildone/{crew.run}", f"tildone/{crew.run}.hand{asking + 1}"

    first, command = asked.text.splitlines()
    what = (
        f"what hand {asking + 1} has done conflicts with the branch {branch}, in parser.py; it is on the branch {own}"
    )
    assert (asked.kind, first) == ("conflict", what)
    assert [note for task in crew.plan().tasks for note in task.notes] == [first]
    assert {git(crew.repo, "show", f"{each}:parser.py") for each in (branch, own)} == {"1", "2"}
    [report] = until(lambda: list(tmp_path.glob(f"home*/**/reports/{FileName.of(crew.run, asking)}.md")))
    assert "- asks: what hand" in report.read_text(encoding="utf-8")
    crew.leases.answer(crew.run, asked.question, "merged", "Ada", "too early")
    until(lambda: len(crew.facts(Asked)) == 2)
    until(lambda: crew.hands()[asking].state is LeaseState.WAITING)

    script = command.removeprefix("To merge it: ")
    identity = "git config user.name Ada; git config user.email ada@localhost"
    resolved = "(echo both > parser.py; git add .; git commit -qm Both)"
    words = ["sh", "-c", f"cd {crew.repo}; {identity}; ({script}) || {resolved}"]
    subprocess.run(words, check=True, capture_output=True)
    crew.leases.answer(crew.run, asked.question, "merged", "Ada", "merged")
    until(lambda: {lease.state for lease in crew.hands()} == {LeaseState.DONE})

    assert git(crew.repo, "show", f"{branch}:parser.py") == "both"


def test_what_conflicts_is_left_out_if_a_person_says_so(crew: Crew, tmp_path: Path) -> None:
    remote = bare(tmp_path, tmp_path / "project")
    crew.repo = remote.as_uri()
    asking, asked = conflict(crew, tmp_path)
    branch, own = f"tildone/{crew.run}", f"tildone/{crew.run}.hand{asking + 1}"
    before = git(remote, "rev-parse", branch)
    steps = [f"git fetch origin && git switch {branch}", f"git merge origin/{own}", f"git push origin {branch}"]
    assert asked.text.endswith(f"\nTo merge it: {' && '.join(steps)}")

    crew.leases.answer(crew.run, asked.question, "discard", "Ada", "left out")
    until(lambda: {lease.state for lease in crew.hands()} == {LeaseState.DONE})

    assert git(remote, "rev-parse", branch) == before
    assert git(remote, "show", f"{own}:parser.py") != git(remote, "show", f"{branch}:parser.py")
    why = [fact.why for fact in crew.facts(RunEnded) if fact.hand == asking]
    assert why == [f"what hand {asking + 1} has done is left out, as Ada decided; it is on the branch {own}"]


def test_a_checkpoint_after_a_task_has_nothing_of_the_next_one(crew: Crew, tmp_path: Path) -> None:
    """An agent goes on when its worker has kept the files; what is kept in the middle of a task says so."""
    go = tmp_path / "go"
    scripts = ["echo 1 > one.txt", f"echo half > two.txt; {wait_for(go)}", "echo 3 > three.txt"]
    crew.add_plan(numbered(flat(*(shell(f"task {n}", script) for n, script in enumerate(scripts, 1)))), hands=1)
    crew.start()
    first = until(lambda: next((fact for fact in crew.facts(Kept) if fact.task == 1), None))
    until(lambda: crew.worker_of(2))
    go.touch()
    until(lambda: {lease.state for lease in crew.hands()} == {LeaseState.DONE})

    assert "one.txt" in git(crew.repo, "ls-tree", "--name-only", first.commit).split()
    assert "two.txt" not in git(crew.repo, "ls-tree", "--name-only", first.commit).split()
    second = next(fact for fact in crew.facts(Kept) if fact.task == 2)
    assert "three.txt" not in git(crew.repo, "ls-tree", "--name-only", second.commit).split()
    assert git(crew.repo, "log", "-1", "--format=%s", second.commit) == "task 2 (task 2)"


AFTER = Task("two", number=2, after=(1,))
OPEN = PlanChanged(flat(Task("one", number=1), AFTER))
DONE = PlanChanged(flat(Task("one", Status.COMPLETED, number=1), AFTER))


def log(*facts: Fact) -> list[Event]:
    author = Author(agent="shell:r/1")
    return [Event(f"e{number}", None, 0, Actor.AGENT, fact, author) for number, fact in enumerate(facts)]


@pytest.mark.parametrize(
    ("as_of", "is_there"), [("e0", False), ("e1", True), ("", True)], ids=["before", "after", "unknown"]
)
def test_a_task_waits_for_a_checkpoint_whose_files_were_read_after_the_task_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_of: str, *, is_there: bool
) -> None:
    """Another hand may complete a task while its worker keeps the files, which are those before the task then."""
    monkeypatch.setattr(hand_rules, "WAIT_SECONDS", 0.0)
    repo = project(tmp_path)
    kept = Kept("r", 1, 1, "refs/x", git(repo, "rev-parse", "HEAD"), as_of=as_of)

    tree = HandTree(str(repo), "r", "shell:r/0", lambda: log(OPEN, DONE, kept))

    if is_there:
        assert tree.begin(AFTER) == ""
    else:
        with pytest.raises(FilesMissing, match="the files of tasks before it are not in tildone/r yet"):
            tree.begin(AFTER)


GAVE_UP = RunEnding(WorkOutcome.FAILED, "the agent ended with 2 open tasks")
LEASE = Lease("r", 0, "s")
NOBODY = OtherHands(0, frozenset())
IN_SRC = Task("one", Status.IN_PROGRESS, number=1, touches=("src",))
WAITS = RunEnding(None, "other hands have the rest", 7)


@pytest.mark.parametrize(
    ("plan", "theirs", "ending"),
    [
        (plan_of("one", "two"), {1, 2}, RunEnding(WorkOutcome.DONE, "other hands have the rest")),
        (plan_of("one", "two"), {1}, None),
        (flat(Task("one", number=1), AFTER), {1}, WAITS),
        (flat(IN_SRC, Task("two", number=2, touches=("s*",))), {1}, WAITS),
        (flat(IN_SRC, Task("two", number=2, touches=("doc",))), {1}, None),
        (flat(Task("one", Status.BLOCKED, number=1)), (), None),
        (flat(Task("one", number=1), AFTER), (), None),
        (Plan(), (), None),
    ],
)
def test_a_hand_waits_while_others_have_all_there_is_to_do(
    plan: Plan, theirs: set[int], ending: RunEnding | None
) -> None:
    others = OtherHands(1, frozenset(theirs))

    assert waits(plan, others, 7) == ending
    assert hand_ending(GAVE_UP, plan, others, 7, MAX_LOOKS) == (ending or GAVE_UP)
    assert waits(plan, replace(others, count=0), 7) is None
    assert hand_ending(GAVE_UP, plan, NOBODY, 7, 0) == GAVE_UP


@pytest.mark.parametrize("outcome", [WorkOutcome.RETRY, WorkOutcome.DONE, WorkOutcome.WAITING])
def test_only_a_hand_that_gave_up_waits(outcome: WorkOutcome) -> None:
    ending = RunEnding(outcome)

    assert hand_ending(ending, plan_of("one"), OtherHands(1, frozenset({1})), 7, 0) == ending


def test_its_own_tasks_and_hands_that_have_ended_are_not_those_of_others() -> None:
    claims = [
        Claim(1, 1, 9, Claimant("claude:a", lease="r/0"), remaining=5),
        Claim(2, 1, 9, Claimant("claude:b", lease="r/1"), remaining=5),
        Claim(3, 1, 9, Claimant("codex:c"), remaining=5),
        Claim(4, 1, 9, Claimant("claude:b", lease="r/1"), remaining=0),
    ]
    every = [LEASE, Lease("r", 1, "s", state=LeaseState.WAITING), Lease("r", 2, "s", state=LeaseState.DONE)]

    assert other_hands(LEASE, every, claims) == OtherHands(1, frozenset({2, 3}))


def test_a_hand_looks_again_for_a_task_a_few_times_while_none_is_closed() -> None:
    """Its agent may have ended just before another hand left a task, or had done what one waits for."""
    plan = flat(Task("one", Status.COMPLETED, number=1), Task("two", number=2), Task("three", number=3))
    look = RunReleased("r", 0, 1, LeaseState.OPEN, "it looks again for a task")
    others = replace(look, hand=1), RunReleased("r", 0, 1, LeaseState.OPEN, "drained")
    closed = PlanChanged(plan), PlanChanged(flat(Task("one", number=1), Task("two", number=2)))

    def ending(*facts: Fact) -> RunEnding:
        looks = looks_of(log(*facts), LEASE, plan)
        return hand_ending(GAVE_UP, plan, OtherHands(1, frozenset({3})), 7, looks)

    assert ending() == RunEnding(None, "it looks again for a task", 1000)
    assert ending(look, *others, PlanChanged(plan), look).delay == 4000
    assert ending(look, *closed, look, look).delay == 2000
    assert ending(look, RunQueued("r", 0, 0, 1, Work()), look, look).delay == 2000
    assert ending(*[look] * MAX_LOOKS) == GAVE_UP


def test_no_agent_is_started_while_another_hand_has_the_rest(bench: Bench) -> None:
    started = bench.folder / "started"
    work = Work(agent="sh", model=f"touch {started}")
    bench.leases.configure(replace(SETTINGS, lease=600_000))
    bench.leases.add(NewRun(bench.run, "s", work, hands=2), [PlanChanged(plan_of("one"))])
    other = take(bench.leases, "there/1/a/1", bench.run)
    assert other is not None
    bench.store.records.claim("s", 1, Claimant("claude:a", lease=f"{bench.run}/0"), 600_000)

    with bench.worker():
        until(lambda: bench.facts(RunEnded))

    [ended] = bench.facts(RunEnded)
    assert (ended.hand, ended.state, ended.why) == (1, LeaseState.DONE, "other hands have the rest")
    assert not started.exists()


LONG = 600_000
HERE, THERE = 0, 1
"""The hand that looks, and the one that waits."""


def tasks(first: Status, *others: Task) -> Plan:
    return flat(Task("first", first, number=1), *others)


def after(number: int, *touches: str, status: Status = Status.PENDING) -> Task:
    """A task after the first one."""
    return Task(f"task {number}", status, number=number, after=(1,), touches=touches)


def waker(bench: Bench, plan: Plan, *, hands: int = 2) -> Waker:
    """Return the waker of the hand that looks; the other one waits."""
    bench.leases.add(NewRun(bench.run, "s", Work(agent="sh"), 2), [PlanChanged(plan_of("one"))])
    own, other = (take(bench.leases, f"there/1/a/{n}", bench.run, n) for n in (HERE, THERE))
    assert own is not None
    assert other is not None
    bench.leases.release(other.fence, "other hands have the rest", LONG)
    found = Waker(bench.store, bench.leases, own)
    found.begin(plan, hands)
    return found


def is_woken(bench: Bench) -> bool:
    return not bench.leases.look(bench.run)[THERE].lease.not_before


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(
    ("left", "claimed", "expected"),
    [
        ([after(2), after(3)], {}, {True: True, False: True}),
        ([after(2)], {}, {True: False, False: True}),
        ([after(2), after(3)], {2: HERE}, {True: True, False: True}),
        ([after(2), after(3)], {2: THERE}, {True: False, False: True}),
        ([after(2)], {2: HERE}, {True: False, False: False}),
        ([after(2, "src", status=Status.IN_PROGRESS), after(3, "src")], {2: HERE}, {True: False, False: False}),
        ([after(2), after(3)], {1: HERE}, {True: True, False: True}),
        ([after(2), Task("later", number=3, after=(2,))], {}, {True: False, False: True}),
        ([], {}, {True: False, False: False}),
    ],
    ids=["two", "one", "own begun", "another begun", "begun", "same files", "claim of a closed task", "chain", "none"],
)
def test_a_hand_is_woken_once_if_a_task_is_left_for_it(
    bench: Bench, left: list[Task], claimed: dict[int, int], expected: dict[bool, bool], *, goes_on: bool
) -> None:
    """A hand that goes on starts one itself."""
    found = waker(bench, tasks(Status.IN_PROGRESS, *left))
    for task, hand in claimed.items():
        bench.store.records.claim("s", task, Claimant(f"claude:{hand}", lease=f"{bench.run}/{hand}"), LONG)

    found.look(tasks(Status.COMPLETED, *left), goes_on=goes_on)

    assert is_woken(bench) is expected[goes_on]
    if expected[goes_on]:
        other = take(bench.leases, "there/1/a/9", bench.run, THERE)
        assert other is not None
        bench.leases.release(other.fence, "other hands have the rest", LONG)
    found.look(tasks(Status.COMPLETED, *left), goes_on=goes_on)
    assert not is_woken(bench)


@pytest.mark.parametrize(("before", "hands"), [(Status.COMPLETED, 2), (Status.IN_PROGRESS, 1)])
def test_nobody_is_woken_unless_a_task_was_closed_and_there_are_others(
    bench: Bench, before: Status, hands: int
) -> None:
    """Hands that find nothing to do would wake each other for ever."""
    both = after(2), after(3)
    found = waker(bench, tasks(before, *both), hands=hands)

    found.look(tasks(Status.COMPLETED, *both), goes_on=False)

    assert not is_woken(bench)


TASKS, HANDS, KILLS = 10, 3, 4
"""A run fails whose worker is lost five times in one task."""


def task(number: int, chance: random.Random) -> Task:
    """A task that needs the files of up to two others, takes some time, and makes a file."""
    after = tuple(sorted(chance.sample(range(1, number), min(number - 1, chance.randint(0, 2)))))
    needs = " ".join(f"{each}.txt" for each in after)
    script = f"cat /dev/null {needs} && sleep {chance.uniform(0, 0.6):.2f} && echo {number} > {number}.txt"
    return shell(f"task {number}", script, after)


@pytest.mark.slow
@pytest.mark.parametrize("remote", [False, True], ids=["here", "remote"])
def test_no_file_is_lost_with_workers_that_are_killed(crew: Crew, tmp_path: Path, *, remote: bool) -> None:
    chance = random.Random(f"remote {remote}")  # noqa: S311  to be repeatable
    crew.leases.configure(replace(SETTINGS, engine="table", lease=6000, margin=500, renewal=1000))
    repository = tmp_path / "project"
    if remote:
        repository = bare(tmp_path, repository)
        crew.repo = repository.as_uri()
    crew.add_plan(numbered(flat(*(task(number, chance) for number in range(1, TASKS + 1)))), hands=HANDS)
    for _ in range(HANDS):
        crew.start()

    for _ in range(KILLS):
        sleep(chance.uniform(0, 1.2))
        killed = chance.choice([each for each in crew.processes if each.poll() is None])
        killed.kill()
        killed.wait()
        crew.start()
    until(lambda: not any(lease.state.is_active for lease in crew.hands()))

    assert [lease.state for lease in crew.hands()] == [LeaseState.DONE] * HANDS
    branch = f"tildone/{crew.run}"
    made = {number: git(repository, "show", f"{branch}:{number}.txt") for number in range(1, TASKS + 1)}
    assert made == {number: str(number) for number in range(1, TASKS + 1)}
    # A task is done again only if its files were lost, which a note says.
    reopened = {each.number: sum(note.startswith("reopened: ") for note in each.notes) for each in crew.plan().tasks}
    assert {number: times - 1 for number, times in crew.completions().items()} == reopened
