"""Time of a durable append, against a bare SQLite insert of the same bytes."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.calls import BASE, appending
from bench.measure import Row, medians
from bench.plans import PLAN
from tildone.base.ids import id_maker, now
from tildone.plan import codec
from tildone.plan.events import Actor, Call, Event, PlanChanged
from tildone.stores.sqlite.store import SqliteStore

AIM = 2.0
FACT = PlanChanged(PLAN, Call("edit_todos", '{"action":"start","indices":[3]}'))


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """One row."""
    store = SqliteStore(folder / "appending.db")
    append = appender(store, "/home/somebody/project")
    append()
    body = codec.encode(next(store.history("/home/somebody/project")))
    bare, taken = medians([appending(folder / "bare-appending.db", body), append], rounds)
    yield Row("SqliteStore.append, ten tasks, durable", BASE, AIM, taken, bare)


def appender(store: SqliteStore, session: str) -> Callable[[], None]:
    """Append one more event at each call."""
    new_id = id_maker(now, os.urandom)
    head: str | None = None

    def append() -> None:
        nonlocal head
        event = Event(new_id(), head, now(), Actor.AGENT, FACT)
        store.append(session, event)
        head = event.id

    return append
