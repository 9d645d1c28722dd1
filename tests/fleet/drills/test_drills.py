"""Drills in their short form: faults in the middle of tasks, after which every task is done once.

The drills of a group run at the same time, because they mostly wait. `python3 do.py drills` has longer leases, more
runs and many trials.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.drills.faults import KINDS
from tests.fleet.drills.harness import SHORT
from tests.fleet.drills.many import MODEL, SHELL, ManyFleet, ManyPlan, ManyResults, over_rate, run_many
from tests.fleet.drills.night import Fate, NightForm, plan_text, run_night, wrong_results
from tests.fleet.drills.places import Grounds, Place
from tests.fleet.drills.trials import Trial, run_all
from tests.stores.postgres import needs_server
from tildone.log.settings import ProviderLimit
from tildone.plan.events import Actor, Event, Fact
from tildone.plan.runs import Lease, LeaseState, RunEnded, RunTaken, Work

GROUPS = {
    "workers killed": ("kill", "kill-released", "kill-all", "reapers"),
    "workers stopped": ("stop", "suspend", "clock"),
    "changes": ("cancel", "version", "disk-full"),
    "machine": ("reboot", "dead-pid"),
    "server": ("crash", "outage", "add-down"),
    "standby": ("failover", "silent"),
    "network": ("stall-short", "stall-long", "reset"),
    "engine": ("emptied", "copies"),
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


PLANS, AGENTS = 12, (SHELL, SHELL, MODEL)
LIMITS = (ProviderLimit("anthropic", runs=2, requests=80), ProviderLimit("openai", runs=3, requests=120))


@pytest.mark.slow
@pytest.mark.parametrize("place", [Place.SQLITE, pytest.param(Place.DBOS, marks=needs_server)])
def test_many_plans_keep_every_limit(place: Place, tmp_path: Path) -> None:
    pytest.importorskip("pydantic_ai")
    with Grounds() as grounds, grounds.ground(place, tmp_path, own_server=False) as ground:
        results = run_many(tmp_path, ground, AGENTS, PLANS, LIMITS)

    print(results)
    assert results.faults == []
    assert (results.lost, results.twice) == (0, 0)
    counted = {f"{what} {limit.provider}" for what in ("runs of", "requests a minute to") for limit in LIMITS}
    assert counted <= results.peaks.keys()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[ManyFleet]:
    """A fleet of three plans, none of which is run."""
    plans = [ManyPlan(tmp_path, number, SHELL, index) for number, index in enumerate((0, 12, 2))]
    with (
        Grounds() as grounds,
        grounds.ground(Place.SQLITE, tmp_path, own_server=False) as ground,
        ManyFleet(tmp_path, ground, plans, (ProviderLimit("p", runs=1),)) as fleet,
        fleet.model,
    ):
        yield fleet


def test_limits_that_were_not_held_are_reported(fleet: ManyFleet) -> None:
    work = Work(repo="/here", provider="p", labels=("special",))
    leases = {f"r{number}": Lease(f"r{number}", 0, "s", work) for number in range(3)}
    taken = {run: [event(at, RunTaken(run, 0, 1, f"host/1/a/{at}"))] for at, run in enumerate(leases)}
    ended = {run: [*taken[run], event(at, RunEnded(run, 0, 2, LeaseState.DONE))] for at, run in enumerate(leases, 1)}

    together, in_turn = (ManyResults(fleet, leases, events) for events in (taken, ended))
    together.check_holders()
    in_turn.check_holders()

    assert {
        "host/1/a/0 has taken r0 without the label",
        "repository /here: 2, which is more than 1",
        "runs of p: 2, which is more than 1",
        "slots of host/1/a: 3, which is more than 2",
        "slots of host/1/a were held to the end",
    } <= set(together.faults)
    assert [fault for fault in in_turn.faults if "label" not in fault] == []


def test_commands_that_did_not_wait_are_reported(fleet: ManyFleet) -> None:
    """Two plans work in one repository at the same time, and the third does not wait for a person."""
    (fleet.folder / "marks").write_text(
        "begin 0 1 1\nbegin 1 1 2\nend 0 1 3\nend 1 1 4\nbegin 2 3 5\n", encoding="utf-8"
    )
    found = ManyResults(fleet, {}, {})

    found.check_commands()
    found.check_answers()

    assert {
        "plans 0 and 1 were worked on in one repository at the same time",
        "('begin', 0, 2) was noted 0 times",
        "task 3 of plan 2 has not waited for a person",
    } <= set(found.faults)


def event(at: int, fact: Fact) -> Event:
    return Event(f"e{at}", None, at, Actor.TIMER, fact)


def test_a_rate_permits_a_part_at_once_and_the_rest_at_intervals() -> None:
    limit = ProviderLimit("p", requests=60)

    assert over_rate([(0, at) for at in range(6)], limit) is None
    assert over_rate([(0, at) for at in range(7)], limit) == (7, 6)
    assert over_rate([(0, 1000 * at) for at in range(60)], limit) is None
    assert over_rate([(0, 1000 * at) for at in range(61)], limit) == (61, 60_000)


@pytest.mark.slow
@pytest.mark.parametrize("place", [Place.SQLITE, pytest.param(Place.DBOS, marks=needs_server)])
def test_after_a_night_the_results_name_the_runs_that_need_a_person(place: Place, tmp_path: Path) -> None:
    form = NightForm(plans=12, workers=2, failures=1, waits=1, conflicts=1, kill_every=5, task=1)
    with Grounds() as grounds, grounds.ground(place, tmp_path, own_server=False) as ground:
        night = run_night(tmp_path, ground, form)

    print(night)
    assert night.faults == []
    assert night.kills > 0


def test_the_fates_of_a_night_are_spread_over_it() -> None:
    fates = NightForm().fates()

    assert [fates.count(fate) for fate in Fate] == [5, 5, 2, 88]
    assert fates[:3] == [Fate.CONFLICT, Fate.CONFLICT, Fate.WAITING]
    assert Fate.FAILED in fates[-15:]


def test_a_plan_of_a_night_has_the_commands_of_its_fate(tmp_path: Path) -> None:
    names = {
        fate: [f"`{tmp_path}/{name} 7 2`" in plan_text(tmp_path, 7, fate) for name in ("deploy", "both", "work")]
        for fate in Fate
    }

    assert names == {
        Fate.FAILED: [False, False, False],
        Fate.WAITING: [True, False, False],
        Fate.CONFLICT: [False, True, False],
        Fate.DONE: [False, False, True],
    }
    assert f"  $ {tmp_path}/fail 7 2\n" in plan_text(tmp_path, 7, Fate.FAILED)


def test_results_that_differ_from_the_night_are_told() -> None:
    expected = {"a": Fate.FAILED, "b": Fate.WAITING, "c": Fate.DONE, "d": Fate.DONE}
    failed, waiting, done = (
        {"run": run, "state": state, "why": why}
        for run, state, why in (("a", "failed", "exit 1"), ("b", "waiting", "asks"), ("c", "done", None))
    )
    other = done | {"run": "d"}
    nothing: list[dict[str, str]] = []

    assert wrong_results(expected, {"needs": [failed, waiting], "done": [done, other], "running": nothing}) == []
    assert wrong_results(
        expected, {"needs": [failed | {"state": "conflict", "why": None}], "done": [done], "over": [other]}
    ) == [
        "a needs a person, but no reason is told",
        "done: d is missing, which is done",
        "needs: a is conflict, not failed",
        "needs: b is missing, which is waiting",
        "over: d is there, and done",
    ]
