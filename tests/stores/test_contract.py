"""The contract of every kind of store, which is found by its name and answers as the memory store does."""

import json
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.plans import plans, session_on
from tests.stores.contract import (
    LONG_ENOUGH,
    NEVER,
    WILD,
    Act,
    Opener,
    answer,
    chain,
    contents,
    effect,
    ids,
    is_refused,
    planned,
    run_machine,
    told,
)
from tests.stores.jsonl_files import oddities
from tests.stores.postgres import EMPTIED, execute, needs_server
from tildone.base import UnknownEvent, UsageError, replace
from tildone.log.kept import MAX_READERS
from tildone.log.store import Store
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import (
    Actor,
    Author,
    Bound,
    Call,
    Event,
    Fact,
    Labelled,
    Nudged,
    PlanChanged,
    SessionHead,
    Tripped,
)
from tildone.plan.model import Task, flat
from tildone.plan.ops import Append
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


def test_events_of_every_kind_and_author_are_kept_as_they_are(store: Store) -> None:
    plan = flat(Task("theirs", number=1, from_user=True), Task("own", number=2))
    facts: list[Fact] = [
        PlanChanged(plan, Call("edit_todos", '{"action": "start"}'), 3),
        Nudged(4, 5),
        Tripped(Bound.DRIFT, 60),
        Labelled("0", "before the move"),
    ]
    written = {
        name: [
            Event(str(i), str(i - 1) if i else None, i, actor, fact, Author(name, f"claude:{name}", name))
            for i, (actor, fact) in enumerate(zip(Actor, facts, strict=True))
        ]
        for name in ("Ada", *WILD)
    }

    for name, (first, *events) in written.items():
        store.append(name, first)
        store.import_events(name, [first, *events], SessionHead("3"))

    assert {name: list(store.events(name)) for name in written} == written


def test_a_history_is_read_lazily_and_events_do_not_include_later_ones(store: Store) -> None:
    chain(store, "s", "a", "b", "c")
    history, events = store.history("s"), store.events("s")
    newest, first = next(history), next(events)

    chain(store, "s", "d")

    assert (newest.id, ids(history)) == ("c", ["b", "a"])
    assert (first.id, ids(events)) == ("a", ["b", "c"])


IMPORTED = [
    planned("a", None, "one"),
    planned("b", "a", "two", at=7),
    planned("c", "a", "three", at=3),
    planned("z", None, "another root"),
    planned("d", "b", "four"),
]


def imports(*events: Event, head: str, redo: tuple[str, ...] = (), session: str = "copy") -> Act:
    return lambda store: store.import_events(session, events, SessionHead(head, redo))


