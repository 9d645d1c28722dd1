"""Plans that are run again and again, on each kind of store that has leases."""

import pytest

from tests.plans import plan_of
from tests.stores.leases import HOUR, WALL, Fleet
from tildone.errors import UsageError
from tildone.log.codec import dump, plan_to_json
from tildone.log.events import PlanChanged
from tildone.log.fleet.lease import Work, WorkOutcome
from tildone.log.fleet.workers import RunSchedule

PLAN = plan_of("one", "two")
DUE = 1_700_000_000_000
NIGHTLY = RunSchedule(
    "nightly", "0 3 * * *", dump(plan_to_json(PLAN)), DUE, Work("/app", labels=("gpu",)), "Europe/Berlin"
)
RUN = "nightly-20231114-2213"


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
    "schedule",
    [
        RunSchedule("a/b", "0 3 * * *", "{}", 0),
        RunSchedule("a", "0 25 * * *", "{}", 0),
        RunSchedule("a", "0 3 * * *", "{}", 0, Work("https://a:b@example.org/x")),
    ],
    ids=["name", "time", "password"],
)
def test_an_invalid_schedule_is_refused(fleet: Fleet, schedule: RunSchedule) -> None:
    with pytest.raises(UsageError):
        fleet.leases.set_schedule(schedule)

    assert fleet.leases.schedules() == []


def test_a_missed_time_is_one_run(fleet: Fleet) -> None:
    """However often it was missed."""
    fleet.leases.set_schedule(NIGHTLY)

    assert fleet.leases.tick(in_an_hour) == {"nightly": RUN}
    assert fleet.leases.tick(in_an_hour) == {}

    [view] = fleet.leases.look()
    assert (view.lease.run, view.lease.work, view.lease.is_queued) == (RUN, NIGHTLY.work, True)
    [first, *_] = fleet.store.events(RUN)
    assert first.fact == PlanChanged(PLAN)
    [schedule] = fleet.leases.schedules()
    assert schedule.next > DUE
    assert schedule.last == RUN


def test_a_schedule_whose_last_run_lives_is_skipped(fleet: Fleet) -> None:
    fleet.leases.set_schedule(NIGHTLY)
    fleet.leases.tick(in_an_hour)
    fleet.passes(HOUR + 1)

    assert fleet.leases.tick(in_an_hour) == {"nightly": ""}

    [lease] = fleet.claim(labels=("gpu",))
    fleet.leases.close(lease.fence, WorkOutcome.DONE)
    fleet.passes(HOUR + 1)
    [run] = fleet.leases.tick(in_an_hour).values()
    assert run not in ("", RUN)
    assert len(fleet.leases.look()) == 2


def test_a_schedule_that_is_removed_makes_no_more_runs(fleet: Fleet) -> None:
    fleet.leases.set_schedule(NIGHTLY)
    fleet.leases.unschedule("nightly")

    assert fleet.leases.tick(in_an_hour) == {}
    assert fleet.leases.look() == []
