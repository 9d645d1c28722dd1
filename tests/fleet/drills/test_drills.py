"""Drills in their short form: faults in the middle of tasks, after which every task is done once.

The drills of a group run at the same time, because they mostly wait. `python3 do.py drills` has longer leases, more
runs and many trials.
"""

import pytest

from tests.fleet.drills.forms import SHORT
from tests.fleet.drills.kinds import KINDS
from tests.fleet.drills.places import Place
from tests.fleet.drills.trials import Trial, run_all
from tests.stores.postgres import needs_server

GROUPS = {
    "workers killed": ("kill", "kill-released", "kill-all", "reapers"),
    "workers stopped": ("stop", "suspend", "clock"),
    "changes": ("cancel", "version", "disk-full"),
    "machine": ("reboot", "dead-pid"),
    "server": ("crash", "outage", "add-down"),
    "standby": ("failover", "silent"),
    "network": ("stall-short", "stall-long", "reset"),
    "engine": ("emptied", "dispatches"),
}
PLACES = {"sqlite": Place.SQLITE, "postgres": Place.DBOS}
CASES = [
    pytest.param(PLACES[place], trials, marks=[needs_server] if place == "postgres" else [], id=f"{place} {group}")
    for place in PLACES
    for group, names in GROUPS.items()
    if (trials := [kind for kind in KINDS if kind.name in names and PLACES[place] in kind.places])
]


@pytest.mark.slow
@pytest.mark.parametrize(("place", "kinds"), CASES)
def test_every_task_is_done_once(place: Place, kinds: list[object]) -> None:
    trials = [Trial(kind, place) for kind in KINDS if kind in kinds]

    ended = list(run_all(trials, SHORT, len(trials)))

    print(*ended, sep="\n")
    assert [str(trial) for trial in ended if not trial.is_good] == []


def test_every_kind_is_in_a_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(kind.name for kind in KINDS)
