"""The SQLite store gives the same results as the memory store, whatever the sequence of operations."""

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.plans import plans
from tildone.errors import TildoneError
from tildone.log.events import Actor, Event, Fact, Labelled, Nudged, PlanChanged
from tildone.log.store import Store
from tildone.log.tree import SessionHead
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.store import SqliteStore

NAMES = ("one", "two", "half \ud800")
NOWHERE = "nowhere \udc00"

names = st.sampled_from(NAMES)
facts = st.one_of(st.builds(PlanChanged, plans), st.builds(Nudged, st.just(1), st.just(2)), st.just(Labelled("0", "x")))
luck = st.integers(0, 10**6)


class SameAnswers(RuleBasedStateMachine):
    """Runs the same operations on two stores; after each, everything that can be read from them is equal."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = MemoryStore()
        self.sqlite = SqliteStore(Path(self.folder.name, "plans.db"))
        self.numbers = count()

    def teardown(self) -> None:
        self.sqlite.close()
        self.folder.cleanup()

    @rule(name=names, fact=facts)
    def append(self, name: str, fact: Fact) -> None:
        self.both_append(name, self.memory.session_head(name).head, fact)

    @rule(name=names, fact=facts, luck=luck)
    def append_elsewhere(self, name: str, fact: Fact, luck: int) -> None:
        """Append below an event that need not be the head."""
        self.both_append(name, self.some_event(name, luck), fact)

    @rule(name=names, other=names, luck=luck)
    def append_again(self, name: str, other: str, luck: int) -> None:
        """Append below the head, with an id that may be taken."""
        used = self.some_event(other, luck)
        event = Event(used or NOWHERE, self.memory.session_head(name).head, luck, Actor.USER, Nudged(1, 1))
        self.both(lambda store: store.append(name, event))

    @rule(name=names, other=names, luck=luck, overtaken=st.booleans())
    def move(self, name: str, other: str, luck: int, *, overtaken: bool) -> None:
        """Move to an event that need not exist, with an expected head that need not be right."""
        place = self.memory.session_head(name)
        ahead = (place.head, *place.redo) if place.head is not None else ()
        to = SessionHead(self.some_event(other, luck), ahead)
        expected = NOWHERE if overtaken else place.head
        self.both(lambda store: store.move_head(name, to, expected=expected))

    @rule(name=names, other=names, luck=luck)
    def read_from(self, name: str, other: str, luck: int) -> None:
        head = self.some_event(other, luck)
        self.both(lambda store: list(store.history(name, head)))

    @rule()
    def open_again(self) -> None:
        self.sqlite.close()
        self.sqlite = SqliteStore(Path(self.folder.name, "plans.db"))

    @invariant()
    def the_same_is_read(self) -> None:
        self.both(self.everything)

    def both_append(self, name: str, parent: str | None, fact: Fact) -> None:
        number = next(self.numbers)
        event = Event(f"{number} \ud800" if number % 3 else str(number), parent, number, Actor.AGENT, fact)
        self.both(lambda store: store.append(name, event))

    def both(self, order: Callable[[Store], object]) -> None:
        assert answer(order, self.sqlite) == answer(order, self.memory)

    def everything(self, store: Store) -> object:
        """Return all that a store tells about its sessions."""
        return store.sessions(), contents(store)

    def some_event(self, name: str, luck: int) -> str | None:
        """Return an event of the session, None, or an unknown id."""
        choices = [None, NOWHERE, *(event.id for event in self.memory.events(name))]
        return choices[luck % len(choices)]


def contents(store: Store) -> object:
    return [
        (store.session_head(name), list(store.history(name)), list(store.events(name)), store.leaves(name))
        for name in NAMES
    ]


def answer(order: Callable[[Store], object], store: Store) -> object:
    try:
        return order(store)
    except TildoneError as error:
        return type(error), str(error)


TestSameAnswers = SameAnswers.TestCase
TestSameAnswers.settings = settings(max_examples=60, stateful_step_count=25, derandomize=True)
