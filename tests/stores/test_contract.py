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
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.plans import plan_of, plans, session_on
from tests.stores.contract import LONG_ENOUGH, WILD, Opener, chain, ids, is_refused, planned
from tests.stores.postgres import EMPTIED, execute, needs_server
from tildone.base import HeadMoved, StoreError, TildoneError, UnknownEvent, UsageError, replace
from tildone.log.kept import MAX_READERS, Severity
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
    SessionInfo,
    Tripped,
    labels,
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


def test_a_session_that_was_never_written_is_empty(store: Store) -> None:
    assert store.session_head("s") == SessionHead()
    assert list(store.history("s")) == []
    assert list(store.events("s")) == []
    assert store.leaves("s") == []
    assert store.sessions() == []


def test_an_event_becomes_the_head(store: Store) -> None:
    first = planned("a", None, "one")
    second = planned("b", "a", "one", "two")

    store.append("s", first)
    store.append("s", second)

    assert store.session_head("s") == SessionHead("b")
    assert list(store.history("s")) == [second, first]
    assert list(store.events("s")) == [first, second]


def test_authors_and_origins_are_kept(store: Store) -> None:
    plan = flat(Task("theirs", number=1, from_user=True), Task("own", number=2))
    written = {}
    for name in ("Ada", *WILD):
        first = Event("a", None, 1, Actor.USER, PlanChanged(plan), Author(name))
        second = Event("b", "a", 1, Actor.TIMER, Nudged(1, 1), Author(name, f"claude:{name}", name))
        store.append(name, first)
        store.import_events(name, [first, second], SessionHead("b"))
        written[name] = [second, first]

    assert {name: list(store.history(name)) for name in written} == written


@pytest.mark.parametrize("parent", [None, "a", "never written"])
def test_an_append_to_an_outdated_head_changes_nothing(store: Store, parent: str | None) -> None:
    written = chain(store, "s", "a", "b")

    with pytest.raises(HeadMoved):
        store.append("s", planned("c", parent, "late"))

    assert store.session_head("s") == SessionHead("b")
    assert list(store.events("s")) == written
    assert store.sessions() == [SessionInfo("s", 2, 1, 1)]


def test_the_first_event_has_no_parent(store: Store) -> None:
    with pytest.raises(HeadMoved):
        store.append("s", planned("b", "a", "one"))

    assert store.sessions() == []


def test_an_id_is_unique_in_a_session(store: Store) -> None:
    written = chain(store, "s", "a", "b")

    with pytest.raises(StoreError, match="already"):
        store.append("s", planned("a", "b", "again"))
    chain(store, "other", "a")

    assert list(store.events("s")) == written
    assert store.session_head("s") == SessionHead("b")


def test_every_kind_of_fact_is_stored(store: Store) -> None:
    facts: list[Fact] = [
        PlanChanged(plan_of("x"), Call("edit_todos", '{"action": "start"}'), 3),
        Nudged(4, 5),
        Tripped(Bound.DRIFT, 60),
        Labelled("0", "before the move"),
    ]
    events = [
        Event(str(i), str(i - 1) if i else None, i, actor, fact)
        for i, (actor, fact) in enumerate(zip(Actor, facts, strict=True))
    ]

    for event in events:
        store.append("s", event)

    assert list(store.events("s")) == events


def test_labels_are_events(store: Store) -> None:
    session = session_on(store)
    session.call("write_todos", {"mode": "replace", "todos": [{"text": "one"}]})
    root = store.session_head("s").head or ""

    session.label(root, "start")
    named = labels(store.events("s"))
    session.label(root, "")

    assert named == {root: "start"}
    assert labels(store.events("s")) == {}


def test_appending_after_a_move_creates_a_branch(store: Store) -> None:
    chain(store, "s", "a", "b", "c")

    store.move_head("s", SessionHead("a"), expected="c")
    chain(store, "s", "d")

    assert ids(store.history("s")) == ["d", "a"]
    assert ids(store.events("s")) == ["a", "b", "c", "d"]
    assert store.leaves("s") == ["c", "d"]


def test_a_history_can_begin_at_any_event(store: Store) -> None:
    chain(store, "s", "a", "b", "c")

    assert ids(store.history("s", "b")) == ["b", "a"]
    assert ids(store.history("s", "c")) == ["c", "b", "a"]


def test_a_history_of_an_unknown_event_is_refused(store: Store) -> None:
    """At once, before it is iterated; events of other sessions are unknown, too."""
    chain(store, "s", "a")
    chain(store, "other", "x")

    for wanted in ("x", *WILD):
        assert is_refused(UnknownEvent, partial(store.history, "s", wanted)), wanted
        assert is_refused(UnknownEvent, partial(store.history, "never written", wanted)), wanted


def test_a_history_is_read_lazily(store: Store) -> None:
    chain(store, "s", "a", "b", "c")
    history = store.history("s")
    newest = next(history)

    chain(store, "s", "d")

    assert newest.id == "c"
    assert ids(history) == ["b", "a"]


