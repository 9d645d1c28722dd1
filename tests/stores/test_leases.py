"""Leases of runs on each kind of store that has them: queued, claimed, ended, and lost with their workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plans import plan_of
from tests.stores.leases import LONG, Fleet, names
from tildone.app.opening import run_leases, session_in, store_at
from tildone.base import NotFound, Refused, RunFenced, UsageError
from tildone.base.json import dump
from tildone.fleet.releasing import STORE_VARIABLE
from tildone.fleet.running import RELEASE
from tildone.log.lease_rules import MAX_LOSSES
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.codec import plan_to_json
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, PlanChanged
from tildone.plan.lists import RunSchedule, WorkerInfo
from tildone.plan.model import Status
from tildone.plan.ops import Mark, Numbered
from tildone.plan.runs import (
    PROTOCOL,
    Asked,
    Claimer,
    Kept,
    LeaseRequest,
    LeaseState,
    NewRun,
    Renewed,
    RunEnded,
    RunFence,
    RunLost,
    RunQueued,
    RunTaken,
    Work,
    WorkOutcome,
)

LEASE = FleetSettings().lease


def test_a_run_is_queued_with_its_plan_in_one_transaction(fleet: Fleet) -> None:
    work = Work("/src/app", "anthropic", ("gpu", "linux"), 3, "claude", "sonnet", ("git *",), "main")

    leases = fleet.leases.add(NewRun("r1", "plan", work, hands=2), [PlanChanged(plan_of("one"))])

    assert [(lease.run, lease.hand, lease.session, lease.work) for lease in leases] == [
        ("r1", 0, "plan", work),
        ("r1", 1, "plan", work),
    ]
    assert [view.lease for view in fleet.leases.look("r1")] == leases
    assert fleet.facts() == [RunQueued("r1", hand, 0, 1, work) for hand in (0, 1)]
    assert isinstance(next(iter(fleet.events())).fact, PlanChanged)


def test_a_plan_has_one_run_that_lives(fleet: Fleet) -> None:
    """It lives while one of its hands does. A run that is added again is the same run."""
    first, _ = (fleet.add(f"r{number}", f"plan {number}", hands=2) for number in (0, 1))
    assert fleet.add("r0", "plan 0", hands=2) == first
    assert names(fleet.facts("r0")) == ["RunQueued"] * 2
    held = fleet.claim(slots=4)

    for lease in (held[0], held[1], held[3], held[2]):
        with pytest.raises(Refused, match=f"run {lease.run} of this plan has not ended"):
            fleet.add("next", lease.session)
        fleet.leases.close(lease.fence, WorkOutcome.DONE)

    assert {view.lease.run for view in fleet.leases.look()} == {"r0", "r1"}
    assert names(fleet.facts("r0")) == ["RunQueued"] * 2 + ["RunTaken"] * 2 + ["RunEnded"] * 2
    assert [fleet.add(f"n{number}", f"plan {number}")[0].state for number in (0, 1)] == [LeaseState.OPEN] * 2


def test_a_run_without_a_plan_or_with_a_password_is_refused(fleet: Fleet) -> None:
    with pytest.raises(NotFound, match="there is no plan 'nothing'"):
        fleet.leases.add(NewRun("r1", "nothing"))
    with pytest.raises(UsageError, match="password"):
        fleet.add(repo="https://ada:secret@example.org/app")

    assert fleet.leases.look() == []


def test_a_worker_claims_as_many_runs_as_it_has_free_slots(fleet: Fleet) -> None:
    """An owner that claims again gets what it has."""
    for number in range(4):
        fleet.add(f"r{number}")

    leases = fleet.claim(slots=3)

    assert [(lease.run, lease.owner, lease.epoch) for lease in leases] == [
        (f"r{number}", f"here/1/a/{number}", 1) for number in range(3)
    ]
    assert fleet.claim(slots=3) == leases
    assert fleet.facts("r0")[1:] == [RunTaken("r0", 0, 1, "here/1/a/0")]
    assert fleet.claim("here/2/b", slots=2)[0].run == "r3"


def test_runs_are_taken_by_priority_then_by_age(fleet: Fleet) -> None:
    for run, priority in [("c", 0), ("d", 0), ("a", 5), ("b", -1)]:
        fleet.add(run, priority=priority)

    assert [lease.run for lease in fleet.claim(slots=9)] == ["b", "c", "d", "a"]


@pytest.mark.parametrize(("labels", "runs"), [((), ["plain"]), (("gpu", "big"), ["plain", "gpu"])])
def test_a_worker_needs_all_labels_of_a_run(fleet: Fleet, labels: tuple[str, ...], runs: list[str]) -> None:
    fleet.add("plain")
    fleet.add("gpu", labels=("gpu",))
    fleet.add("both", labels=("gpu", "mac"))

    assert [lease.run for lease in fleet.claim(slots=9, labels=labels)] == runs


def test_one_run_works_on_a_repository_however_it_is_named(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever queues it, also a schedule. A run that has ended counts, because it may be retried."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").mkdir()
    (tmp_path / "link").symlink_to("app")
    app = str((tmp_path / "app").resolve())
    folders = [f"file://{app}", f"{app}/", "~/app", str(tmp_path / "link")]
    addresses = ["git@example.org:a/b.git", "ssh://git@EXAMPLE.org/a/b", "git@example.org:a/b"]
    for number, repo in enumerate((*folders, *addresses)):
        fleet.add(f"r{number}", repo=repo)
        if not number:
            fleet.leases.request_stop("r0", LeaseRequest.CANCEL)

    assert [fleet.lease(f"r{number}").work.repo for number in range(7)] == [folders[0]] * 4 + [addresses[0]] * 3
    assert len(fleet.claim(slots=9)) == 2
    plan = dump(plan_to_json(plan_of("one")))
    fleet.leases.set_schedule(RunSchedule("nightly", "* * * * *", plan, 1, Work(repo="git@EXAMPLE.org:a/b/")))
    [run] = fleet.leases.tick(lambda _schedule, _now: 2**45).values()
    assert fleet.lease(run).work.repo == addresses[0]


def test_a_repository_has_one_run_at_a_time(fleet: Fleet) -> None:
    """But a run may have several hands in it, and runs without a repository have no such limit."""
    fleet.add("r1", repo="/app", hands=2)
    fleet.add("r2", repo="/app")
    fleet.add("r3")
    fleet.add("r4")

    held = fleet.claim(slots=9)

    assert [(lease.run, lease.hand) for lease in held] == [("r1", 0), ("r1", 1), ("r3", 0), ("r4", 0)]
    fleet.leases.close(held[0].fence, WorkOutcome.DONE)
    assert fleet.claim("here/2/b") == []
    fleet.leases.close(held[1].fence, WorkOutcome.DONE)
    assert [lease.run for lease in fleet.claim("here/2/b")] == ["r2"]


def test_a_provider_has_as_many_runs_as_its_limit(fleet: Fleet) -> None:
    fleet.leases.set_limit(ProviderLimit("anthropic", runs=2))
    for number in range(4):
        fleet.add(f"r{number}", provider="anthropic")
    fleet.add("other", provider="openai")

    assert [lease.run for lease in fleet.claim(slots=9)] == ["r0", "r1", "other"]

    fleet.leases.set_limit(ProviderLimit("anthropic"))
    assert fleet.leases.limits() == []
    assert [lease.run for lease in fleet.claim("here/2/b", slots=9)] == ["r2", "r3"]


def test_an_older_worker_and_one_that_is_to_drain_leave_runs_to_others(fleet: Fleet) -> None:
    fleet.add("new", protocol=PROTOCOL + 1)
    assert fleet.claim() == []
    assert fleet.leases.claim(Claimer("w", protocol=PROTOCOL + 1), ["w/1"])[0].run == "new"

    fleet.leases.beat(WorkerInfo("here/1/a", "here", 1))
    fleet.add()
    assert fleet.leases.drain("here/1/a")
    assert fleet.leases.beat(WorkerInfo("here/1/a", "here", 1)) is LeaseRequest.DRAIN
    assert fleet.claim() == []
    assert fleet.claim("here/2/b") != []


def test_renewal_tells_what_is_still_held_and_what_is_asked(fleet: Fleet) -> None:
    """A worker does not renew the lease of its successor."""
    first, second = fleet.held("r1"), fleet.held("r2")
    fleet.leases.request_stop("r2", LeaseRequest.PAUSE)
    lost = RunFence("r1", 0, 7)

    renewed = fleet.leases.renew([first.fence, second.fence, lost])

    assert {(each.fence, each.request) for each in renewed} == {
        (first.fence, LeaseRequest.NOTHING),
        (second.fence, LeaseRequest.PAUSE),
    }
    fleet.leases.release(first.fence, "drained")
    [successor] = fleet.claim("here/2/b")
    fleet.passes(1000)
    assert fleet.leases.renew([first.fence]) == []
    assert fleet.lease().until == successor.until


def test_a_lapsed_lease_is_taken_from_its_owner_unless_it_was_renewed(fleet: Fleet) -> None:
    """A reaper that has not seen the store for long waits."""
    lease = fleet.held()
    fleet.passes(LEASE + 1)
    assert fleet.leases.renew([lease.fence]) == [Renewed(lease.fence, LeaseRequest.NOTHING)]
    assert fleet.leases.reap(LONG) == []
    assert fleet.leases.look()[0].remaining > LEASE // 2
    fleet.passes(LEASE + 1)
    assert fleet.leases.reap(LEASE // 2 - 1) == []

    [lost] = fleet.leases.reap(LEASE // 2)

    assert (lost.epoch, lost.attempt, lost.owner, lost.losses, lost.task) == (2, 2, "", 1, 1)
    assert fleet.facts()[-1] == RunLost("r1", 0, 2, "its lease has lapsed", 1, 1)
    assert fleet.leases.renew([lease.fence]) == []
    assert fleet.leases.release(lease.fence, "late") is None
    assert fleet.leases.close(lease.fence, WorkOutcome.DONE) is None


def test_a_run_that_is_lost_five_times_in_one_task_has_failed(fleet: Fleet) -> None:
    fleet.add()
    for attempt in range(1, 6):
        assert fleet.lease().state is LeaseState.OPEN
        [lease] = fleet.claim(f"here/{attempt}/a")
        assert lease.attempt == attempt
        fleet.passes(LEASE + 1)
        fleet.leases.reap(LONG)

    assert fleet.lease().state is LeaseState.FAILED
    assert fleet.facts()[-1] == RunEnded("r1", 0, 10, LeaseState.FAILED, "5 workers were lost in the same task")


def test_a_released_lease_is_queued_again(fleet: Fleet) -> None:
    lease = fleet.held()

    released = fleet.leases.release(lease.fence, "draining", delay=5000)

    assert released is not None
    assert (released.epoch, released.attempt, released.owner, released.fails) == (2, 2, "", 0)
    assert names(fleet.facts()) == ["RunQueued", "RunTaken", "RunReleased"]
    assert fleet.leases.release(lease.fence, "draining") is None
    assert fleet.claim("here/2/b") == []
    fleet.passes(5001)
    assert fleet.claim("here/2/b")[0].epoch == 3


def test_a_lease_that_waits_can_be_taken_as_soon_as_its_run_is_hastened(fleet: Fleet) -> None:
    """But not one whose agent has failed."""
    for name in ("r1", "r2"):
        fleet.leases.release(fleet.held(name).fence, "others have the rest", delay=5000)
    fleet.leases.close(fleet.held("failed").fence, WorkOutcome.RETRY, "exit code 1")
    revision = fleet.leases.revision()

    fleet.leases.skip_delay("failed")
    assert fleet.leases.revision() == revision
    fleet.leases.skip_delay("r1")

    assert fleet.leases.revision() > revision
    assert [lease.run for lease in fleet.claim("here/2/b", slots=3)] == ["r1"]
    assert names(fleet.facts()) == ["RunQueued", "RunTaken", "RunReleased", "RunTaken"]


@pytest.mark.parametrize(
    ("outcome", "state"),
    [(outcome, LeaseState[outcome.name]) for outcome in (WorkOutcome.DONE, WorkOutcome.FAILED, WorkOutcome.CANCELLED)],
)
def test_a_run_ends_once(fleet: Fleet, outcome: WorkOutcome, state: LeaseState) -> None:
    lease = fleet.held()

    ended = fleet.leases.close(lease.fence, outcome, "as it had to")

    assert ended is not None
    assert (ended.state, ended.owner) == (state, "")
    assert fleet.leases.close(lease.fence, outcome, "as it had to") == ended
    assert fleet.facts()[2:] == [RunEnded("r1", 0, 1, state, "as it had to")]
    assert fleet.claim("here/2/b") == []


def test_a_failed_attempt_is_repeated_after_a_while(fleet: Fleet) -> None:
    fleet.add()
    for fails in range(1, 5):
        [lease] = fleet.claim()
        queued = fleet.leases.close(lease.fence, WorkOutcome.RETRY, "exit 1")
        assert queued is not None
        assert (queued.state, queued.fails) == (LeaseState.OPEN, fails)
        fleet.passes(10_000 * 2**fails - 10_000)
        assert fleet.claim() == []
        fleet.passes(10_001)
    assert len(fleet.claim()) == 1


def test_a_run_waits_for_an_answer_without_a_worker(fleet: Fleet) -> None:
    """If there was one before the agent has ended, the run is queued at once."""
    lease = fleet.held()
    fleet.leases.append(lease.fence, Asked("r1", 0, "q1", "question", "Which database?"), "asked")

    waiting = fleet.leases.close(lease.fence, WorkOutcome.WAITING, "asked")

    assert waiting is not None
    assert (waiting.state, waiting.questions) == (LeaseState.WAITING, ("q1",))
    assert fleet.claim("here/2/b") == []
    queued = fleet.leases.answer("r1", "q1", "PostgreSQL", "ada", "answered")
    assert (queued.state, queued.attempt) == (LeaseState.OPEN, 2)
    assert names(fleet.facts())[2:] == ["Asked", "RunReleased", "Answered", "RunQueued"]
    assert fleet.leases.answer("r1", "q1", "PostgreSQL", "ada", "answered") == queued
    with pytest.raises(Refused, match="no open question 'q1'"):
        fleet.leases.answer("r1", "q1", "MySQL", "bob", "other")

    early = fleet.held("r2")
    fleet.leases.append(early.fence, Asked("r2", 0, "q2", "question", "Which?"), "asked")
    fleet.leases.answer("r2", "q2", "that", "ada", "answered")
    again = fleet.leases.close(early.fence, WorkOutcome.WAITING, "asked")
    assert again is not None
    assert again.state is LeaseState.OPEN


def test_a_fact_under_a_lease_is_appended_once(fleet: Fleet) -> None:
    lease = fleet.held()
    kept = Kept("r1", 0, lease.epoch, "refs/tildone/r1/1", "abc", 1)

    fleet.leases.append(lease.fence, kept, "kept")
    fleet.leases.append(lease.fence, kept, "kept")

    assert fleet.facts()[2:] == [kept]
    fleet.leases.release(lease.fence, "draining")
    fleet.leases.append(lease.fence, kept, "kept")
    with pytest.raises(RunFenced, match="run r1 has passed to another worker"):
        fleet.leases.append(lease.fence, kept, "again")


REQUESTS = [
    (LeaseRequest.CANCEL, LeaseState.CANCELLED),
    (LeaseRequest.CANCEL_NOW, LeaseState.CANCELLED),
    (LeaseRequest.PAUSE, LeaseState.PAUSED),
    (LeaseRequest.PAUSE_NOW, LeaseState.PAUSED),
]


@pytest.mark.parametrize(("ask", "state"), REQUESTS)
def test_a_request_for_a_queued_run_is_done_at_once(fleet: Fleet, ask: LeaseRequest, state: LeaseState) -> None:
    fleet.add(hands=2)

    leases = fleet.leases.request_stop("r1", ask, "by ada")

    assert [(lease.state, lease.epoch) for lease in leases] == [(state, 1), (state, 1)]
    assert fleet.leases.request_stop("r1", ask, "by ada") == leases
    assert fleet.claim(slots=2) == []


@pytest.mark.parametrize(("ask", "state"), REQUESTS)
def test_a_request_for_a_held_run_is_done_when_its_holder_gives_it_back(
    fleet: Fleet, ask: LeaseRequest, state: LeaseState
) -> None:
    held = [fleet.held(run) for run in ("r1", "r2", "r3")]
    for lease in held:
        assert fleet.leases.request_stop(lease.run, ask)[0].request is ask
        assert fleet.lease(lease.run).state is LeaseState.OPEN

    fleet.leases.release(held[0].fence, "")
    fleet.leases.close(held[1].fence, WorkOutcome.RETRY, "exit 1")
    fleet.passes(LEASE + 1)
    fleet.leases.reap(LONG)

    assert [(view.lease.state, view.lease.request) for view in fleet.leases.look()] == [
        (state, LeaseRequest.NOTHING)
    ] * 3


def test_a_cancellation_outweighs_a_pause(fleet: Fleet) -> None:
    """Resuming a held run withdraws the request for a pause."""
    fleet.held()
    fleet.leases.request_stop("r1", LeaseRequest.PAUSE)
    assert fleet.leases.requeue("r1")[0].request is LeaseRequest.NOTHING
    fleet.leases.request_stop("r1", LeaseRequest.CANCEL)

    assert fleet.leases.request_stop("r1", LeaseRequest.PAUSE)[0].request is LeaseRequest.CANCEL
    assert fleet.leases.request_stop("r1", LeaseRequest.PAUSE_NOW)[0].request is LeaseRequest.CANCEL_NOW
    assert fleet.leases.request_stop("r1", LeaseRequest.CANCEL)[0].request is LeaseRequest.CANCEL_NOW


@pytest.mark.parametrize("outcome", [WorkOutcome.FAILED, WorkOutcome.CANCELLED, WorkOutcome.PAUSED])
def test_a_run_is_retried_or_resumed(fleet: Fleet, outcome: WorkOutcome) -> None:
    lease = fleet.held()
    fleet.leases.close(lease.fence, outcome)

    [again] = fleet.leases.requeue("r1")

    assert (again.state, again.attempt, again.fails, again.losses) == (LeaseState.OPEN, 2, 0, 0)
    assert again.epoch > lease.epoch
    assert fleet.leases.requeue("r1") == [again]
    assert fleet.claim("here/2/b") != []


def test_a_run_that_is_done_or_unknown_or_whose_plan_is_in_another_run_is_not_retried(fleet: Fleet) -> None:
    fleet.leases.close(fleet.held("done").fence, WorkOutcome.DONE)
    fleet.leases.close(fleet.held("r1", session="plan").fence, WorkOutcome.FAILED)
    fleet.add("r2", "plan")

    with pytest.raises(Refused, match="run done is done"):
        fleet.leases.requeue("done")
    with pytest.raises(Refused, match="run r2 of this plan has not ended"):
        fleet.leases.requeue("r1")
    for act in (
        lambda: fleet.leases.request_stop("r9", LeaseRequest.CANCEL),
        lambda: fleet.leases.requeue("r9"),
        lambda: fleet.leases.answer("r9", "q", "a", "ada", "e"),
    ):
        with pytest.raises(NotFound, match="there is no run 'r9'"):
            act()


NOT_PERMITTED = "not permitted here: the agent 'x'"


def test_a_run_that_goes_on_may_lose_many_workers(fleet: Fleet) -> None:
    """Losses count in one task, and not when a worker was drained or has stopped in order."""
    fleet.add()
    session = session_in(fleet.store, fleet.lease().session, BY_HAND)
    for number in range(MAX_LOSSES - 1):
        fleet.leases.lose(fleet.claim(f"here/{number + 1}/a")[0].fence, "its worker has ended")
    for number in range(MAX_LOSSES):
        fleet.leases.release(fleet.claim(f"here/{number + 1}/b")[0].fence, "drained")
    session.change([Mark(Numbered((1,)), Status.COMPLETED)], Actor.AGENT)

    after = fleet.leases.lose(fleet.claim("here/9/c")[0].fence, "its worker has ended")

    assert after is not None
    assert (after.losses, after.task, after.is_queued) == (1, 2, True)


def test_a_lease_that_is_no_longer_held_is_not_lost_and_one_that_is_to_be_cancelled_is(fleet: Fleet) -> None:
    released, cancelled = fleet.held("r1"), fleet.held("r2")
    fleet.leases.release(released.fence, "stopped")
    fleet.leases.request_stop("r2", LeaseRequest.CANCEL_NOW)

    assert fleet.leases.lose(released.fence, "its worker has ended") is None
    assert fleet.lease().losses == 0
    after = fleet.leases.lose(cancelled.fence, "its worker has ended")
    assert after is not None
    assert after.state is LeaseState.CANCELLED


def test_what_one_worker_refuses_another_takes_at_once(fleet: Fleet) -> None:
    """The first does not take it again. After a retry or a new start, it may."""
    fleet.add()
    [lease] = fleet.claim("here/1/a")

    after = fleet.leases.close(lease.fence, WorkOutcome.REFUSED, NOT_PERMITTED)

    assert after is not None
    assert (after.refused, after.is_queued, after.not_before) == (("here/1/a",), True, 0)
    assert (after.fails, after.losses) == (0, 0)
    assert fleet.claim("here/1/a") == []
    [taken] = fleet.claim("here/1/b")
    fleet.leases.close(taken.fence, WorkOutcome.REFUSED, NOT_PERMITTED)
    assert fleet.lease().refused == ("here/1/a", "here/1/b")
    fleet.leases.request_stop("r1", LeaseRequest.PAUSE)
    fleet.leases.requeue("r1")
    assert fleet.claim("here/1/a") != []


def test_only_the_newest_refusals_are_remembered(fleet: Fleet) -> None:
    fleet.add()
    for number in range(102):
        fleet.leases.close(fleet.claim(f"here/{number}/a")[0].fence, WorkOutcome.REFUSED, NOT_PERMITTED)

    assert fleet.lease().refused == tuple(f"here/{number}/a" for number in range(2, 102))


def test_what_a_supervisor_gives_back_is_lost(address: str) -> None:
    """Also if the process of the worker seems to live: another one may have its number."""
    store = store_at(address)
    leases = run_leases(store)
    leases.add(NewRun("r1", "plan"), [PlanChanged(plan_of("one"))])
    worker = f"{os.uname().nodename}/{os.getpid()}/a"
    [lease] = leases.claim(Claimer(worker), [f"{worker}/1"])

    environ = {**os.environ, STORE_VARIABLE: address}
    subprocess.run([sys.executable, "-c", RELEASE, str(lease.fence)], env=environ, check=True)

    [after] = [view.lease for view in leases.look()]
    store.close()
    assert (after.is_queued, after.losses, after.epoch) == (True, 1, lease.epoch + 1)
