"""What it costs to read a plan at the end of a long history, against a short one."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import apsw

from bench.measure import Row, medians
from bench.plans import PLAN, session_on
from tildone.log import codec
from tildone.log.events import Actor, Call, Event, PlanChanged
from tildone.stores.sqlite import SqliteStore

AIM = 1.5
SHORT = 10


def rows(folder: Path, rounds: int, length: int) -> Iterator[Row]:
    """One row."""
    reads = [reading(grown(folder / f"{events}.db", events)) for events in (SHORT, length)]
    short, long = medians(reads, rounds)
    yield Row(f"the plan after {length:,} events", f"after {SHORT} events", AIM, long, short)


def reading(store: SqliteStore) -> Callable[[], object]:
    """As a command does it: the store is open, the session is new."""
    return lambda: session_on(store, "bench").plan


def grown(path: Path, length: int) -> SqliteStore:
    """A store whose only session has so many events, put there at once rather than one by one."""
    SqliteStore(path).close()
    fact = PlanChanged(PLAN, Call("edit_todos", '{"action":"start","indices":[3]}'))
    ids = [None, *(f"{number:020}" for number in range(length))]
    body = codec.encode(Event("<id>", "<parent>", 1, Actor.AGENT, fact))
    rows = ((new, old, body.replace("<id>", str(new)).replace("<parent>", str(old))) for old, new in pairwise(ids))
    connection = apsw.Connection(str(path))
    with connection:
        connection.executemany("INSERT INTO events (session, id, parent, at, body) VALUES ('bench', ?, ?, 1, ?)", rows)
    connection.close()
    store = SqliteStore(path)
    assert session_on(store, "bench").plan == PLAN
    return store
