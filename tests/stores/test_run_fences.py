"""What a process of a run may write, and what is kept beside leases, on each kind of store that has leases."""

import pytest

from tests.plans import plan_of
from tests.stores.leases import LONG, Fleet
from tildone.base import replace
from tildone.base.errors import RunFenced, UsageError
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.claims import Claimant
from tildone.plan.events import Actor, Event, Labelled, PlanChanged, SessionHead
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import Ask, Asked, Kept, Lease, LeaseState, NewRun, RunFence, RunReleased, Work, WorkOutcome

LEASE = FleetSettings().lease


def test_a_process_of_a_run_writes_while_the_lease_is_held(fleet: Fleet) -> None:
    lease = fleet.held(session="plan")
    store = fleet.reopened(lease.fence)
    head = store.session_head("plan")

    store.append("plan", Event("a", head.head, 1, Actor.AGENT, Labelled("x", "y")))
    store.records.claim("plan", 1, Claimant("test:a"), 1000)
    store.move_head("plan", head, expected="a")

    assert store.session_head("plan") == head


@pytest.mark.parametrize("how", ["lost", "released", "done", "cancelled"])
def test_a_process_of_a_run_that_has_passed_on_writes_nothing(fleet: Fleet, how: str) -> None:
    lease = fleet.held(session="plan")
    store = fleet.reopened(lease.fence)
    _pass_on(fleet, lease, how)
    head = store.session_head("plan")
    event = Event("late", head.head, 1, Actor.AGENT, Labelled("x", "y"))
    elsewhere = Event("late", None, 1, Actor.AGENT, Labelled("x", "y"))

    for write in (
        lambda: store.append("plan", event),
        lambda: store.append("plan", event, "reader"),
        lambda: store.append("another plan", elsewhere),
        lambda: store.move_head("plan", SessionHead(), expected=head.head),
        lambda: store.import_events("other", [elsewhere], SessionHead("late")),
        lambda: store.delete("plan", expected=head.head),
        lambda: store.records.claim("plan", 1, Claimant("test:a"), 1000),
    ):
        with pytest.raises(RunFenced) as fenced:
            write()
        assert fenced.value.exit_code == 6
    assert fleet.store.session_head("plan") == head
    assert [info.name for info in fleet.store.sessions()] == ["plan"]
    assert list(fleet.store.records.claims("plan")) == []


def _pass_on(fleet: Fleet, lease: Lease, how: str) -> None:
    match how:
        case "lost":
            fleet.passes(LEASE + 1)
            fleet.leases.reap(LONG)
            fleet.claim("here/2/b")
        case "released":
            fleet.leases.release(lease.fence, "")
        case "done":
            fleet.leases.close(lease.fence, WorkOutcome.DONE)
        case _:
            fleet.leases.close(lease.fence, WorkOutcome.CANCELLED)


def test_a_process_of_a_run_that_nobody_knows_writes_nothing(fleet: Fleet) -> None:
    store = fleet.reopened(RunFence("r9", 0, 1))

    with pytest.raises(RunFenced):
        store.append("plan", Event("a", None, 1, Actor.AGENT, Labelled("x", "y")))


@pytest.mark.parametrize("how", ["lost", "released", "done"])
def test_the_claims_of_agents_lapse_with_the_lease_that_they_work_under(fleet: Fleet, how: str) -> None:
    """Those of the other hands of the run, and of agents without a lease, stay."""
    lease = fleet.held(session="plan")
    for task, held in ((1, "r1/0"), (2, "r1/1"), (3, "")):
        fleet.store.records.claim("plan", task, Claimant(f"test:{task}", lease=held), 10 * LONG)

    _pass_on(fleet, lease, how)

    assert [claim.task for claim in fleet.store.records.claims("plan") if claim.is_held] == [2, 3]


def test_facts_about_runs_keep_what_was_undone(fleet: Fleet) -> None:
    """An undone change can be redone after a worker has taken the run."""
    fleet.add(session="plan")
    before = fleet.store.session_head("plan").head
    fleet.store.append("plan", Event("a", before, 1, Actor.USER, PlanChanged(plan_of("x"))))
    fleet.store.move_head("plan", SessionHead(before, ("a",)), expected="a")

    [lease] = fleet.claim()
    assert fleet.store.session_head("plan").redo == ("a",)
    fleet.leases.append(lease.fence, Kept("r1", 0, lease.epoch, "ref", "commit"), "kept")
    assert fleet.store.session_head("plan") == SessionHead("kept", ("a",))

    fleet.leases.close(lease.fence, WorkOutcome.DONE)
    assert fleet.store.session_head("plan").redo == ("a",)


def test_a_deleted_plan_has_no_runs(fleet: Fleet) -> None:
    fleet.held(session="plan")

    fleet.store.delete("plan", expected=fleet.store.session_head("plan").head)

    assert fleet.leases.look() == []


def test_runs_are_listed_with_their_plans_and_workers(fleet: Fleet) -> None:
    worker = WorkerInfo("here/1/r1", "here", 1, "1.2", slots=3, labels=("gpu",))
    fleet.leases.beat(worker)
    fleet.held()
    fleet.add("r2")

    first, second = fleet.leases.look()

    assert first.session is not None
    assert (first.session.name, first.session.events) == ("plan of r1", 3)
    assert first.worker is not None
    assert replace(first.worker, seen=0) == worker
    assert first.worker.seen > 0
    assert 0 < first.remaining <= LEASE
    assert (second.worker, second.remaining) == (None, 0)


