"""Every kind of store is found by its name, satisfies the contract, and answers as the memory store does."""

import json
import os
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.plans import plans
from tests.stores.claims_contract import ClaimsContract
from tests.stores.contract import StoreContract
from tests.stores.feed_contract import FeedContract
from tests.stores.postgres import EMPTIED, execute, needs_server
from tests.stores.records_contract import RecordsContract
from tildone.base import TildoneError, UsageError, replace
from tildone.log.kept import Severity
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import Actor, Event, Fact, Labelled, Nudged, PlanChanged, SessionHead
from tildone.stores import (
    STORES,
    AddressForm,
    OpenOptions,
    StoreKind,
    open_store,
    parse_address,
    placeholders,
    store_kind,
    store_name,
)
from tildone.stores.memory import MemoryStore
from tildone.stores.pi.store import JsonlStore
from tildone.stores.postgres.store import PostgresStore
from tildone.stores.sqlite.store import SqliteStore


class TestEveryStore(StoreContract):
    """Runs once for each kind of store."""


class TestTheFeedOfEveryStore(FeedContract):
    """Runs once for each kind of store."""


class TestTheRecordsOfEveryStore(RecordsContract):
    """Runs once for each kind of store."""


class TestTheClaimsOfEveryStore(ClaimsContract):
    """Runs once for each kind of store."""


LONG = "long \ud800 " * 400
NAMES = ("one", LONG, "half \ud800")
NOWHERE = "nowhere \udc00 \0"

names = st.sampled_from(NAMES)
facts = st.one_of(st.builds(PlanChanged, plans), st.builds(Nudged, st.just(1), st.just(2)), st.just(Labelled("0", "x")))
luck = st.integers(0, 10**6)


class SameAnswers(RuleBasedStateMachine):
    """Runs the same operations on two stores; after each, everything that can be read from them is equal."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = MemoryStore()
        self.store = self.opened()
        self.numbers = count()

    def opened(self) -> Store:
        return SqliteStore(Path(self.folder.name, "plans.db"))

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

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
        expected = NOWHERE if overtaken else place.head
        self.both(lambda store: store.move_head(name, to, expected=expected))

    @rule(name=names, other=names, many=st.lists(st.tuples(facts, luck), max_size=4), luck=luck)
    def adopt(self, name: str, other: str, many: list[tuple[Fact, int]], luck: int) -> None:
        """Import events of a session and new ones among them, with parents and a head that need not exist."""
        events = list(self.memory.events(other))
        for fact, chance in many:
            parents = [None, NOWHERE, *(event.id for event in events)]
            events.append(self.new_event(parents[chance % len(parents) if chance % 7 else 0], fact))
        heads = [None, NOWHERE, *(event.id for event in (*events, *self.memory.events(name)))]
        to = SessionHead(heads[luck % len(heads)], ("x",) * (luck % 3))
        self.both(lambda store: store.import_events(name, events, to))

    @rule(name=names, overtaken=st.booleans())
    def forget(self, name: str, *, overtaken: bool) -> None:
        expected = NOWHERE if overtaken else self.memory.session_head(name).head
        self.both(lambda store: store.delete(name, expected=expected))

    @rule(name=names, other=names, luck=luck)
    def read_from(self, name: str, other: str, luck: int) -> None:
        head = self.some_event(other, luck)
        self.both(lambda store: list(store.history(name, head)))

    @rule()
    def open_again(self) -> None:
        self.store.close()
        self.store = self.opened()

    @invariant()
    def the_same_is_read(self) -> None:
        self.both(self.everything)

    def both(self, order: Callable[[Store], object]) -> None:
        assert answer(order, self.store) == answer(order, self.memory)

    def everything(self, store: Store) -> object:
        """Return all that a store tells about its sessions."""
        return store.sessions(), contents(store)

    def new_event(self, parent: str | None, fact: Fact) -> Event:
        number = next(self.numbers)
        prefix = ("", "\ud800", LONG)[number % 3]
        return Event(f"{prefix}{number}", parent, number, Actor.AGENT, fact)

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


def check(machine: type[SameAnswers]) -> None:
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=25, derandomize=True))


def test_sqlite() -> None:
    check(SameAnswers)


class JsonlAnswers(SameAnswers):
    """Runs the same operations on both stores while pi appends messages, which must change no answer."""

    def opened(self) -> Store:
        return JsonlStore(Path(self.folder.name, "sessions"), plan_in_entry)

    def everything(self, store: Store) -> object:
        """The titles of sessions are omitted: they come from pi's messages, which memory does not have."""
        return [replace(session, title="") for session in store.sessions()], contents(store)

    @rule(name=names)
    def pi_talks(self, name: str) -> None:
        """Append a message after the last entry, as pi does."""
        for path in Path(self.folder.name, "sessions").glob("*.jsonl"):
            header, *entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            if header["id"] == name:
                number = f"{next(self.numbers):08x}"
                said = {"type": "message", "id": number, "parentId": entries[-1]["id"], "timestamp": "never"}
                written = path.stat().st_mtime_ns
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(said | {"message": {"role": "user", "content": "go on"}}) + "\n")
                # Memory knows nothing of it, so the order of sessions is to stay.
                os.utime(path, ns=(written, written))

    def teardown(self) -> None:
        odd = [finding for finding in self.store.check() if finding.severity is not Severity.OK]
        super().teardown()
        assert odd == []


