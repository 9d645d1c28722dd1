"""A worker takes runs, permits what its rules say, works, and closes leases.

Its reaper takes those whose time has passed.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from unittest.mock import Mock

import apsw
import pytest

from tests.fleet.agents import processes_of, touch, wait_for
from tests.fleet.repositories import git, project
from tests.fleet.workers import Bench, said
from tests.plans import plan_of
from tests.stores.leases import LONG, Fleet, fleet_on_sqlite
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.base import UsageError, replace
from tildone.fleet import hands
from tildone.fleet import upkeep as slots
from tildone.fleet.engine import TableEngine
from tildone.fleet.handover import MAX_DELAY_MS, MAX_TRIES, RunEnding, ending_of, out_of_order
from tildone.fleet.permissions import (
    SEEN_MS,
    LeftRuns,
    approved_patterns,
    could_take,
    others_may_permit,
    permitted,
    refused_commands,
)
from tildone.fleet.results import WorkerOptions
from tildone.fleet.supervision import AgentEnding, How
from tildone.fleet.upkeep import TIDY_SECONDS, Reaper
from tildone.fleet.worker import Worker
from tildone.log import lease_rules as rules
from tildone.log.lease_rules import MAX_LOSSES
from tildone.log.settings import FleetSettings
from tildone.plan.events import Actor, Event, Fact, PlanChanged, State
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Check, Status, Task, flat
from tildone.plan.runs import (
    PROTOCOL,
    Answered,
    Asked,
    Claimer,
    Lease,
    LeaseRequest,
    LeaseState,
    NewRun,
    RunEnded,
    RunQueued,
    RunReleased,
    RunTaken,
    Work,
    WorkOutcome,
)
from tildone.plan.text.proofs import check_text


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with fleet_on_sqlite(tmp_path) as made:
        yield made


def test_a_plan_that_is_worked_through_is_done_published_and_reported(bench: Bench, tmp_path: Path) -> None:
    repo = project(tmp_path)
    bench.add("echo $TASK >> parser.py", "tasks", repo=str(repo))

    with bench.worker():
        bench.becomes(LeaseState.DONE)
        report = tmp_path / "home" / "reports" / f"{bench.run}.md"
        until(report.exists)

    shown = [git(repo, "show", f"{branch}:parser.py") for branch in (f"tildone/{bench.run}", "main")]
    assert shown == ["one\n1\n2", "one"]
    text = report.read_text(encoding="utf-8")
    assert "- State: done" in text
    assert "- [x] task 2" in text
    assert f"finished run {bench.run}" in text


def test_what_a_worker_refuses_it_takes_once_and_another_takes_at_once(bench: Bench) -> None:
    """The delay of a lease would show: it is longer than a test may take."""
    bench.leases.configure(FleetSettings(lease=1_000_000, heartbeat=500, margin=1000, reaper=200, renewal=5000))
    bench.add("exit 0", "tasks")

    with bench.worker("refusing", agents=("sh",)):
        until(lambda: bench.lease().refused)
        # Whatever is announced, the worker does not take it again.
        bench.leases.request_stop(bench.run, LeaseRequest.NOTHING)
        with bench.worker("permitting"):
            bench.becomes(LeaseState.DONE)

    assert len(bench.facts(RunTaken)) == 2
    assert [fact.why for fact in bench.facts(RunReleased)] == ["not permitted here: the agent 'tasks'"]
    assert not (bench.folder / "refusing" / "folders").exists()


@pytest.mark.parametrize(("ask", "state"), [((), LeaseState.OPEN), (("rm *",), LeaseState.WAITING)])
def test_a_check_is_asked_for_only_if_the_worker_may_ask(bench: Bench, ask: tuple[str, ...], state: LeaseState) -> None:
    """Any agent blocks the tasks whose checks do not run. Else another worker may take the run."""
    plan = flat(Task("Remove", Status.BLOCKED, check=Check(("rm", "x"))))
    bench.leases.add(NewRun(bench.run, "s", Work(agent="sh", model="exit 0")), [PlanChanged(plan)])

    with bench.worker(allow=("make *",), ask=ask):
        [released] = until(lambda: bench.facts(RunReleased))

    assert (bench.lease().state, [fact.text for fact in bench.facts(Asked)]) == (state, ["rm x"] if ask else [])
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


@pytest.mark.parametrize(
    ("ask", "state"), [(LeaseRequest.PAUSE, LeaseState.PAUSED), (LeaseRequest.CANCEL, LeaseState.CANCELLED)]
)
def test_a_run_ends_or_rests_after_the_task_that_it_is_in(
    bench: Bench, tmp_path: Path, ask: LeaseRequest, state: LeaseState
) -> None:
    """When it is resumed or retried, it goes on with the next task."""
    go, on = tmp_path / "go", tmp_path / "on"
    bench.add(f"[ $TASK = 1 ] && {wait_for(go)} || {wait_for(on)}", "tasks")

    with bench.worker():
        until(lambda: bench.lease().is_held and (tmp_path / "marks").exists())
        bench.leases.request_stop(bench.run, ask)
        # The worker has read the request with the first renewal when it makes the second one.
        for _ in range(2):
            bench.is_renewed()
        go.touch()
        bench.becomes(state)
        first = [not task.status.is_open for task in bench.plan().tasks]
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
        bench.leases.request_stop(bench.run, LeaseRequest.PAUSE_NOW)
        bench.becomes(LeaseState.PAUSED)
        left = processes_of(str(held.fence))
        go.touch()
        bench.leases.requeue(bench.run)
        bench.becomes(LeaseState.DONE)

    assert left == []
    assert bench.lease().losses == bench.lease().fails == 0


LOCKS = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
open(sys.argv[2], "w").close()
time.sleep(3600)
"""
"""A program that begins to write to a store, and does not end."""


