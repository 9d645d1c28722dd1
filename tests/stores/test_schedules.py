"""Plans that are run again and again, on each kind of store that has leases."""

import re

import pytest

from tests.plans import plan_of
from tests.stores.leases import HOUR, WALL, Fleet
from tildone.base import replace
from tildone.base.errors import UsageError
from tildone.plan.codec import dump, plan_to_json
from tildone.plan.events import PlanChanged
from tildone.plan.lists import RunSchedule
from tildone.plan.names import MAX_NAME
from tildone.plan.runs import Work, WorkOutcome

PLAN = plan_of("one", "two")
DUE = 1_700_000_000_000
NIGHTLY = RunSchedule(
    "nightly", "0 3 * * *", dump(plan_to_json(PLAN)), DUE, Work("/app", labels=("gpu",)), "Europe/Berlin"
)
RUN = re.compile("nightly-20231114-2213-[0-9a-z]{6}")


def in_an_hour(_schedule: RunSchedule, now: int) -> int:
    return now + HOUR


def test_schedules_are_kept_by_name(fleet: Fleet) -> None:
    fleet.leases.set_schedule(RunSchedule("weekly", "0 0 * * 0", "{}", WALL * 2))
    fleet.leases.set_schedule(RunSchedule("nightly", "0 4 * * *", "{}", WALL * 2))
    fleet.leases.set_schedule(NIGHTLY)

    assert fleet.leases.schedules()[0] == NIGHTLY
    assert fleet.leases.unschedule("nightly")
    assert [schedule.name for schedule in fleet.leases.schedules()] == ["weekly"]
    assert not fleet.leases.unschedule("nightly")


@pytest.mark.parametrize(
    ("name", "cron", "work"),
    [
        ("a/b", "0 3 * * *", Work()),
        ("a", "0 25 * * *", Work()),
        ("a", "0 3 * * *", Work("https://a:b@example.org/x")),
    ],
    ids=["name", "time", "password"],
)
def test_an_invalid_schedule_is_refused(fleet: Fleet, name: str, cron: str, work: Work) -> None:
    with pytest.raises(UsageError):
        fleet.leases.set_schedule(RunSchedule(name, cron, "{}", 0, work))

    assert fleet.leases.schedules() == []


def test_a_missed_time_is_one_run(fleet: Fleet) -> None:
    """However often it was missed."""
    fleet.leases.set_schedule(NIGHTLY)

    run = fleet.leases.tick(in_an_hour)["nightly"]
    assert fleet.leases.tick(in_an_hour) == {}

    assert RUN.fullmatch(run)
    [view] = fleet.leases.look()
    assert (view.lease.run, view.lease.work, view.lease.is_queued) == (run, NIGHTLY.work, True)
    [first, *_] = fleet.store.events(run)
    assert first.fact == PlanChanged(PLAN)
    [schedule] = fleet.leases.schedules()
    assert schedule.next > DUE
    assert schedule.last == run


def test_schedules_of_one_name_that_are_due_at_the_same_time_make_different_runs(fleet: Fleet) -> None:
    """Two fleets on one machine may have such schedules. Folders and processes are found by the name of the run."""
    fleet.leases.set_schedule(NIGHTLY)
    fleet.leases.tick(in_an_hour)
    fleet.leases.unschedule("nightly")
    fleet.leases.set_schedule(NIGHTLY)
    fleet.leases.tick(in_an_hour)

    runs = {view.lease.run for view in fleet.leases.look()}
    assert len(runs) == 2
    assert all(map(RUN.fullmatch, runs))


def test_a_schedule_with_the_longest_name_makes_runs(fleet: Fleet) -> None:
    name = "n" * MAX_NAME
    fleet.leases.set_schedule(replace(NIGHTLY, name=name))

    run = fleet.leases.tick(in_an_hour)[name]

    assert len(run) == MAX_NAME
    assert "n-20231114-2213-" in run
    assert fleet.lease(run).is_queued


def test_a_schedule_whose_last_run_lives_is_skipped(fleet: Fleet) -> None:
    fleet.leases.set_schedule(NIGHTLY)
    before = fleet.leases.tick(in_an_hour)["nightly"]
    fleet.passes(HOUR + 1)

    assert fleet.leases.tick(in_an_hour) == {"nightly": ""}

    [lease] = fleet.claim(labels=("gpu",))
    fleet.leases.close(lease.fence, WorkOutcome.DONE)
    fleet.passes(HOUR + 1)
    [run] = fleet.leases.tick(in_an_hour).values()
    assert run not in ("", before)
    assert len(fleet.leases.look()) == 2


def test_a_schedule_that_is_removed_makes_no_more_runs(fleet: Fleet) -> None:
    fleet.leases.set_schedule(NIGHTLY)
    fleet.leases.unschedule("nightly")

    assert fleet.leases.tick(in_an_hour) == {}
    assert fleet.leases.look() == []
