"""How the lease of a run ends, and what becomes of the run, on each kind of store that has leases."""

import pytest

from tests.stores.leases import LONG, Fleet, names
from tildone.base.errors import NotFound, Refused, RunFenced
from tildone.log.settings import FleetSettings
from tildone.plan.events import Actor, Event, PlanChanged
from tildone.plan.model import Status, Task, flat
from tildone.plan.runs import Ask, Asked, Kept, LeaseState, Renewed, RunEnded, RunFence, RunLost, WorkOutcome

LEASE = FleetSettings().lease


def test_renewal_tells_what_is_still_held_and_what_is_asked(fleet: Fleet) -> None:
    first, second = fleet.held("r1"), fleet.held("r2")
    fleet.leases.request_stop("r2", Ask.PAUSE)
    lost = RunFence("r1", 0, 7)

    renewed = fleet.leases.renew([first.fence, second.fence, lost])

    assert {(each.fence, each.ask) for each in renewed} == {(first.fence, Ask.NOTHING), (second.fence, Ask.PAUSE)}


def test_a_worker_does_not_renew_the_lease_of_its_heir(fleet: Fleet) -> None:
    lease = fleet.held()
    fleet.leases.release(lease.fence, "drained")
    [successor] = fleet.claim("here/2/b")
    fleet.passes(1000)

    assert fleet.leases.renew([lease.fence]) == []
    assert fleet.lease().until == successor.until


def test_a_lapsed_lease_that_nobody_took_is_renewed(fleet: Fleet) -> None:
    lease = fleet.held()
    fleet.passes(LEASE + 1)

    assert fleet.leases.renew([lease.fence]) == [Renewed(lease.fence, Ask.NOTHING)]

    assert fleet.leases.reap(LONG) == []
    assert fleet.leases.look()[0].remaining > LEASE // 2


def test_a_lapsed_lease_is_taken_from_its_owner(fleet: Fleet) -> None:
    lease = fleet.held()
    assert fleet.leases.reap(LONG) == []
    fleet.passes(LEASE + 1)

    [lost] = fleet.leases.reap(LONG)

    assert (lost.epoch, lost.attempt, lost.owner, lost.losses, lost.task) == (2, 2, "", 1, 1)
    assert fleet.facts()[-1] == RunLost("r1", 0, 2, "its lease has lapsed", 1, 1)
    assert fleet.leases.renew([lease.fence]) == []
    assert fleet.leases.release(lease.fence, "late") is None
    assert fleet.leases.close(lease.fence, WorkOutcome.DONE) is None