def test_an_agent_that_is_frozen_while_it_writes_to_the_store_does_not_block_it(bench: Bench, tmp_path: Path) -> None:
    """No lease can be renewed, so the agent is frozen. Nobody could end that but its supervisor."""
    bench.leases.configure(FleetSettings(lease=3000, heartbeat=500, margin=1300, reaper=300, renewal=600))
    locked = tmp_path / "locked"
    program = tmp_path / "locks.py"
    program.write_text(LOCKS, encoding="utf-8")
    bench.add(f"test -e {locked} && exit 0; exec {quote(sys.executable)} {program} {bench.address} {locked}")

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


def test_a_worker_needs_a_slot(bench: Bench) -> None:
    options = WorkerOptions(0, frozenset(), (), frozenset(), "", 1.0)

    with pytest.raises(UsageError, match="at least one slot"):
        Worker(bench.leases, options, bench.address)


def test_a_run_can_only_narrow_what_its_worker_allows() -> None:
    both: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]] = {
        (("make *",), ()): ("make *",),
        (("*",), ("make test",)): ("make test",),
        (("make *",), ("make t*",)): ("make t*",),
        (("make *",), ("*",)): (),
        (("make ?",), ("make *",)): (),
        (("make [ab]",), ("make [abc]",)): (),
        (("*ab]",), ("x[ab]",)): (),
        ((), ("make",)): (),
    }

    assert {(own, asked): permitted(own, asked) for own, asked in both} == both


def test_a_command_that_is_not_in_the_list_is_found_before_anything_runs() -> None:
    plan = flat(Task("Test", check=Check(("make", "test"))), Task("Remove: `rm -rf /`"))
    plan = replace(plan, check=Check(("rm", "x")))

    refused = refused_commands(Work(agent="shell"), plan, ["make *"], {})

    assert refused == ["rm -rf /", "rm x"]
    assert refused_commands(Work(agent="shell"), plan, ["*"], {}) == []
    assert refused_commands(Work(agent="run"), plan, [], {}) == []
    # Whoever has the run says that it was denied, and does not run it.
    assert refused_commands(Work(agent="shell"), plan, [], {"rm x": "no: not here"}) == ["make test", "rm -rf /"]


def test_an_approved_command_is_permitted_literally() -> None:
    asked = Check(("rm", "[ab]*"))

    patterns = approved_patterns({check_text(asked): "yes", "rm c": "no"}, ["*"])

    for check, is_refused in ((asked, False), (Check(("rm", "a")), True), (Check(("rm", "c")), True)):
        plan = flat(Task("One", check=check))
        assert bool(refused_commands(Work(agent="shell"), plan, patterns, {})) is is_refused