def test_events_do_not_include_later_ones(store: Store) -> None:
    chain(store, "s", "a", "b")
    events = store.events("s")
    first = next(events)

    chain(store, "s", "c")

    assert first.id == "a"
    assert ids(events) == ["b"]


def test_the_redo_list_is_kept_until_an_event_is_written(store: Store) -> None:
    chain(store, "s", "a", "b", "c")

    store.move_head("s", SessionHead("a", ("b", "c")), expected="c")
    moved = store.session_head("s")
    chain(store, "s", "d")

    assert moved == SessionHead("a", ("b", "c"))
    assert store.session_head("s") == SessionHead("d")


def test_the_head_can_be_before_the_first_event(store: Store) -> None:
    chain(store, "s", "a")

    store.move_head("s", SessionHead(None, ("a",)), expected="a")
    before = store.session_head("s"), list(store.history("s"))
    chain(store, "s", "b")

    assert before == (SessionHead(None, ("a",)), [])
    assert ids(store.history("s")) == ["b"]
    assert store.leaves("s") == ["a", "b"]


def test_a_move_from_an_outdated_head_changes_nothing(store: Store) -> None:
    chain(store, "s", "a", "b")

    with pytest.raises(HeadMoved):
        store.move_head("s", SessionHead("a"), expected="a")
    with pytest.raises(HeadMoved):
        store.move_head("s", SessionHead("a"), expected=None)

    assert store.session_head("s") == SessionHead("b")


def test_the_head_cannot_be_an_event_of_another_session(store: Store) -> None:
    chain(store, "s", "a")
    chain(store, "other", "x")

    for wanted in ("x", *WILD):
        move = partial(store.move_head, to=SessionHead(wanted))
        assert is_refused(UnknownEvent, partial(move, "s", expected="a")), wanted
        assert is_refused(UnknownEvent, partial(move, "never written", expected=None)), wanted

    assert store.session_head("s") == SessionHead("a")


def test_a_move_does_not_create_a_session(store: Store) -> None:
    store.move_head("s", SessionHead(None, ("a",)), expected=None)

    assert store.session_head("s") == SessionHead()
    assert store.sessions() == []


def test_imported_events_are_unchanged(store: Store) -> None:
    theirs = [
        planned("a", None, "one"),
        planned("b", "a", "two", at=7),
        planned("c", "a", "three", at=3),
        planned("z", None, "another root"),
        planned("d", "b", "four"),
    ]

    new = store.import_events("s", theirs, SessionHead("b", ("d",)))

    assert new == 5
    assert store.session_head("s") == SessionHead("b", ("d",))
    assert list(store.events("s")) == theirs
    assert ids(store.history("s")) == ["b", "a"]
    assert store.leaves("s") == ["c", "z", "d"]
    assert store.sessions() == [SessionInfo("s", 5, 1, 1)]


def test_an_import_can_be_repeated(store: Store) -> None:
    written = chain(store, "s", "a", "b")
    more = planned("c", "a", "another way")

    again = store.import_events("s", written, SessionHead("a", ("b",)))
    place = store.session_head("s")
    new = store.import_events("s", [*written, more], SessionHead("c"))

    assert (again, place, new) == (0, SessionHead("a", ("b",)), 1)
    assert list(store.events("s")) == [*written, more]
    assert store.session_head("s") == SessionHead("c")


def test_an_import_with_an_error_changes_nothing(store: Store) -> None:
    written = chain(store, "s", "a")

    for wrong, second, head in (
        (UnknownEvent, planned("c", "nowhere", "x"), "b"),
        (UnknownEvent, planned("c", "b", "x"), "nowhere"),
        (StoreError, planned("a", None, "another text"), "b"),
    ):
        events = [planned("b", "a", "two"), second]
        assert is_refused(wrong, partial(store.import_events, "s", events, SessionHead(head))), second

    assert list(store.events("s")) == written
    assert store.session_head("s") == SessionHead("a")
    assert store.sessions() == [SessionInfo("s", 1, 1, 1)]


def test_an_empty_import_does_not_create_a_session(store: Store) -> None:
    assert store.import_events("s", [], SessionHead()) == 0

    assert store.sessions() == []


def test_a_deleted_session_is_as_if_it_never_existed(store: Store) -> None:
    chain(store, "s", "a", "b")
    others = chain(store, "other", "a")

    store.delete("s", expected="b")

    assert store.session_head("s") == SessionHead()
    assert list(store.events("s")) == []
    assert store.sessions() == [SessionInfo("other", 1, 1, 1)]
    assert list(store.events("other")) == others
    assert ids(chain(store, "s", "a")) == ids(store.events("s"))


def test_a_session_whose_head_moved_is_not_deleted(store: Store) -> None:
    written = chain(store, "s", "a", "b")

    with pytest.raises(HeadMoved):
        store.delete("s", expected="a")
    store.delete("never written", expected=None)

    assert list(store.events("s")) == written