STEPS: dict[str, Act] = {
    "the first event has no parent": lambda store: store.append("s", planned("a", "b", "x")),
    "an event becomes the head": lambda store: chain(store, "s", "a", "b", "c"),
    "its parent is the head, not an earlier event": lambda store: store.append("s", planned("d", "a", "x"), "claude"),
    "nor none": lambda store: store.append("s", planned("d", None, "x")),
    "nor one that was never written": lambda store: store.append("s", planned("d", "never", "x")),
    "an id is unique in a session": lambda store: store.append("s", planned("a", "c", "again")),
    "another session may have it": lambda store: chain(store, "other", "a", "x"),
    "a move from an outdated head": lambda store: store.move_head("s", SessionHead("a"), expected="a"),
    "from before the first event": lambda store: store.move_head("s", SessionHead("a"), expected=None),
    "to an event of another session": lambda store: store.move_head("s", SessionHead("x"), expected="c"),
    "in no session": lambda store: store.move_head("never", SessionHead(None, ("a",)), expected=None),
    "to an unknown event there": lambda store: store.move_head("never", SessionHead("a"), expected=None),
    "undo": lambda store: store.move_head("s", SessionHead("a", ("b", "c")), expected="c"),
    "a move to the head": lambda store: store.move_head("s", SessionHead("a", ("b", "c")), expected="a"),
    "another redo list": lambda store: store.move_head("s", SessionHead("a", ("b",)), expected="a"),
    "an event clears the redo list and is a branch": lambda store: chain(store, "s", "z"),
    "a move within it": lambda store: store.move_head("s", SessionHead("a"), expected="z"),
    "a leaf that is written later is told later": lambda store: chain(store, "s", "0"),
    "the head before the first event": lambda store: store.move_head("s", SessionHead(None, ("a",)), expected="0"),
    "an event there is another root": lambda store: chain(store, "s", "root"),
    "an unknown event has no history": lambda store: store.history("s", "x"),
    "a reader has seen what it appends": lambda store: store.append("s", planned("e", "root", "x"), "claude"),
    "and another reader": lambda store: store.append("s", planned("f", "e", "x"), "codex"),
    "a reader has seen more": lambda store: store.records.set_seen("s", "claude", "f"),
    "or nothing": lambda store: store.records.set_seen("s", "claude", None),
    "which is said again": lambda store: store.records.set_seen("s", "claude", None),
    "nobody has seen a session that does not exist": lambda store: store.records.set_seen("never", "claude", "a"),
    "an import": imports(*IMPORTED, head="b", redo=("d",)),
    "events that are known": imports(*IMPORTED, head="b", redo=("d",)),
    "a head alone": imports(head="a", redo=("b",)),
    "one new event": imports(planned("e", "a", "x"), head="e"),
    "a new branch beside the head": imports(planned("f", "a", "x"), head="e"),
    "what readers have seen is not imported": lambda store: imports(*store.events("s"), head="f", session="s")(store),
    "an unknown parent": imports(planned("g", "f", "x"), planned("h", "never", "x"), head="g"),
    "an unknown head": imports(planned("g", "f", "x"), head="never"),
    "another event of that id": imports(planned("g", "f", "x"), planned("a", None, "another text"), head="g"),
    "an empty import": lambda store: store.import_events("never", [], SessionHead()),
    "the last written comes first at any time": lambda store: store.append("other", planned("y", "x", "x", at=-5)),
    "a check": lambda store: [*store.check()][:0],
    "compaction": lambda store: [store.compact()][:0],
    "a session whose head has moved is not deleted": lambda store: store.delete("s", expected="a"),
    "nor one that does not exist": lambda store: store.delete("never", expected=None),
    "a deletion": lambda store: store.delete("s", expected="f"),
    "a deleted session begins again, unseen": lambda store: chain(store, "s", "a"),
    "and is deleted again": lambda store: store.delete("s", expected="a"),
}
"""Operations on the log of a store, each on what those above have left."""


def test_a_store_answers_as_the_store_in_memory_does(open_store: Opener) -> None:
    """Also another object that has it open, which is told of each change."""
    store, follower, memory = open_store(), open_store(), MemoryStore()
    begin, begun = follower.records.revision(), memory.records.revision()

    def everything(store: Store) -> object:
        found = [
            [store.records.seen(name, reader) for reader in ("claude", "codex", "")]
            for name in ("s", "other", "copy", "never")
        ]
        return contents(store, "s", "other", "copy", "never"), found, list(store.history("other", "a"))

    for name, act in STEPS.items():
        assert effect(act, store, follower) == effect(act, memory, memory), name
        assert answer(everything, follower) == answer(everything, memory), name
        for since, known in ((begin, begun), (NEVER, NEVER)):
            assert told(follower, since) == told(memory, known), name
    assert oddities(store) == []


def test_readers_and_heads_may_have_any_text(store: Store) -> None:
    readers = [*WILD[1:], "long " * 1000]
    for number, reader in enumerate(readers):
        store.append(reader, planned(f"{number} {reader}", None, "one"), reader)

    assert [store.records.seen(each, each) for each in readers] == [f"{n} {each}" for n, each in enumerate(readers)]
    for wanted in WILD:
        assert is_refused(UnknownEvent, partial(store.history, readers[0], wanted)), wanted
        assert is_refused(UnknownEvent, partial(store.history, "never written", wanted)), wanted
        move = partial(store.move_head, to=SessionHead(wanted))
        assert is_refused(UnknownEvent, partial(move, readers[0], expected=f"0 {readers[0]}")), wanted


