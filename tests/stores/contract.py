"""Events in stores, for tests."""

from collections.abc import Callable, Iterable
from pathlib import Path

import apsw

from tests.plans import plan_of
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, PlanChanged

Opener = Callable[[], Store]

LONG_ENOUGH = 20.0
NOW = 1_900_000_000_000
WORKING = Presence("claude:5f0c", "s", "claude", "laptop", "m-1", "bash: make", NOW - 5, "", 184_000, 1.92, NOW)
QUESTION = Need("n1", "s", "command", "rm -r build", ("once", "session", "no"), NOW, "run:1", "in /work, for Build")

WILD = ["", "ünï cödé 😀", "half \ud83d a pair", "\udfff", "nul \x00 inside", "line\nbreak", "'; DROP TABLE --", "1"]


def planned(event_id: str, parent: str | None, *texts: str, at: int = 1) -> Event:
    return Event(event_id, parent, at, Actor.AGENT, PlanChanged(plan_of(*texts)))


def chain(store: Store, session: str, *ids: str) -> list[Event]:
    """Append events one after the other."""
    events = []
    for event_id in ids:
        events.append(planned(event_id, store.session_head(session).head, event_id))
        store.append(session, events[-1])
    return events


def ids(events: Iterable[Event]) -> list[str]:
    return [event.id for event in events]


def is_refused(error: type[Exception], act: Callable[[], object]) -> bool:
    """Say whether an act raises that error."""
    try:
        act()
    except error:
        return True
    return False


def by_hand(path: Path, sql: str) -> None:
    """Change a SQLite file, as somebody else might."""
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()
