"""Histories put into a store of a person's project, as if an agent had worked there: a change a minute."""

import os

from tests.cli.person import Person
from tests.history.histories import history
from tests.trusted import write_trusted
from tildone.base import replace
from tildone.plan.events import Actor, Event, Labelled, SessionHead
from tildone.plan.model import Plan
from tildone.stores.sqlite.store import SqliteStore


def kept(person: Person, *plans: Plan, tool: str | None = None, session: str | None = None) -> list[Event]:
    """Let a session's plan have become one after the other, in events with ids as long as ours."""
    events = [
        replace(event, id=named(event.id), parent=event.parent and named(event.parent))
        for event in history(*plans, tool=tool)
    ]
    write_trusted(person.folder / "tildone.toml", 'store = "plans.db"\n', person.environment({}))
    store = SqliteStore(person.folder / "plans.db")
    store.import_events(session or os.path.realpath(person.folder), events, SessionHead(events[-1].id))
    store.close()
    return events


def labelled(person: Person, event: Event, label: str) -> None:
    """Let the session's newest event have got a name, and the head go back to before it."""
    store = SqliteStore(person.folder / "plans.db")
    session = os.path.realpath(person.folder)
    store.append(session, Event(named("z"), event.id, event.at, Actor.USER, Labelled(event.id, label)))
    store.move_head(session, SessionHead(event.parent, (named("z"),)), expected=named("z"))
    store.close()


def named(letter: str) -> str:
    return letter * 20
