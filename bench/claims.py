"""Claims of tasks by several processes at once, against appends by as many."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from bench.measure import Row
from bench.postgres import successive_events
from bench.race import TIMEOUT_SECONDS, race
from tests.stores.postgres import running_server
from tests.stores.postgres_keeper import why_not
from tildone.app.opening import open_store
from tildone.app.settings import Settings
from tildone.log.store import Store
from tildone.plan.claims import Claimant
from tildone.stores import parse_address

WRITERS = 8
LEASE_MS = 600_000
AIM = 2.0

PLAN_NAME = "/home/somebody/project"


def rows(folder: Path, rounds: int, claims: int) -> Iterator[Row]:
    """A row for each store. `claims` is how many claims each writer makes in a round."""
    row = Row(f"a claim and its end, {WRITERS} writers, SQLite", "two appends", AIM)
    yield _measured(row, str(folder / "claims.db"), rounds, claims)
    row = replace(row, name=row.name.replace("SQLite", "PostgreSQL"))
    missing = why_not()
    if missing:
        yield replace(row, skipped=missing)
        return
    with ExitStack() as running:
        yield _measured(row, running.enter_context(running.enter_context(running_server()).database()), rounds, claims)


def _measured(row: Row, store: str, rounds: int, claims: int) -> Row:
    """Measure both in turns; the times are those of all writers together, for each claim."""
    opened, acts = partial(_opened, store), (partial(_claim, claims), partial(_append, claims))
    taken = [[race(opened, act, WRITERS) for act in acts] for _ in range(rounds)]
    took, base_took = (median(times) / (WRITERS * claims) for times in zip(*taken, strict=True))
    return replace(row, base=f"{row.base}; {1 / took:,.0f} claims/s", took=took, base_took=base_took)


def _opened(address: str) -> Store:
    """Open a store, and run the first statement."""
    store = open_store(Settings(session="bench", project="/", store=parse_address(address)), timeout=TIMEOUT_SECONDS)
    store.session_head(PLAN_NAME)
    return store


def _claim(count: int, store: Store, number: int) -> None:
    """Claim tasks of the plan that all writers share, one after the other, and give each back."""
    claimant = Claimant(f"claude:agent-{number}", f"/home/ada/{number}", "main")
    for turn in range(count):
        task = turn * WRITERS + number + 1
        assert store.records.claim(PLAN_NAME, task, claimant, LEASE_MS).agent == claimant.agent
        store.records.release(PLAN_NAME, claimant.agent, frozenset((task,)))


def _append(count: int, store: Store, number: int) -> None:
    """Append events to a session of its own, so that no head moves meanwhile."""
    session, events = f"{PLAN_NAME} {number} {os.getpid()}", successive_events()
    for _ in range(2 * count):
        store.append(session, next(events))
