"""Workers that end while they have a run, and workers that do not permit it, on both kinds of store."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.plans import plan_of
from tests.stores.leases import Fleet, names
from tests.stores.postgres import needs_server
from tildone.app.opening import run_leases, session_in, store_at
from tildone.fleet.releasing import STORE_VARIABLE
from tildone.fleet.running import RELEASE
from tildone.log.lease_rules import KILLS_ITS_WORKER, MAX_LOSSES
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import Actor, PlanChanged
from tildone.plan.model import Status
from tildone.plan.ops import Mark, Numbered
from tildone.plan.runs import Ask, Claimer, LeaseState, NewRun, WorkOutcome

NOT_PERMITTED = "not permitted here: the agent 'x'"


def test_a_run_that_ends_its_workers_fails(fleet: Fleet) -> None:
    """Each time in the same task; the reason is in the log."""
    fleet.add()
    for number in range(MAX_LOSSES):
        [lease] = fleet.claim(f"here/{number + 1}/a")
        after = fleet.leases.lose(lease.fence, "its worker has ended")
        assert after is not None
        assert (after.losses, after.task) == (number + 1, 1)

    assert fleet.lease().state is LeaseState.FAILED
    assert names(fleet.facts())[-3:] == ["RunTaken", "RunLost", "RunEnded"]
    assert getattr(fleet.facts()[-1], "why", "") == KILLS_ITS_WORKER


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


def test_a_lease_that_is_no_longer_held_is_not_lost(fleet: Fleet) -> None:
    lease = fleet.held()
    fleet.leases.release(lease.fence, "stopped")

    assert fleet.leases.lose(lease.fence, "its worker has ended") is None
    assert fleet.lease().losses == 0


def test_a_run_that_is_to_be_cancelled_is_cancelled_when_its_worker_ends(fleet: Fleet) -> None:
    lease = fleet.held()
    fleet.leases.request_stop("r1", Ask.CANCEL_NOW)

    after = fleet.leases.lose(lease.fence, "its worker has ended")

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
    assert fleet.leases.take(Claimer("here/1/a"), "here/1/a/5", "r1", 0, after.attempt) is None
    [taken] = fleet.claim("here/1/b")
    fleet.leases.close(taken.fence, WorkOutcome.REFUSED, NOT_PERMITTED)
    assert fleet.lease().refused == ("here/1/a", "here/1/b")
    fleet.leases.request_stop("r1", Ask.PAUSE)
    fleet.leases.requeue("r1")
    assert fleet.claim("here/1/a") != []


def test_only_the_newest_refusals_are_remembered(fleet: Fleet) -> None:
    fleet.add()
    for number in range(102):
        fleet.leases.close(fleet.claim(f"here/{number}/a")[0].fence, WorkOutcome.REFUSED, NOT_PERMITTED)

    assert fleet.lease().refused == tuple(f"here/{number}/a" for number in range(2, 102))


def sqlite(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("tmp_path") / "plans.db")


def postgres(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("url"))


@pytest.mark.parametrize("kind", [sqlite, pytest.param(postgres, marks=needs_server)], ids=["sqlite", "postgres"])
def test_what_a_supervisor_gives_back_is_lost(
    request: pytest.FixtureRequest, kind: Callable[[pytest.FixtureRequest], str]
) -> None:
    """Also if the process of the worker seems to live: another one may have its number."""
    address = kind(request)
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