def test_an_append_records_who_has_seen_it(store: Store, open_store: Opener) -> None:
    store.append("s", planned("a", None, "one"), "claude")
    store.append("s", planned("b", "a", "two"), "codex")
    store.append("s", planned("c", "b", "three"))

    assert [open_store().records.seen("s", reader) for reader in ("claude", "codex", "")] == ["a", "b", None]


def test_a_refused_append_is_not_seen(store: Store) -> None:
    chain(store, "s", "a")

    with pytest.raises(HeadMoved):
        store.append("s", planned("b", None, "two"), "claude")

    assert store.records.seen("s", "claude") is None


def test_a_seen_head_is_recorded_and_removed(store: Store, open_store: Opener) -> None:
    chain(store, "s", "a", "b")
    chain(store, "other", "a")

    for head in ("a", "b", "b", "a"):
        store.records.set_seen("s", "claude", head)

    assert open_store().records.seen("s", "claude") == "a"
    assert (store.records.seen("s", "codex"), store.records.seen("other", "claude")) == (None, None)
    store.records.set_seen("s", "claude", None)
    store.records.set_seen("s", "claude", None)
    assert open_store().records.seen("s", "claude") is None


def test_readers_and_heads_may_have_any_text(store: Store) -> None:
    readers = [*WILD[1:], "long " * 1000]
    for number, reader in enumerate(readers):
        store.append(reader, planned(f"{number} {reader}", None, "one"), reader)

    assert [store.records.seen(reader, reader) for reader in readers] == [
        f"{number} {reader}" for number, reader in enumerate(readers)
    ]


def test_seen_heads_are_removed_with_their_session(store: Store) -> None:
    """A session that does not exist has none, so a new one of that name begins without."""
    store.append("s", planned("a", None, "one"), "claude")

    store.delete("s", expected="a")
    store.records.set_seen("s", "codex", "a")
    chain(store, "s", "a")

    assert [store.records.seen("s", reader) for reader in ("claude", "codex")] == [None, None]


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


def test_seen_heads_do_not_travel_with_events(store: Store) -> None:
    """Agents are at work on one store. An import leaves its records as they are."""
    events = [planned("a", None, "one"), planned("b", "a", "two")]
    store.append("s", events[0], "claude")

    store.import_events("s", events, SessionHead("b"))

    assert store.records.seen("s", "claude") == "a"


def test_recording_a_seen_head_does_not_wake_followers(store: Store) -> None:
    """Nor does it change the order of sessions: it is not an event."""
    chain(store, "s", "a")
    chain(store, "newer", "a")

    store.records.set_seen("s", "claude", "a")

    assert not store.wait("s", "a", 0.05)
    assert [info.name for info in store.sessions()] == ["newer", "s"]
    assert not [finding for finding in store.check() if finding.severity is Severity.ERROR]


def test_the_check_of_a_healthy_store_finds_no_error(store: Store) -> None:
    chain(store, "s", "a", "b")
    store.move_head("s", SessionHead("a", ("b",)), expected="b")
    store.append("\ud800 wild \x00", planned("\udfff", None, "x"))

    assert [finding for finding in store.check() if finding.severity is not Severity.OK] == []


def test_leaves_are_in_the_order_they_were_written(store: Store) -> None:
    chain(store, "s", "m", "z")
    for leaf in ("b", "y", "a"):
        store.move_head("s", SessionHead("m"), expected=store.session_head("s").head)
        chain(store, "s", leaf)
    store.move_head("s", SessionHead("m"), expected="a")

    assert store.leaves("s") == ["z", "b", "y", "a"]


def test_the_session_written_to_last_comes_first(store: Store) -> None:
    """By the order of writes, not by clocks; with the number of events and the times of the first and the last."""
    for session, event_id, parent, at in [
        ("one", "a", None, 500),
        ("two", "a", None, 400),
        ("three", "a", None, 300),
        ("one", "b", "a", 200),
    ]:
        store.append(session, planned(event_id, parent, "x", at=at))
    store.move_head("two", SessionHead(None), expected="a")

    assert store.sessions() == [
        SessionInfo("one", 2, 500, 200),
        SessionInfo("three", 1, 300, 300),
        SessionInfo("two", 1, 400, 400),
    ]
    assert store.session_info("one") == SessionInfo("one", 2, 500, 200)
    assert store.session_info("four") is None


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


def test_acknowledged_changes_are_visible_to_other_objects_at_once(open_store: Opener) -> None:
    one, other = open_store(), open_store()

    for number in range(20):
        writer, reader = (one, other) if number % 2 else (other, one)
        chain(writer, "s", str(number))
        assert reader.session_head("s").head == str(number)
        assert next(reader.history("s")).id == str(number)

    assert ids(one.events("s")) == ids(other.events("s")) == [str(number) for number in range(20)]


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


def test_waiting_for_an_earlier_change_returns_at_once(store: Store) -> None:
    chain(store, "s", "a")

    assert store.wait("s", None, 0)
    assert store.wait("s", "elsewhere", 0)


def test_waiting_ends_after_the_timeout(store: Store) -> None:
    chain(store, "s", "a")
    chain(store, "other", "b")

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