def test_an_approval_permits_only_what_the_worker_lets_persons_be_asked_for() -> None:
    answers = {"rm a": "yes", "make a": "yes"}

    assert approved_patterns(answers, ()) == ()
    assert approved_patterns(answers, ["make *"]) == ("make a",)


def test_a_run_is_left_to_other_workers_before_a_person_is_asked(fleet: Fleet) -> None:
    lease = fleet.held()
    others = [
        WorkerInfo("there/2/b", seen=SEEN_MS + 1000),
        WorkerInfo("old/3/c"),
        WorkerInfo(lease.worker, seen=SEEN_MS + 1000),
    ]
    before = others_may_permit(lease, others, SEEN_MS + 1000)
    after = others_may_permit(replace(lease, refused=("there/2/b",)), others, SEEN_MS + 1000)

    assert (before, after) == (True, False)


def test_a_run_that_was_left_to_others_is_taken_back_when_they_refuse_it(fleet: Fleet) -> None:
    """A person can be asked by this worker, and the others permit nothing."""
    here, there = Claimer("here/1/a"), Claimer("there/2/b")
    left = LeftRuns(fleet.leases, here.worker)
    for who in (here, there):
        fleet.leases.beat(WorkerInfo(who.worker, who.worker.split("/")[0]))
    fleet.add()
    [lease] = fleet.leases.claim(here, ["here/1/a/0"])
    left.add(lease)
    fleet.leases.close(lease.fence, WorkOutcome.REFUSED, "not permitted here")
    left.look()
    waits_for_it = lease in left
    while_others_may = fleet.leases.claim(here, ["here/1/a/1"])
    [lease] = fleet.leases.claim(there, ["there/2/b/0"])
    left.look()
    fleet.leases.close(lease.fence, WorkOutcome.REFUSED, "not permitted here")
    left.look()
    [again] = fleet.leases.claim(here, ["here/1/a/2"])
    left.look()

    assert (waits_for_it, while_others_may) == (True, [])
    assert again.refused == (there.worker,)


LABELLED = Lease("r", 0, "s", Work(labels=("gpu",)))


def test_what_a_worker_could_take_now_or_later() -> None:
    expected = [
        (LABELLED, True),
        (replace(LABELLED, owner="there/2/b/0", epoch=1), True),
        (replace(LABELLED, not_before=1001, epoch=2), True),
        (replace(LABELLED, not_before=1001), False),
        (replace(LABELLED, refused=("here/1/a",)), False),
        (replace(LABELLED, refused=("there/2/b",)), True),
        (replace(LABELLED, state=LeaseState.WAITING), False),
        (replace(LABELLED, state=LeaseState.PAUSED), False),
        (replace(LABELLED, state=LeaseState.DONE), False),
        (replace(LABELLED, work=Work(labels=("gpu", "mac"))), False),
        (replace(LABELLED, work=Work(protocol=PROTOCOL + 1)), False),
    ]
    worker = Claimer("here/1/a", ("gpu", "linux"))

    assert [(lease, could_take(lease, worker, 1000)) for lease, _ in expected] == expected


def test_a_reaper_takes_a_lease_only_after_it_has_seen_the_store_without_a_gap(fleet: Fleet) -> None:
    """After an outage, or after this worker was stopped, owners get time to renew first."""
    seconds = 100.0
    fleet.held()
    fleet.passes(LONG)
    reaper = Reaper(fleet.leases, TableEngine(fleet.leases, Claimer("here/2/b")), lambda: seconds)
    settings = FleetSettings()
    reaper.look()
    seconds += settings.grace / 1000
    reaper.look()
    after_a_gap = fleet.lease().is_held
    steps = 0
    while fleet.lease().is_held:
        seconds += settings.reaper / 1000
        reaper.look()
        steps += 1

    assert after_a_gap
    assert steps == settings.grace // settings.reaper


LEASE = Lease("r", 0, "s")