def test_the_leases_of_a_run_that_has_ended_are_forgotten(fleet: Fleet) -> None:
    fleet.leases.close(fleet.held("r1").fence, WorkOutcome.DONE)
    fleet.held("r2")

    assert fleet.leases.forget("r1")
    assert not fleet.leases.forget("r2")
    assert not fleet.leases.forget("r3")

    assert [view.lease.run for view in fleet.leases.look()] == ["r2"]


def test_leases_are_rebuilt_from_the_log(fleet: Fleet) -> None:
    work = Work("/app", "anthropic", ("gpu",), 2, "claude", "sonnet", ("*",), "main")
    fleet.leases.add(NewRun("held", "plan 1", work), [PlanChanged(plan_of("one"))])
    fleet.claim("here/1/held", labels=("gpu",))
    fleet.leases.release(fleet.held("released").fence, "draining")
    fleet.leases.close(fleet.held("tried").fence, WorkOutcome.RETRY, "exit 1")
    asked = fleet.held("asked").fence
    fleet.leases.append(asked, Asked("asked", 0, "q", "question", "?"), "e")
    fleet.leases.close(asked, WorkOutcome.WAITING)
    fleet.leases.close(fleet.held("done").fence, WorkOutcome.DONE)
    fleet.leases.request_stop(fleet.held("paused").run, Ask.PAUSE)
    before = {(view.lease.run, view.lease.hand): _recorded(view.lease) for view in fleet.leases.look()}

    fleet.leases.request_stop("paused", Ask.CANCEL)
    assert fleet.leases.rebuild() == 0
    _forget_leases(fleet)
    assert fleet.leases.rebuild() == 6

    rebuilt = {(view.lease.run, view.lease.hand): _recorded(view.lease) for view in fleet.leases.look()}
    assert rebuilt == before
    [renewed] = fleet.leases.renew([fleet.lease("held").fence])
    assert renewed.fence.epoch == 1
    assert fleet.leases.look("held")[0].remaining > 0
    assert fleet.leases.rebuild() == 0


def _recorded(lease: Lease) -> Lease:
    """Return what the log tells of a lease."""
    return replace(lease, until=0, boot="", ask=Ask.NOTHING, made=0, since=0)


def _forget_leases(fleet: Fleet) -> None:
    for view in fleet.leases.look():
        session = view.lease.session
        copy = fleet.store.session_head(session), list(fleet.store.events(session))
        fleet.store.delete(session, expected=copy[0].head)
        fleet.store.import_events(session, copy[1], copy[0])


def test_a_waiting_worker_is_told_of_work_and_of_wishes(fleet: Fleet) -> None:
    """Of a wish for a held run, too, which no event tells of."""
    revision = fleet.leases.revision()
    assert not fleet.leases.wait(revision, 0)
    lease = fleet.held()
    assert fleet.leases.wait(revision, 60)
    fleet.leases.append(lease.fence, Asked("r1", 0, "q", "question", "?"), "e")
    for change in (
        lambda: fleet.leases.request_stop("r1", Ask.PAUSE),
        lambda: fleet.leases.requeue("r1"),
        lambda: fleet.leases.answer("r1", "q", "yes", "ada", "f"),
        lambda: fleet.leases.release(lease.fence, ""),
    ):
        revision = fleet.leases.revision()
        change()
        assert fleet.leases.wait(revision, 60)


def test_the_settings_of_a_fleet_are_those_of_its_store(fleet: Fleet) -> None:
    assert fleet.leases.settings() == FleetSettings()

    fleet.leases.configure(FleetSettings(10_000, 2_000, 1_000, 500, 1_000))

    assert fleet.leases.settings() == FleetSettings(10_000, 2_000, 1_000, 500, 1_000)
    fleet.held()
    assert fleet.leases.look()[0].remaining <= 10_000
    with pytest.raises(UsageError, match="a lease of 10 s is too short"):
        fleet.leases.configure(FleetSettings(10_000, 4_000, 1_000, 500, 1_000))
    assert fleet.leases.settings().heartbeat == 2_000


def test_requests_of_a_provider_are_limited(fleet: Fleet) -> None:
    assert fleet.leases.request("anthropic") == 0
    fleet.leases.set_limit(ProviderLimit("anthropic", requests=2))

    assert fleet.leases.request("anthropic") == 0
    wait = fleet.leases.request("anthropic")

    assert 0 < wait <= 30_000
    fleet.passes(wait + 1)
    assert fleet.leases.request("anthropic") == 0
    assert fleet.leases.request("openai") == 0


def test_workers_come_and_go(fleet: Fleet) -> None:
    first, second = WorkerInfo("here/1/a", "here", 1), WorkerInfo("there/2/b", "there", 2, slots=2, labels=("x",))
    for worker in (second, first):
        assert fleet.leases.beat(worker) is Ask.NOTHING

    assert [replace(worker, seen=0) for worker in fleet.leases.workers()] == [first, second]
    fleet.leases.leave(first.id)
    assert [worker.id for worker in fleet.leases.workers()] == [second.id]
    assert not fleet.leases.drain(first.id)


def test_a_release_tells_why_and_in_which_state(fleet: Fleet) -> None:
    lease = fleet.held()

    fleet.leases.close(lease.fence, WorkOutcome.PAUSED, "for the night")

    assert fleet.facts()[-1] == RunReleased("r1", 0, 2, LeaseState.PAUSED, "for the night")