def test_jsonl() -> None:
    check(JsonlAnswers)


@needs_server
def test_postgresql(url: str) -> None:
    class PostgresAnswers(SameAnswers):
        def __init__(self) -> None:
            execute(url, *EMPTIED)
            super().__init__()

        def opened(self) -> Store:
            return PostgresStore(url)

    check(PostgresAnswers)


@pytest.mark.parametrize("name", list(STORES))
def test_every_line_names_a_module_with_a_store(name: str) -> None:
    form = STORES.entries[name]

    assert isinstance(STORES[name], StoreKind)
    assert form.schemes
    assert form.placeholder
    assert form.summary


def test_no_two_stores_have_the_same_scheme() -> None:
    schemes = [scheme for form in STORES.entries.values() for scheme in form.schemes]

    assert len(set(schemes)) == len(schemes)


@pytest.mark.parametrize(
    ("address", "name"),
    [("plans.db", "sqlite"), ("jsonl:x", "pi"), ("postgresql://h/d", "postgres"), ("postgres://h/d", "postgres")],
)
def test_an_address_names_its_store(address: str, name: str) -> None:
    assert store_name(parse_address(address)) == name


@pytest.mark.parametrize(("address", "shown"), [("mysql://h/d", "mysql://"), ("notes:2024.db", "notes:")])
def test_an_unknown_scheme_is_refused_with_the_supported_forms(address: str, shown: str) -> None:
    with pytest.raises(UsageError, match=f"there are no {shown} stores; a store is {placeholders()}"):
        store_kind(parse_address(address))


def test_a_missing_module_that_is_not_a_driver_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for a store with an extra is it a usage error."""

    def broken(*_: object) -> Store:
        raise ImportError("typo")

    entries = {**STORES.entries, "toy": AddressForm(("toy",), "toy:X", "for tests")}
    monkeypatch.setattr(STORES, "entries", entries)
    monkeypatch.setattr(type(STORES), "__getitem__", lambda *_: StoreKind(broken))

    with pytest.raises(ImportError, match="typo"):
        open_store(parse_address("toy:x"), OpenOptions())


def test_the_files_of_a_store_include_those_of_its_engine() -> None:
    """Doctor checks their permissions."""
    sqlite, pi, postgres = map(parse_address, ("/p.db", "jsonl:/s", "postgresql://h/d"))

    assert store_kind(sqlite).files(sqlite) == ("/p.db", "/p.db-wal", "/p.db-shm", "/p.db-journal")
    assert store_kind(pi).files(pi) == ("/s",)
    assert store_kind(postgres).files(postgres) == ()
