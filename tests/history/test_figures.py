"""The figures of a store, from its tables and its counts."""

from tests.telemetry.prometheus import parse
from tildone.plan.history.stats import FleetNow, counter_families, fleet_families, session_families
from tildone.plan.lists import WorkerInfo
from tildone.plan.runs import Ask, Lease, LeaseState
from tildone.plan.text.charts import exposition

NOW = 100_000


def labelled(name: str, *values: tuple[str, float]) -> dict[tuple[tuple[str, str], ...], float]:
    return {((name, value),): amount for value, amount in values}


def test_the_gauges_of_a_fleet() -> None:
    leases = [
        Lease("a", 0, "s", owner="w/1/x/1", since=1),
        Lease("b", 0, "s", since=70_000),
        Lease("c", 0, "s", since=10_000, not_before=90_000),
        Lease("d", 0, "s", since=1, not_before=NOW + 1),
        Lease("e", 0, "s", state=LeaseState.WAITING, questions=("q1", "q2")),
        Lease("f", 0, "s", state=LeaseState.PAUSED),
    ]
    workers = [
        WorkerInfo("w/1/x", slots=4, seen=99_000),
        WorkerInfo("w/2/x", slots=2, seen=99_000, ask=Ask.DRAIN),
        WorkerInfo("w/3/x", slots=8, seen=1_000),
    ]

    found = parse(exposition(fleet_families(FleetNow(leases, workers, NOW, 30_000, 4096), 3)))

    assert found["tildone_runs"].samples == labelled(
        "state", ("queued", 2), ("delayed", 1), ("running", 1), ("waiting", 1), ("paused", 1)
    )
    assert found["tildone_workers"].samples == labelled("state", ("up", 1), ("draining", 1), ("silent", 1))
    plain = {name: figures.samples.get(()) for name, figures in found.items()}
    assert plain["tildone_slots"] == 6
    assert plain["tildone_slots_used"] == 1
    assert plain["tildone_queue_oldest_seconds"] == 30
    assert plain["tildone_questions"] == 5
    assert plain["tildone_store_bytes"] == 4096


def test_an_empty_fleet_has_all_gauges_at_0() -> None:
    found = parse(exposition(fleet_families(FleetNow([], [], NOW, 1, 0), 0)))

    assert {amount for figures in found.values() for amount in figures.samples.values()} == {0}


def test_counters_without_labels_are_there_from_the_beginning() -> None:
    found = parse(exposition(counter_families({("cost", ("claude", "opus")): 0.5, ("ended", ("done",)): 2})))

    assert found["tildone_takeovers_total"].samples == {(): 0}
    assert found["tildone_checks_total"].samples == {}
    assert found["tildone_runs_ended_total"].samples == labelled("state", ("done", 2))
    assert found["tildone_cost_usd_total"].samples == {(("agent", "claude"), ("model", "opus")): 0.5}


def test_sessions_and_the_questions_of_a_store_without_a_fleet() -> None:
    assert [family.name for family in session_families({"done": 2}, None)] == ["tildone_sessions"]
    found = parse(exposition(session_families({"done": 2, "idle": 0}, 4)))

    assert found["tildone_sessions"].samples == labelled("state", ("done", 2), ("idle", 0))
    assert found["tildone_questions"].samples == {(): 4}