def test_a_session_keeps_the_newest_seen_heads_only(store: Store) -> None:
    """Agents come and go; one that is active is not displaced."""
    store.append("s", planned("0", None, "one"), "active")
    for number in range(1, MAX_READERS + 1):
        store.append("s", planned(str(number), str(number - 1), "one"), f"agent {number}")
        if number == MAX_READERS // 2:
            store.records.set_seen("s", "active", str(number))

    assert store.records.seen("s", "active") == str(MAX_READERS // 2)
    assert store.records.seen("s", f"agent {MAX_READERS}") == str(MAX_READERS)
    assert [number for number in range(1, MAX_READERS + 1) if store.records.seen("s", f"agent {number}") is None] == [1]


def test_names_ids_and_texts_may_be_any_text(open_store: Opener) -> None:
    """Including lone surrogates, NUL and the empty string: different texts stay different."""
    store = open_store()
    first, *others = WILD
    written = {session: chain(store, session, *WILD) for session in WILD}
    for session in WILD:
        store.move_head(session, SessionHead(first, tuple(others)), expected=others[-1])

    again = open_store()

    assert {session: list(again.events(session)) for session in WILD} == written
    assert {session: again.leaves(session) for session in WILD} == dict.fromkeys(WILD, others[-1:])
    assert [again.session_head(session) for session in WILD] == [SessionHead(first, tuple(others))] * len(WILD)
    assert [next(again.history(each, each)) for each in WILD] == [written[each][n] for n, each in enumerate(WILD)]
    assert {info.name: info.events for info in again.sessions()} == dict.fromkeys(WILD, len(WILD))


def test_a_plan_may_be_large(open_store: Opener) -> None:
    tasks = (Task(f"task {i} \ud800", notes=("why " * 100, "ünï")) for i in range(5000))
    event = Event("a", None, 1, Actor.IMPORT, PlanChanged(flat(*tasks)))

    open_store().append("s", event)

    assert next(open_store().history("s")) == event


def test_concurrent_writers_lose_no_change(open_store: Opener) -> None:
    stores = [open_store(), open_store()]

    def write(worker: int) -> None:
        session = session_on(stores[worker % 2], prefix=f"{worker}-")
        for number in range(25):
            assert session.change([Append((Task(f"{worker}-{number}"),))]).changed

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))

    wanted = {f"{worker}-{number}" for worker in range(4) for number in range(25)}
    assert {task.text for task in session_on(stores[0]).plan.tasks} == wanted
    assert len(list(stores[1].history("s"))) == len(wanted)


def test_waiting_ends_after_the_timeout_and_at_once_after_an_earlier_change(store: Store) -> None:
    chain(store, "s", "a")
    chain(store, "other", "b")

    assert store.wait("s", None, 0)
    assert store.wait("s", "elsewhere", 0)
    assert not store.wait("s", "a", 0)
    assert not store.wait("s", "a", 0.02)
    assert not store.wait("never written", None, 0)


def test_every_waiter_wakes_at_every_change(open_store: Opener) -> None:
    stores = [open_store(), open_store()]
    heads = ["a", "b", "a", "b"] * 4
    chain(stores[0], "s", "a", "b")
    in_step = Barrier(7, timeout=LONG_ENOUGH)

    def follow(store: Store) -> list[bool]:
        woken = []
        for head in heads:
            in_step.wait()
            woken.append(store.wait("s", "b" if head == "a" else "a", LONG_ENOUGH))
        return woken

    with ThreadPoolExecutor(6) as pool:
        following = [pool.submit(follow, store) for store in stores for _ in range(3)]
        for head in heads:
            in_step.wait()
            stores[0].move_head("s", SessionHead(head), expected="b" if head == "a" else "a")

    assert [follower.result() for follower in following] == [[True] * len(heads)] * 6


