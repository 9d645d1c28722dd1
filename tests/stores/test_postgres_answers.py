"""The PostgreSQL store gives the same results as the memory store, whatever the sequence of operations."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.stores.postgres import EMPTIED, execute, needs_server
from tests.stores.test_same_answers import answer, facts, luck
from tildone.log.events import Actor, Event, Fact, Nudged
from tildone.log.store import Store
from tildone.log.tree import SessionHead
from tildone.stores.memory import MemoryStore

pytest.importorskip("psycopg", reason="the driver is not installed: pip install 'tildone[postgres]'")

from tildone.stores.postgres.store import PostgresStore

LONG = "long \ud800 " * 400
NAMES = ("one", LONG, "half \ud800")
NOWHERE = "nowhere \0"

names = st.sampled_from(NAMES)


class SameAnswers(RuleBasedStateMachine):
    """Runs the same operations on two stores; after each, everything that can be read from them is equal."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        execute(self.url, *EMPTIED)
        self.memory = MemoryStore()
        self.postgres = PostgresStore(self.url)
        self.numbers = count()

    def teardown(self) -> None:
        self.postgres.close()

    @rule(name=names, fact=facts, elsewhere=st.none() | luck)
    def append(self, name: str, fact: Fact, elsewhere: int | None) -> None:
        """Append below the head, or below an event that need not be the head."""
        parent = self.memory.session_head(name).head if elsewhere is None else self.some_event(name, elsewhere)
        event = self.new_event(parent, fact)
        self.both(lambda store: store.append(name, event))

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
        self.both(lambda store: store.move_head(name, to, expected=NOWHERE if overtaken else place.head))

    @rule(name=names, other=names, many=st.lists(st.tuples(facts, luck), max_size=4), luck=luck)
    def adopt(self, name: str, other: str, many: list[tuple[Fact, int]], luck: int) -> None:
        """Import new events among those of a session, with parents and a head that need not exist."""
        events = list(self.memory.events(other))
        for fact, chance in many:
            parents = [None, NOWHERE, *(event.id for event in events)]
            events.append(self.new_event(parents[chance % len(parents) if chance % 7 else 0], fact))
        choices = [None, NOWHERE, *(event.id for event in events)]
        to = SessionHead(choices[luck % len(choices)])
        self.both(lambda store: store.import_events(name, events, to))

    @rule(name=names, overtaken=st.booleans())
    def forget(self, name: str, *, overtaken: bool) -> None:
        head = self.memory.session_head(name).head
        self.both(lambda store: store.delete(name, expected=NOWHERE if overtaken else head))

    @rule(name=names, other=names, luck=luck)
    def read_from(self, name: str, other: str, luck: int) -> None:
        head = self.some_event(other, luck)
        self.both(lambda store: list(store.history(name, head)))

    @invariant()
    def the_same_is_read(self) -> None:
        self.both(everything)

    def both(self, order: Callable[[Store], object]) -> None:
        assert answer(order, self.postgres) == answer(order, self.memory)

    def new_event(self, parent: str | None, fact: Fact) -> Event:
        number = next(self.numbers)
        prefix = ("", "\ud800", LONG)[number % 3]
        return Event(f"{prefix}{number}", parent, number, Actor.AGENT, fact)

    def some_event(self, name: str, luck: int) -> str | None:
        """Return an event of the session, None, or an unknown id."""
        choices = [None, NOWHERE, *(event.id for event in self.memory.events(name))]
        return choices[luck % len(choices)]


def everything(store: Store) -> object:
    return store.sessions(), [
        (store.session_head(name), list(store.history(name)), list(store.events(name)), store.leaves(name))
        for name in NAMES
    ]


@needs_server
def test_the_same_operations_give_the_same_results(url: str) -> None:
    """After any sequence of changes, imports, deletions and refused operations."""
    machine = type("SameAnswersHere", (SameAnswers,), {"url": url})

    run_state_machine_as_test(machine, settings=settings(max_examples=15, stateful_step_count=25, derandomize=True))
