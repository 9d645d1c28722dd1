"""Stores for the tests of pages, and what other programs do with them meanwhile."""

from __future__ import annotations

import itertools
import os
from contextlib import closing
from pathlib import Path

from tests.web.sample_data import Story, fill_store, grammar_parser
from tildone.app.opening import store_at
from tildone.log.needs import Need
from tildone.log.store import Store
from tildone.plan.events import State, latest_state
from tildone.plan.model import Status, Task

PARSER = "/home/mk/src/grammar-parser"


def sample_store(folder: Path) -> Path:
    """A store with the sessions of the pictures."""
    path = folder / "plans.db"
    store = store_at(str(path))
    fill_store(store)
    store.close()
    return path


def small_store(folder: Path, *texts: str, name: str = "/home/mk/src/small") -> Path:
    """A store with one session: a flat list of open tasks."""
    path = folder / "plans.db"
    store = store_at(str(path))
    if texts:
        Story(store, name).at(5).write(_=list(texts))
    store.close()
    return path


def place_tasks(path: Path, *texts: str) -> Placed:
    """A session of its own in a store that others use: a flat list of open tasks."""
    name = f"/home/mk/src/small-{next(COUNTER)}-{os.getpid()}"
    small_store(path.parent, *texts, name=name)
    return Placed(path, name)


def place_parser(path: Path) -> Placed:
    """The session of the pictures, under a name of its own."""
    placed = Placed(path, f"/home/mk/src/grammar-parser-{next(COUNTER)}-{os.getpid()}")
    store = store_at(str(path))
    grammar_parser(store, placed.name)
    store.close()
    return placed


COUNTER = itertools.count(1)


def answer_to(store: Store, asked: Need) -> str:
    """The answer to a question; empty while it is open."""
    found = store.records.need(asked.id)
    assert found is not None
    return found.answer


def state_of(store: Store, name: str) -> State:
    head = store.session_head(name).head
    assert head is not None
    return latest_state(store.history(name, head))


class Placed:
    """A session in a store, as another program reads it."""

    def __init__(self, path: Path, name: str = "/home/mk/src/small") -> None:
        self.path, self.name = path, name
        self.title = name.rpartition("/")[2]

    def state(self) -> State:
        with closing(store_at(str(self.path))) as store:
            return state_of(store, self.name)

    def tasks(self) -> tuple[Task, ...]:
        return self.state().plan.tasks

    def texts(self) -> list[str]:
        return [task.text for task in self.tasks()]

    def statuses(self) -> list[Status]:
        return [task.status for task in self.tasks()]

    def agent(self) -> Agent:
        """Another program that goes on with it."""
        return Agent(self.path, self.name)


class Agent(Story):
    """Another program that goes on with a session that is there already."""

    def __init__(self, path: Path, name: str = "/home/mk/src/small") -> None:
        super().__init__(store_at(str(path)), name)
        state = state_of(self.store, self.name)
        self.head, self.plan, self.directive = state.head, state.plan, state.directive
        self.now()

    def now(self) -> Agent:
        self.at(0)
        return self
