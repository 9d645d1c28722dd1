"""Time to read the plan at the end of a long history, against a short history."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from bench.measure import Row, medians
from bench.plans import PLAN, session_on
from tildone.plan.events import Actor, Call, Event, Nudged, PlanChanged, SessionHead
from tildone.stores.sqlite.store import SqliteStore

AIM = 1.5
SHORT = 10
BATCH_SIZE = 10_000


def rows(folder: Path, rounds: int, length: int) -> Iterator[Row]:
    """One row."""
    reads = [reading(grown(folder / f"{events}.db", events)) for events in (SHORT, length)]
    short, long = medians(reads, rounds)
    yield Row(f"the plan after {length:,} events", f"after {SHORT} events", AIM, long, short)


def reading(store: SqliteStore) -> Callable[[], object]:
    """Read the plan in a new session on an open store."""
    return lambda: session_on(store, "bench").plan


def grown(path: Path, length: int) -> SqliteStore:
    """A store with one session of `length` events, imported in batches.

    Only the newest event holds a plan; the others are small, so that a million of them are written quickly.
    """
    plan = PlanChanged(PLAN, Call("edit_todos", '{"action":"start","indices":[3]}'))
    ids = [None, *(f"{number:020}" for number in range(length))]
    events = (
        Event(new or "", old, 1, Actor.AGENT, plan if new == ids[-1] else Nudged(1, 1)) for old, new in pairwise(ids)
    )
    store = SqliteStore(path)
    while batch := [event for _, event in zip(range(BATCH_SIZE), events, strict=False)]:
        store.import_events("bench", batch, SessionHead(batch[-1].id))
    assert session_on(store, "bench").plan == PLAN
    return store
