"""Events in stores, for tests."""

from collections.abc import Callable, Iterable
from pathlib import Path

import apsw
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.plans import plan_of
from tildone.base import TildoneError
from tildone.log.needs import Need
from tildone.log.presence import Presence
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, PlanChanged, SessionInfo

Opener = Callable[[], Store]
Act = Callable[[Store], object]

LONG_ENOUGH = 20.0
NEVER = 10**15
"""A revision that no store has reached: a backup has taken its place."""

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


def run_machine(machine: Callable[[], RuleBasedStateMachine], given: settings) -> None:
    run_state_machine_as_test(machine, settings=given)  # type: ignore[arg-type]  # it takes whatever makes one


def answer(act: Act, store: Store) -> object:
    """Return what a store answers, or the error."""
    try:
        return act(store)
    except TildoneError as error:
        return type(error), str(error), getattr(error, "need", None)


def effect(act: Act, store: Store, follower: Store) -> object:
    """Return what a store answers, and what a follower of it is told of the change."""
    before = follower.records.revision()
    answered = answer(act, store)
    after = follower.records.revision()
    waited = [follower.records.wait_any(revision, 0) for revision in (before, after)]
    return answered, after > before, waited, [told(follower, revision) for revision in (before, after)]


def told(store: Store, since: int) -> list[tuple[str, str | None, bool]]:
    """Return which sessions have changed after a revision, as a follower is told."""
    return [(change.session, change.head, change.exists) for change in store.records.changed(since)]


def contents(store: Store, *names: str) -> tuple[list[SessionInfo], list[SessionInfo | None], object]:
    """Return all that a store tells about its sessions, and about those of these names."""
    found = [(store.session_head(name), list(store.history(name)), list(store.events(name))) for name in names]
    infos = [store.session_info(name) for name in names]
    return store.sessions(), infos, (found, [store.leaves(name) for name in names])


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
