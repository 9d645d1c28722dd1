"""What it costs to keep an event, against nothing but getting its bytes onto the disk with the same engine."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.calls import BASE, appending
from bench.measure import Row, medians
from bench.plans import PLAN
from tildone.ids import id_maker, now
from tildone.log import codec
from tildone.log.events import Actor, Call, Event, PlanChanged
from tildone.stores.sqlite.store import SqliteStore

AIM = 2.0
FACT = PlanChanged(PLAN, Call("edit_todos", '{"action":"start","indices":[3]}'))


def rows(folder: Path, rounds: int) -> Iterator[Row]:
    """One row."""
    store = SqliteStore(folder / "appending.db")
    keep = keeping(store, "/home/somebody/project")
    keep()
    body = codec.encode(next(store.history("/home/somebody/project")))
    bare, taken = medians([appending(folder / "bare-appending.db", body), keep], rounds)
    yield Row("SqliteStore.append, ten tasks, durable", BASE, AIM, taken, bare)


def keeping(store: SqliteStore, session: str) -> Callable[[], None]:
    """Keeps one event more, each time it is called."""
    new_id = id_maker(now, os.urandom)
    head: str | None = None

    def append() -> None:
        nonlocal head
        event = Event(new_id(), head, now(), Actor.AGENT, FACT)
        store.append(session, event)
        head = event.id

    return append