def newest_first(*facts: Fact) -> list[Event]:
    return [Event(f"e{number}", None, 0, Actor.TIMER, fact) for number, fact in enumerate(facts)]


def test_an_agent_that_fails_five_times_has_failed_and_its_worker_says_so_without_secrets(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end of its output is recorded, too."""
    monkeypatch.setattr(rules, "FIRST_DELAY_MS", 1)
    monkeypatch.setenv("SOME_TOKEN", "abcdefgh-12345")
    bench.add("seq 1 100; printf '\\033[31mred '; echo $SOME_TOKEN; exit 3")

    with bench.worker(allow=()) as worker:
        lease = bench.becomes(LeaseState.FAILED)

    released, [ended] = bench.facts(RunReleased), bench.facts(RunEnded)
    assert ([fact.fails for fact in released], lease.fails) == ([1, 2, 3, 4], 4)
    first, *why = ended.why.splitlines()
    assert first == "the agent ended with exit code 3; it was tried 5 times"
    assert (why[0], why[-1], len(why)) == ("62", "\x1b[31mred [redacted]", 40)
    assert {fact.why for fact in released} == {"\n".join(["the agent ended with exit code 3", *why])}
    lines = said(capsys.readouterr().err)
    assert lines[0].startswith(f"worker {worker.id} takes runs: 1 slot. It permits no command: use --allow PATTERN. ")
    assert lines[1] == f"run {bench.run}: begun, attempt 1"
    again = f"run {bench.run} is queued again: the agent ended with exit code 3: ␛[31mred [redacted]; next try at "
    tries = [line.rpartition(" (")[2] for line in lines if line.startswith(again)]
    assert tries == [f"{number} of 5)" for number in range(2, 6)]
    assert any(line.startswith("stopping ") for line in lines)
    assert "\x1b" not in "".join(lines)


def test_how_a_run_ends_follows_from_how_its_agent_has_and_from_its_questions() -> None:
    frozen = "the agent was frozen for too long, because its lease could not be renewed"
    ended, two = AgentEnding(How.EXIT, 0), State(plan=plan_of("one", "two"))
    left = RunEnding(WorkOutcome.FAILED, "the agent ended with 2 open tasks")
    waits = RunEnding(WorkOutcome.WAITING, "the agent has asked a question")

    assert ending_of(AgentEnding(How.FROZEN), State(), LEASE, []) == RunEnding(None, frozen)
    assert ending_of(ended, two, LEASE, []) == left
    assert ending_of(ended, two, replace(LEASE, questions=("q1",)), []) == waits
    assert ending_of(ended, two, LEASE, newest_first(Answered("r", 0, "q1", "this one", "me"))) == waits


def test_what_git_fails_at_is_tried_less_and_less_often_and_then_has_failed() -> None:
    fact = RunReleased("r", 0, 1, LeaseState.OPEN, "git failed: no route")
    queued, other = RunQueued("r", 0, 0, 1, Work()), RunReleased("r", 1, 1, LeaseState.OPEN, "drained")

    assert out_of_order("no route", [], LEASE) == RunEnding(None, "git failed: no route", 10_000)
    assert out_of_order("x", newest_first(fact, other, fact, queued, fact), LEASE).delay == 40_000
    assert out_of_order("x", newest_first(*[fact] * (MAX_TRIES - 1)), LEASE).delay == MAX_DELAY_MS
    assert out_of_order("x", newest_first(*[fact] * MAX_TRIES), LEASE) == RunEnding(WorkOutcome.FAILED, "git failed: x")


def test_a_worker_says_what_it_takes_and_finishes(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    go = tmp_path / "go"
    bench.add(wait_for(go), "tasks", tasks=1)

    with bench.worker(slots=2, labels=frozenset({"gpu", "a"})) as worker:
        until(lambda: bench.lease().is_held)
        bench.leases.drain(worker.id)
        until(lambda: worker.takes_nothing)
        assert bench.lease().is_held
        go.touch()
        bench.becomes(LeaseState.DONE)
        until(lambda: bench.leases.workers() == [])

    # It begins in a thread of its own.
    begun = f"run {bench.run}: begun, attempt 1"
    lines = said(capsys.readouterr().err)
    assert begun in lines
    assert [line for line in lines if line != begun] == [
        f"worker {worker.id} takes runs: 2 slots, labels a, gpu. Ctrl-C once: it finishes; twice: it stops.",
        "taking no more runs; 1 run to finish",
        f"run {bench.run} is done; its report is {tmp_path}/home/reports/{bench.run}.md",
    ]


def test_the_hands_of_a_run_are_told_apart_in_lines_of_one_piece(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads write lines. Hands that do nothing do not wait for each other for ever."""
    monkeypatch.setattr(hands, "FIRST_LOOK_MS", 1)
    written: list[str] = []
    monkeypatch.setattr(sys, "stderr", Mock(write=written.append))
    bench.leases.add(NewRun(bench.run, "s", Work(agent="sh", model="true"), hands=2), [PlanChanged(plan_of("one"))])

    told = [f"run {bench.run}{hand}" for hand in ("", "/2")]
    expected = {f"{run}: begun, attempt 1\n" for run in told}
    expected |= {f"{run} is queued again: it looks again for a task\n" for run in told}

    with bench.worker(slots=2):
        until(lambda: not any(view.lease.state.is_active for view in bench.leases.look(bench.run)))

    assert [view.lease.state for view in bench.leases.look(bench.run)] == [LeaseState.FAILED] * 2
    assert {f"{line}\n" for text in written for line in said(text)} >= expected
    assert all(text.endswith("\n") for text in written)


def test_a_worker_says_once_that_the_store_fails_and_works_again(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []

    def has_said(words: str) -> bool:
        lines.extend(said(capsys.readouterr().err))
        return any(words in line for line in lines)

    bench.store.close()
    bench.store = store_at(bench.address, timeout=0.05)
    bench.leases = run_leases(bench.store)
    other = apsw.Connection(bench.address)
    other.set_busy_timeout(60_000)
    with bench.worker() as worker:
        until(lambda: has_said("takes runs"))
        other.execute("BEGIN IMMEDIATE")
        until(lambda: has_said("fails"))
        # It goes on to fail.
        time.sleep(2)
        other.execute("ROLLBACK")
        until(lambda: has_said("works again"))
        until(lambda: [each.id for each in bench.leases.workers()] == [worker.id])
    other.close()

    told = [line for line in lines if line.startswith("the store ")]
    assert [line.partition(":")[0] for line in told] == ["the store fails, and is tried again", "the store works again"]
    assert f"{bench.address} is in use by another process" in told[0]


class RecordingEngine(TableEngine):
    """Records what it is told."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(fleet.leases, Claimer("here/2/b"))
        self.lost: list[tuple[str, int]] = []
        self.tidied = 0

    def upkeep(self, lost: Sequence[Lease], *, tidies: bool) -> None:
        self.lost += [(lease.run, lease.attempt) for lease in lost]
        self.tidied += tidies


def test_the_engine_tidies_up_once_an_hour(fleet: Fleet) -> None:
    engine, clock = RecordingEngine(fleet), [0.0]
    reaper = Reaper(fleet.leases, engine, lambda: clock[-1])
    tidied = []

    for seconds in (1.0, TIDY_SECONDS - 1, TIDY_SECONDS, TIDY_SECONDS + 1, 2 * TIDY_SECONDS - 1, 2 * TIDY_SECONDS):
        clock.append(seconds)
        reaper.look()
        tidied.append(engine.tidied)

    assert tidied == [0, 0, 1, 1, 1, 2]


def test_a_run_that_was_lost_too_often_has_ended_and_that_is_passed_on(fleet: Fleet) -> None:
    ended: list[Lease] = []
    engine, seconds = RecordingEngine(fleet), 0.0
    reaper = Reaper(fleet.leases, engine, lambda: seconds, on_end=ended.append)
    fleet.add()

    for number in range(MAX_LOSSES):
        fleet.claim(f"there/{number}/a")
        fleet.passes(LONG)
        while fleet.lease().is_held:
            seconds += 1
            reaper.look()

    assert [lease.state for lease in ended] == [LeaseState.FAILED]
    assert engine.lost == [("r1", attempt) for attempt in range(2, MAX_LOSSES + 2)]
