"""Schedules: when they queue runs, on each kind of store that has leases."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.plans import plan_of
from tests.stores.leases import Fleet
from tildone.fleet.engine import TableEngine
from tildone.fleet.upkeep import Reaper, due_after
from tildone.plan.codec import dump, plan_to_json
from tildone.plan.lists import RunSchedule
from tildone.plan.runs import Ask, Claimer, Work

HOUR = 3_600_000
DAY = 24 * HOUR
NIGHTLY = RunSchedule(
    "nightly", "0 3 * * *", dump(plan_to_json(plan_of("one"))), 1, Work(agent="shell"), "Europe/Berlin"
)


def runs(fleet: Fleet) -> list[str]:
    return [view.lease.run for view in fleet.leases.look()]


def test_a_schedule_that_was_missed_many_times_queues_one_run(fleet: Fleet) -> None:
    fleet.leases.set_schedule(NIGHTLY)

    ticked = fleet.leases.tick(due_after)

    assert list(ticked.values()) == runs(fleet)
    assert len(runs(fleet)) == 1
    assert fleet.leases.tick(due_after) == {}
    [after] = fleet.leases.schedules()
    assert after.last == runs(fleet)[0]
    assert after.next > DAY


def test_a_schedule_whose_last_run_lives_is_skipped_and_that_is_told(fleet: Fleet) -> None:
    fleet.leases.set_schedule(NIGHTLY)
    told: list[str] = []
    reaper = Reaper(fleet.leases, TableEngine(fleet.leases, Claimer("here/1/a")), tell=told.append)
    reaper.look()
    [run] = runs(fleet)
    fleet.passes(DAY)

    reaper.look()

    assert runs(fleet) == [run]
    assert told[0] == f"schedule nightly: queued {run}"
    assert told[1].startswith("schedule nightly: skipped: its last run has not ended")
    fleet.leases.request_stop(run, Ask.CANCEL)
    fleet.passes(DAY)
    reaper.look()
    assert len(runs(fleet)) == 2


def test_two_reapers_at_once_queue_one_run(fleet: Fleet) -> None:
    fleet.leases.set_schedule(NIGHTLY)

    with ThreadPoolExecutor(4) as pool:
        ticked = list(pool.map(lambda _: fleet.leases.tick(due_after), range(8)))

    assert len(runs(fleet)) == 1
    assert [run for each in ticked for run in each.values()] == runs(fleet)


@pytest.mark.parametrize("plan", ["{", json.dumps({"phases": 3})])
def test_a_schedule_that_cannot_be_read_does_not_hold_up_others(fleet: Fleet, plan: str) -> None:
    fleet.leases.set_schedule(RunSchedule("broken", "0 3 * * *", plan, 0))
    fleet.leases.set_schedule(NIGHTLY)

    ticked = fleet.leases.tick(due_after)

    assert (ticked["broken"], ticked["nightly"]) == ("", runs(fleet)[0])
    assert fleet.leases.tick(due_after) == {}


def test_the_time_of_a_schedule_is_that_of_its_zone() -> None:
    """02:30 on the day when clocks go forward is left out; the schedule is due when the clock goes on."""
    before = 1_774_695_600_000  # 2026-03-28 12:00 in Berlin
    night = RunSchedule("night", "30 2 * * *", "", 0, zone="Europe/Berlin")

    assert due_after(night, before) - before == 14 * HOUR + HOUR // 2
    assert due_after(RunSchedule("x", "30 2 * * *", "", 0, zone="No/Where"), before) - before == 365 * DAY