def test_a_follower_reaches_the_last_head_and_never_goes_back(open_store: Opener) -> None:
    """It may skip heads, but sees none twice and never misses the last."""
    writer, follower = open_store(), open_store()

    def follow() -> list[str]:
        seen: list[str] = []
        while seen[-1:] != ["29"]:
            assert follower.wait("s", seen[-1] if seen else None, LONG_ENOUGH)
            seen.append(follower.session_head("s").head or "")
        return seen

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        chain(writer, "s", *map(str, range(30)))
        seen = following.result()

    assert [int(head) for head in seen] == sorted({int(head) for head in seen})


LONG = "long \ud800 " * 400
NAMES = ("one", LONG, "half \ud800")
NOWHERE = "nowhere \udc00 \0"

names = st.sampled_from(NAMES)
facts = st.one_of(st.builds(PlanChanged, plans), st.builds(Nudged, st.just(1), st.just(2)), st.just(Labelled("0", "x")))
luck = st.integers(0, 10**6)


class SameAnswers(RuleBasedStateMachine):
    """Runs the same operations on two stores; after each, everything that can be read from them is equal."""

    def __init__(self, opened: Callable[[str], Store]) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.memory = MemoryStore()
        self.opened = partial(opened, self.folder.name)
        self.store = self.opened()
        self.numbers = count()

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
        assert answer(self.everything, self.store) == answer(self.everything, self.memory)

    def both(self, act: Act) -> None:
        assert effect(act, self.store, self.store) == effect(act, self.memory, self.memory)

    def everything(self, store: Store) -> object:
        """Return all that a store tells about its sessions."""
        return contents(store, *NAMES)

    def new_event(self, parent: str | None, fact: Fact) -> Event:
        number = next(self.numbers)
        prefix = ("", "\ud800", LONG)[number % 3]
        return Event(f"{prefix}{number}", parent, number, Actor.AGENT, fact)

    def some_event(self, name: str, luck: int) -> str | None:
        """Return an event of the session, None, or an unknown id."""
        choices = [None, NOWHERE, *(event.id for event in self.memory.events(name))]
        return choices[luck % len(choices)]


def check(machine: Callable[[], SameAnswers]) -> None:
    run_machine(machine, settings(stateful_step_count=25, derandomize=True))


def test_sqlite() -> None:
    check(lambda: SameAnswers(lambda folder: SqliteStore(Path(folder, "plans.db"))))


@needs_server
def test_postgresql(url: str) -> None:
    def emptied() -> SameAnswers:
        execute(url, *EMPTIED)
        return SameAnswers(lambda _folder: PostgresStore(url))

    check(emptied)


class JsonlAnswers(SameAnswers):
    """Runs the same operations on both stores while pi appends messages, which must change no answer."""

    def everything(self, store: Store) -> object:
        """The titles of sessions are omitted: they come from pi's messages, which memory does not have."""
        found = contents(store, *NAMES)
        return [[info and replace(info, title="") for info in infos] for infos in found[:2]], found[2]

    @rule(name=names)
    def pi_talks(self, name: str) -> None:
        """Append a message after the last entry, as pi does."""
        for path in Path(self.folder.name).glob("*.jsonl"):
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
        odd = oddities(self.store)
        super().teardown()
        assert odd == []


def test_jsonl() -> None:
    check(lambda: JsonlAnswers(lambda folder: JsonlStore(folder, plan_in_entry)))


def test_every_line_names_a_module_with_a_store_and_schemes_of_its_own() -> None:
    forms = STORES.entries
    schemes = [scheme for form in forms.values() for scheme in form.schemes]

    assert all(isinstance(STORES[name], StoreKind) for name in forms)
    assert all(form.schemes and form.placeholder and form.summary for form in forms.values())
    assert len(set(schemes)) == len(schemes)


def test_an_address_names_its_store_and_an_unknown_scheme_is_refused_with_the_supported_forms() -> None:
    known = {"plans.db": "sqlite", "jsonl:x": "pi", "postgresql://h/d": "postgres", "postgres://h/d": "postgres"}

    assert {address: store_name(parse_address(address)) for address in known} == known
    for address, shown in (("mysql://h/d", "mysql://"), ("notes:2024.db", "notes:")):
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
