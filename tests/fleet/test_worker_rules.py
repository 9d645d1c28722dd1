"""What a worker permits, and when its reaper takes a lease because its time has passed."""

import sys
import time
from pathlib import Path
from unittest.mock import Mock

import apsw
import pytest

from tests.fleet.agents import wait_for
from tests.fleet.workers import Bench
from tests.plans import plan_of
from tests.stores.leases import LONG, fleet_on_sqlite
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.base import replace
from tildone.fleet.endings import MAX_DELAY_MS, MAX_TRIES, RunEnding, ending_of, not_published, out_of_order
from tildone.fleet.engine import TableEngine
from tildone.fleet.permissions import (
    SEEN_MS,
    LeftRuns,
    approved_patterns,
    could_take,
    others_may_permit,
    permitted,
    refused_commands,
    why_not_permitted,
)
from tildone.fleet.supervision import AgentEnding, How
from tildone.fleet.upkeep import Reaper
from tildone.log import lease_rules as rules
from tildone.log.settings import FleetSettings
from tildone.plan.events import Actor, Event, Fact, PlanChanged, State
from tildone.plan.lists import WorkerInfo
from tildone.plan.model import Check, Task, flat
from tildone.plan.runs import (
    PROTOCOL,
    Claimer,
    Lease,
    LeaseState,
    NewRun,
    RunEnded,
    RunQueued,
    RunReleased,
    Work,
    WorkOutcome,
)
from tildone.plan.text.proofs import check_text


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


def test_what_a_person_has_denied_is_not_left_to_other_workers() -> None:
    """Whoever has the run says that it was denied, and does not run it."""
    plan = flat(Task("Remove", check=Check(("rm", "x"))))

    refused = refused_commands(Work(agent="shell"), plan, [], {"rm x": "no: not here"})

    assert refused == []


def test_an_approved_command_is_permitted_literally() -> None:
    asked = Check(("rm", "[ab]*"))

    patterns = approved_patterns({check_text(asked): "yes", "rm c": "no"}, ["*"])

    assert [refused_by(patterns, check) for check in (asked, Check(("rm", "a")), Check(("rm", "c")))] == [
        False,
        True,
        True,
    ]


def test_an_approval_permits_only_what_the_worker_lets_persons_be_asked_for() -> None:
    answers = {"rm a": "yes", "make a": "yes"}

    assert approved_patterns(answers, ()) == ()
    assert approved_patterns(answers, ["make *"]) == ("make a",)


def refused_by(patterns: tuple[str, ...], check: Check) -> bool:
    return bool(refused_commands(Work(agent="shell"), flat(Task("One", check=check)), patterns, {}))


def test_a_run_that_allows_only_what_its_worker_does_not_is_refused() -> None:
    refused = why_not_permitted(Work(agent="run", allow=("rm *",)), {"run"}, ["make *"])

    assert refused == "not permitted here: the commands that the run allows"
    assert why_not_permitted(Work(agent="other"), {"run"}, ["*"]) == "not permitted here: the agent 'other'"


def test_a_run_is_left_to_other_workers_before_a_person_is_asked(tmp_path: Path) -> None:
    with fleet_on_sqlite(tmp_path) as fleet:
        lease = fleet.held()
        others = [
            WorkerInfo("there/2/b", seen=SEEN_MS + 1000),
            WorkerInfo("old/3/c"),
            WorkerInfo(lease.worker, seen=SEEN_MS + 1000),
        ]
        before = others_may_permit(lease, others, SEEN_MS + 1000)
        after = others_may_permit(replace(lease, refused=("there/2/b",)), others, SEEN_MS + 1000)

    assert (before, after) == (True, False)


def test_a_run_that_was_left_to_others_is_taken_back_when_they_refuse_it(tmp_path: Path) -> None:
    """A person can be asked by this worker, and the others permit nothing."""
    with fleet_on_sqlite(tmp_path) as fleet:
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


def test_a_reaper_takes_a_lease_only_after_it_has_seen_the_store_without_a_gap(tmp_path: Path) -> None:
    """After an outage, or after this worker was stopped, owners get time to renew first."""
    seconds = 100.0
    with fleet_on_sqlite(tmp_path) as fleet:
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


GAVE_UP = RunEnding(WorkOutcome.FAILED, "the agent ended with 2 open tasks")
LEASE = Lease("r", 0, "s")
OTHER = Lease("r", 1, "s", owner="there/1/a/1")