def test_a_reaper_that_has_not_seen_the_store_for_long_waits(fleet: Fleet) -> None:
    """After an outage, owners renew first."""
    fleet.held()
    fleet.passes(LEASE + 1)

    assert fleet.leases.reap(LEASE // 2 - 1) == []
    assert len(fleet.leases.reap(LEASE // 2)) == 1


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


def test_losses_in_another_task_count_from_the_first(fleet: Fleet) -> None:
    for _ in range(4):
        fleet.add(session="plan")
        fleet.claim()
        fleet.passes(LEASE + 1)
        fleet.leases.reap(LONG)
    done = flat(Task("one", Status.COMPLETED, number=1), Task("two", number=2))
    head = fleet.store.session_head("plan").head
    fleet.store.append("plan", Event("done", head, 1, Actor.AGENT, PlanChanged(done)))
    fleet.claim()
    fleet.passes(LEASE + 1)

    [lost] = fleet.leases.reap(LONG)

    assert (lost.state, lost.losses, lost.task) == (LeaseState.OPEN, 1, 2)


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
    """Other runs wait on."""
    for name in ("r1", "r2"):
        fleet.leases.release(fleet.held(name).fence, "others have the rest", delay=5000)
    revision = fleet.leases.revision()

    fleet.leases.skip_delay("r1")

    assert fleet.leases.revision() > revision
    assert [lease.run for lease in fleet.claim("here/2/b", slots=2)] == ["r1"]
    assert names(fleet.facts()) == ["RunQueued", "RunTaken", "RunReleased", "RunTaken"]


def test_a_lease_whose_agent_has_failed_waits_although_its_run_is_hastened(fleet: Fleet) -> None:
    fleet.leases.close(fleet.held().fence, WorkOutcome.RETRY, "exit code 1")
    revision = fleet.leases.revision()

    fleet.leases.skip_delay("r1")

    assert fleet.leases.revision() == revision
    assert fleet.claim("here/2/b") == []


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (WorkOutcome.DONE, LeaseState.DONE),
        (WorkOutcome.FAILED, LeaseState.FAILED),
        (WorkOutcome.CANCELLED, LeaseState.CANCELLED),
    ],
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
    [lease] = fleet.claim()

    failed = fleet.leases.close(lease.fence, WorkOutcome.RETRY, "exit 1")

    assert failed is not None
    assert (failed.state, failed.fails) == (LeaseState.FAILED, 5)
    assert fleet.facts()[-1] == RunEnded("r1", 0, 10, LeaseState.FAILED, "exit 1", 5)


def test_a_run_waits_for_an_answer_without_a_worker(fleet: Fleet) -> None:
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


def test_an_answer_before_the_agent_has_ended_queues_the_run_at_once(fleet: Fleet) -> None:
    lease = fleet.held()
    fleet.leases.append(lease.fence, Asked("r1", 0, "q1", "question", "Which?"), "asked")
    fleet.leases.answer("r1", "q1", "that", "ada", "answered")

    queued = fleet.leases.close(lease.fence, WorkOutcome.WAITING, "asked")

    assert queued is not None
    assert queued.state is LeaseState.OPEN


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


WISHES = [
    (Ask.CANCEL, LeaseState.CANCELLED),
    (Ask.CANCEL_NOW, LeaseState.CANCELLED),
    (Ask.PAUSE, LeaseState.PAUSED),
    (Ask.PAUSE_NOW, LeaseState.PAUSED),
]


@pytest.mark.parametrize(("ask", "state"), WISHES)
def test_a_wish_for_a_queued_run_is_done_at_once(fleet: Fleet, ask: Ask, state: LeaseState) -> None:
    fleet.add(hands=2)

    leases = fleet.leases.request_stop("r1", ask, "by ada")

    assert [(lease.state, lease.epoch) for lease in leases] == [(state, 1), (state, 1)]
    assert fleet.leases.request_stop("r1", ask, "by ada") == leases
    assert fleet.claim(slots=2) == []


@pytest.mark.parametrize(("ask", "state"), WISHES)
def test_a_wish_for_a_held_run_is_done_when_its_holder_gives_it_back(fleet: Fleet, ask: Ask, state: LeaseState) -> None:
    """Also if the holder was lost, or if its attempt failed."""
    held = [fleet.held(run) for run in ("r1", "r2", "r3")]
    for lease in held:
        assert fleet.leases.request_stop(lease.run, ask)[0].ask is ask
        assert fleet.lease(lease.run).state is LeaseState.OPEN

    fleet.leases.release(held[0].fence, "")
    fleet.leases.close(held[1].fence, WorkOutcome.RETRY, "exit 1")
    fleet.passes(LEASE + 1)
    fleet.leases.reap(LONG)

    assert [(view.lease.state, view.lease.ask) for view in fleet.leases.look()] == [(state, Ask.NOTHING)] * 3


def test_a_cancellation_outweighs_a_pause(fleet: Fleet) -> None:
    fleet.held()
    fleet.leases.request_stop("r1", Ask.CANCEL)

    assert fleet.leases.request_stop("r1", Ask.PAUSE)[0].ask is Ask.CANCEL
    assert fleet.leases.request_stop("r1", Ask.PAUSE_NOW)[0].ask is Ask.CANCEL_NOW
    assert fleet.leases.request_stop("r1", Ask.CANCEL)[0].ask is Ask.CANCEL_NOW


@pytest.mark.parametrize("outcome", [WorkOutcome.FAILED, WorkOutcome.CANCELLED, WorkOutcome.PAUSED])
def test_a_run_is_retried_or_resumed(fleet: Fleet, outcome: WorkOutcome) -> None:
    lease = fleet.held()
    fleet.leases.close(lease.fence, outcome)

    [again] = fleet.leases.requeue("r1")

    assert (again.state, again.attempt, again.fails, again.losses) == (LeaseState.OPEN, 2, 0, 0)
    assert again.epoch > lease.epoch
    assert fleet.leases.requeue("r1") == [again]
    assert fleet.claim("here/2/b") != []


def test_a_run_that_is_done_is_not_retried(fleet: Fleet) -> None:
    fleet.leases.close(fleet.held().fence, WorkOutcome.DONE)

    with pytest.raises(Refused, match="run r1 is done"):
        fleet.leases.requeue("r1")


def test_a_run_is_not_retried_while_another_run_of_its_plan_lives(fleet: Fleet) -> None:
    fleet.leases.close(fleet.held("r1", session="plan").fence, WorkOutcome.FAILED)
    fleet.add("r2", "plan")

    with pytest.raises(Refused, match="run r2 of this plan has not ended"):
        fleet.leases.requeue("r1")


def test_resuming_a_held_run_withdraws_the_wish_for_a_pause(fleet: Fleet) -> None:
    fleet.held()
    fleet.leases.request_stop("r1", Ask.PAUSE)

    assert fleet.leases.requeue("r1")[0].ask is Ask.NOTHING


def test_a_run_that_does_not_exist_is_not_found(fleet: Fleet) -> None:
    with pytest.raises(NotFound, match="there is no run 'r9'"):
        fleet.leases.request_stop("r9", Ask.CANCEL)
    with pytest.raises(NotFound, match="there is no run 'r9'"):
        fleet.leases.requeue("r9")
    with pytest.raises(NotFound, match="there is no run 'r9'"):
        fleet.leases.answer("r9", "q", "a", "ada", "e")
