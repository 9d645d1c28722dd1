"""The plan used by benchmarks: ten tasks, of which one is alternately started and completed."""

import os
from itertools import cycle

from tildone.base.ids import id_maker, now
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects.indexed import DIALECT as INDEXED
from tildone.plan.model import Plan, Task, assign_numbers, flat

PLAN: Plan = assign_numbers(Plan(), flat(*(Task(f"Task number {number} of a plan of ten") for number in range(10))))


def session_on(store: Store, name: str) -> Session:
    """A session with the clock and id generator that commands use."""
    return Session(store, name, INDEXED, now=now, new_id=id_maker(now, os.urandom))


def filled_session(store: Store, name: str) -> Session:
    """A session with the plan written."""
    session = session_on(store, name)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": task.text} for task in PLAN.tasks]})
    return session


class Toggle:
    """A tool call that changes the plan every time it is made."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._actions = cycle(("start", "complete"))

    def __call__(self) -> None:
        reply = self._session.call("edit_todos", {"action": next(self._actions), "indices": [3]})
        assert "error" not in reply.details