def test_an_agent_that_fails_five_times_has_failed_with_the_end_of_its_output(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "FIRST_DELAY_MS", 1)
    monkeypatch.setenv("SOME_TOKEN", "abcdefgh-12345")
    bench.add("seq 1 100; echo $SOME_TOKEN; exit 3")

    with bench.worker():
        lease = bench.becomes(LeaseState.FAILED)

    delays = [fact.fails for fact in bench.facts(RunReleased) if isinstance(fact, RunReleased)]
    [ended] = bench.facts(RunEnded)
    assert isinstance(ended, RunEnded)
    assert (delays, lease.fails) == ([1, 2, 3, 4], 5)
    lines = ended.why.splitlines()
    assert (lines[0], lines[1], lines[-1], len(lines)) == ("the agent ended with exit code 3", "62", "[redacted]", 41)


def test_an_agent_that_was_frozen_for_too_long_has_not_failed() -> None:
    ending = ending_of(AgentEnding(How.FROZEN), State(), LEASE, [])

    assert (ending.outcome, ending.delay) == (None, 0)
    assert ending.why == "the agent was frozen for too long, because its lease could not be renewed"


def newest_first(*facts: Fact) -> list[Event]:
    return [Event(f"e{number}", None, 0, Actor.TIMER, fact) for number, fact in enumerate(facts)]


def test_what_git_fails_at_is_tried_less_and_less_often_and_then_has_failed() -> None:
    fact = RunReleased("r", 0, 1, LeaseState.OPEN, "git failed: no route")
    queued, other = RunQueued("r", 0, 0, 1, Work()), RunReleased("r", 1, 1, LeaseState.OPEN, "drained")

    assert not_published("no route", [], LEASE) == RunEnding(
        None, "git failed: the branch was not published: no route", 10_000
    )
    assert out_of_order("x", newest_first(fact, other, fact, queued, fact), LEASE).delay == 40_000
    assert out_of_order("x", newest_first(*[fact] * (MAX_TRIES - 1)), LEASE).delay == MAX_DELAY_MS
    assert out_of_order("x", newest_first(*[fact] * MAX_TRIES), LEASE) == RunEnding(WorkOutcome.FAILED, "git failed: x")


def test_a_worker_says_what_it_takes_begins_and_finishes(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    go = tmp_path / "go"
    bench.add(wait_for(go), "tasks", tasks=1)

    with bench.worker(slots=2, labels=frozenset({"gpu", "a"})) as worker:
        until(lambda: bench.lease().is_held)
        worker.drain()
        until(lambda: worker.takes_nothing)
        go.touch()
        bench.becomes(LeaseState.DONE)
        until(lambda: bench.leases.workers() == [])

    # It begins in a thread of its own.
    begun = f"run {bench.run}: begun, attempt 1"
    lines = capsys.readouterr().err.splitlines()
    assert begun in lines
    assert [line for line in lines if line != begun] == [
        f"worker {worker.id} takes runs: 2 slots, labels a, gpu. Ctrl-C once: it finishes; twice: it stops.",
        "taking no more runs; 1 run to finish",
        f"run {bench.run} is done; its report is {tmp_path}/home/reports/{bench.run}.md",
    ]


def test_a_worker_says_why_a_run_is_queued_again_and_what_it_stops(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.add("printf '\\033[31mred'; exit 3")

    with bench.worker(allow=()) as worker:
        until(lambda: bench.facts(RunReleased))

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"worker {worker.id} takes runs: 1 slot. It permits no command: use --allow PATTERN. ")
    assert lines[1] == f"run {bench.run}: begun, attempt 1"
    assert f"run {bench.run} is queued again: the agent ended with exit code 3" in lines
    assert any(line.startswith("stopping ") for line in lines)
    assert "\x1b" not in "".join(lines)


def test_the_hands_of_a_run_are_told_apart_and_each_line_is_written_in_one_piece(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several threads write lines."""
    written: list[str] = []
    monkeypatch.setattr(sys, "stderr", Mock(write=written.append))
    bench.leases.add(NewRun(bench.run, "s", Work(agent="sh", model="true"), hands=2), [PlanChanged(plan_of("one"))])

    told = [f"run {bench.run}{hand}" for hand in ("", "/2")]
    expected = {f"{run}: begun, attempt 1\n" for run in told}
    expected |= {f"{run} is queued again: it looks again for a task\n" for run in told}

    with bench.worker(slots=2):
        until(lambda: expected <= set(written))

    assert all(text.endswith("\n") for text in written)


def test_a_worker_says_once_that_the_store_fails_and_once_that_it_works_again(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []

    def has_said(words: str) -> bool:
        lines.extend(capsys.readouterr().err.splitlines())
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
