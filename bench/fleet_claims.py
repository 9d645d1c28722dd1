"""Claims of queued runs by several workers at once, against as many by one worker."""

from __future__ import annotations

from functools import partial

from bench.measure import Row
from bench.race import race
from tests.plans import plan_of
from tests.stores.postgres import Server
from tildone.app.opening import run_leases, store_at
from tildone.log.store import Store
from tildone.plan.events import PlanChanged
from tildone.plan.runs import Claimer, NewRun, Work

WORKERS = 8
BATCH = 50
NAME, BASE, AIM = f"fleet: a claim, {WORKERS} workers", "one worker", 1.0


def claims_row(server: Server, claims: int) -> Row:
    """Measure both. Each run has a repository of its own, as most have: each claim locks that limit, and counts."""
    took, base_took = (_race(server, workers, claims // workers) for workers in (WORKERS, 1))
    return Row(NAME, f"{BASE}; {1 / took:,.0f}, {1 / base_took:,.0f}/s", AIM, took, base_took)


def _race(server: Server, workers: int, claims: int) -> float:
    """Let workers claim runs one by one, each in a process of its own; return how long each claim takes in seconds."""
    with server.database() as address:
        store = store_at(address)
        plan = PlanChanged(plan_of("one"))
        runs = [NewRun(f"r{i}", f"plan {i}", Work(f"/repo/{i}")) for i in range(workers * claims)]
        for start in range(0, len(runs), BATCH):
            run_leases(store).add_all([(run, [plan]) for run in runs[start : start + BATCH]])
        taken = race(partial(_opened, address), partial(_claim, claims), workers)
        store.close()
    return taken / (workers * claims)


def _opened(address: str) -> Store:
    """Open a store, with its connection."""
    store = store_at(address)
    run_leases(store).settings()
    return store


def _claim(claims: int, store: Store, number: int) -> None:
    leases, who = run_leases(store), Claimer(f"here/{number}/a")
    for turn in range(claims):
        assert len(leases.claim(who, [f"{who.worker}/{turn}"])) == 1
