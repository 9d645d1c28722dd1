"""Copying sessions between stores: a copy is complete or reported as incomplete, and nothing is lost."""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.stores.contract import WILD, chain, ids, planned
from tildone.base import HeadMoved, NotFound, StoreBusy, StoreDamaged, StoreError, UnknownEvent
from tildone.log import copying
from tildone.log.copying import MAX_BATCH_EVENTS, CopyPreview, CopyResult, copy, preview_copy
from tildone.log.store import Store
from tildone.plan.events import Actor, Event, Labelled, Nudged, SessionHead
from tildone.stores.memory import MemoryStore


@pytest.fixture
def source() -> MemoryStore:
    """Sessions with branches, labels and unusual names; one has a redo list, one is before its first event."""
    store = MemoryStore()
    chain(store, "branched", "a", "b", "c")
    store.move_head("branched", SessionHead("a"), expected="c")
    chain(store, "branched", "d")
    store.append("branched", Event("l", "d", 5, Actor.USER, Labelled("b", "before")))
    store.append("branched", Event("n", "l", 6, Actor.TIMER, Nudged(1, 1)))
    chain(store, "undone", "a", "b", "c")
    store.move_head("undone", SessionHead("a", ("b", "c")), expected="c")
    for name in WILD:
        chain(store, name, f"{name}-1", f"{name}-2")
    chain(store, "begun again", "a")
    store.move_head("begun again", SessionHead(None, ("a",)), expected="a")
    return store


def quiet(_what: str, _done: int, _total: int) -> None:
    """Ignores progress."""


def everything(store: Store) -> object:
    names = [info.name for info in store.sessions()]
    return [(name, store.session_head(name), list(store.events(name)), store.leaves(name)) for name in names]


def test_a_copy_is_complete_between_any_two_stores(source: MemoryStore, store: Store) -> None:
    back = MemoryStore()

    there_copied = copy(source, store, quiet)
    back_copied = copy(store, back, quiet)

    assert everything(store) == everything(source)
    assert everything(back) == everything(source)
    assert there_copied == back_copied
    assert (there_copied.sessions, there_copied.events, there_copied.new) == (11, 26, 26)


def test_a_second_copy_copies_only_new_events(source: MemoryStore, store: Store) -> None:
    """The digest depends on the events and on the head."""
    first = copy(source, store, quiet)
    before = everything(store)

    assert copy(source, store, quiet) == CopyResult(first.sessions, first.events, 0, first.digest)
    assert everything(store) == before

    chain(source, "branched", "new")
    again = copy(source, store, quiet)
    assert (again.new, again.events) == (1, first.events + 1)
    assert again.digest != first.digest
    assert everything(store) == everything(source)

    source.move_head("undone", SessionHead("b", ("c",)), expected="a")
    moved = copy(source, store, quiet)
    assert (moved.new, moved.events) == (0, again.events)
    assert moved.digest != again.digest


class Interrupted(MemoryStore):
    """A target that raises KeyboardInterrupt after some calls."""

    def __init__(self, patience: int) -> None:
        super().__init__()
        self.patience = patience
        self.sizes: list[int] = []

    def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
        if len(self.sizes) == self.patience:
            raise KeyboardInterrupt
        batch = list(events)
        self.sizes.append(len(batch))
        return super().import_events(session, batch, to)


@pytest.mark.parametrize("patience", range(9))
def test_an_interrupted_copy_can_be_resumed(patience: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "MAX_BATCH_EVENTS", 3)
    source = MemoryStore()
    chain(source, "short", "a")
    chain(source, "long", *map(str, range(20)))
    chain(source, "last", "a", "b")
    target = Interrupted(patience)

    with pytest.raises(KeyboardInterrupt):
        copy(source, target, quiet)
    half = target.session_head("long")
    target.patience = -1
    copied = copy(source, target, quiet)

    assert half in (SessionHead(), SessionHead("19"))
    assert everything(target) == everything(source)
    assert copied.events == 23


def test_a_long_session_is_copied_in_batches() -> None:
    """Their size is limited, not only the number of their events."""
    source, target, large = MemoryStore(), Interrupted(-1), Interrupted(-1)
    chain(source, "s", *map(str, range(2 * MAX_BATCH_EVENTS + 7)))

    copy(source, target, quiet)

    source.delete("s", expected=source.session_head("s").head)
    for number in range(3):
        event = planned(str(number), str(number - 1) if number else None, *map(str, range(copying.MAX_BATCH_TASKS)))
        source.append("s", event)
    copy(source, large, quiet)
    assert (target.sizes, large.sizes) == ([MAX_BATCH_EVENTS, MAX_BATCH_EVENTS, 7], [1, 1, 1])


class Busy(MemoryStore):
    """A source that an agent writes to during the copy."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.writes = writes
        self.numbers = count()

    def events(self, session: str) -> Iterator[Event]:
        found = list(super().events(session))
        for number, event in enumerate(found):
            if self.writes and number == 1:
                self.writes -= 1
                chain(self, session, f"meanwhile {next(self.numbers)}")
            yield event


def test_events_written_during_a_copy_are_copied(store: Store) -> None:
    source = Busy(writes=1)
    chain(source, "s", "a", "b", "c")

    copied = copy(source, store, quiet)

    assert copied.changed_since == ()
    assert ids(store.history("s")) == ["meanwhile 0", "c", "b", "a"]
    assert everything(store) == everything(source)


def test_a_session_that_changes_all_the_time_is_reported(store: Store) -> None:
    """Each round copies the session as of one moment, and claims no more."""
    source = Busy(writes=-1)
    chain(source, "quiet", "a")
    chain(source, "s", "a", "b", "c")

    copied = copy(source, store, quiet)

    assert copied.changed_since == ("s",)
    there = ids(store.events("s"))
    assert there == ids(MemoryStore.events(source, "s"))[: len(there)]
    assert store.session_head("s").head == there[-1]
    assert copied.events == 1 + len(there) < 1 + len(ids(MemoryStore.events(source, "s")))


def test_head_and_events_of_a_copy_are_consistent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "MAX_ROUNDS", 1)

    class Quick(MemoryStore):
        def events(self, session: str) -> Iterator[Event]:
            if len(ids(super().events(session))) == 2:
                chain(self, session, "in between")
            return super().events(session)

    source, target = Quick(), MemoryStore()
    chain(source, "s", "a", "b")

    copy(source, target, quiet)

    assert ids(target.events("s")) == ["a", "b", "in between"]
    assert target.session_head("s") == SessionHead("in between")


def test_other_events_of_the_target_stay(source: MemoryStore, store: Store) -> None:
    """But their writer is interrupted."""
    copy(source, store, quiet)
    chain(store, "branched", "later", "last")
    chain(store, "of its own", "a")

    copied = copy(source, store, quiet)

    assert copied.new == 0
    assert store.session_head("branched") == SessionHead("n")
    with pytest.raises(HeadMoved):
        store.append("branched", planned("next", "last", "x"))
    assert ids(store.history("branched", "last"))[:3] == ["last", "later", "n"]
    assert ids(store.events("of its own")) == ["a"]


def test_diverged_stores_can_be_merged_by_copying_both_ways(source: MemoryStore, store: Store) -> None:
    copy(source, store, quiet)
    chain(source, "undone", "here")
    chain(store, "undone", "there")

    copy(source, store, quiet)
    copied = copy(store, source, quiet)

    assert (
        sorted(ids(source.events("undone"))) == sorted(ids(store.events("undone"))) == ["a", "b", "c", "here", "there"]
    )
    assert copied.new == 1


def test_a_different_event_with_the_same_id_is_an_error(source: MemoryStore, store: Store) -> None:
    chain(store, "undone", "a")
    store.append("undone", planned("b", "a", "something else"))

    with pytest.raises(StoreError, match=r"session 'undone' can't be copied: .*'b'"):
        copy(source, store, quiet)

    assert ids(store.events("undone")) == ["a", "b"]


class Forgetful(MemoryStore):
    """A target that acknowledges the first event of a session, and has another in its place or none."""

    def __init__(self, *instead: Event) -> None:
        super().__init__()
        self.instead = instead

    def events(self, session: str) -> Iterator[Event]:
        return iter((*self.instead, *list(super().events(session))[1:]))

    def history(self, session: str, head: str | None = None) -> Iterator[Event]:
        if head == "a" and not self.instead:
            raise UnknownEvent(head)
        found = list(super().history(session, head))
        return iter((*found[:-1], *self.instead) if self.instead and found[-1].parent is None else found)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (Forgetful(planned("a", None, "another word")), "session 's' is not the same on both sides"),
        (Forgetful(), r"session 's' was not copied completely: event .*a.* is missing"),
    ],
)
def test_an_unfaithful_copy_is_an_error_that_names_a_lost_event(target: Forgetful, why: str) -> None:
    source = MemoryStore()
    chain(source, "s", "a", "b")

    with pytest.raises(StoreError, match=why):
        copy(source, target, quiet)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """A change by another process between the copy of a session and its verification."""
    acts: list[Callable[[], object]] = []
    comparing = copying._verified_digest  # noqa: SLF001  that moment

    def late(*sides: Any) -> str:
        for act in acts:
            act()
        return comparing(*sides)

    monkeypatch.setattr(copying, "_verified_digest", late)
    return acts


def test_changes_in_the_target_during_a_copy_are_kept(meanwhile: list[Callable[[], object]], store: Store) -> None:
    """An agent may be using it; the copy succeeds."""
    source = MemoryStore()
    chain(source, "s", "a", "b")
    meanwhile.append(lambda: chain(store, "s", "from elsewhere"))

    copied = copy(source, store, quiet)
    meanwhile.clear()

    assert copied.digest == copy(source, MemoryStore(), quiet).digest
    assert store.session_head("s").head == "from elsewhere"
    assert set(ids(store.events("s"))) >= {"a", "b", "from elsewhere"}


def test_a_head_moved_in_the_target_during_a_copy_is_an_error(
    meanwhile: list[Callable[[], object]], store: Store
) -> None:
    source = MemoryStore()
    chain(source, "s", "a", "b")
    meanwhile.append(lambda: store.move_head("s", SessionHead("a"), expected="b"))

    with pytest.raises(StoreBusy, match="session 's' was moved in the target"):
        copy(source, store, quiet)


def test_damage_is_reported_as_damage() -> None:
    """A user who restores a backup has to know that it is damaged."""

    class Damaged(MemoryStore):
        def import_events(self, session: str, events: Iterable[Event], to: SessionHead) -> int:
            del session, events, to
            raise StoreDamaged("page 7 is gone")

    source = MemoryStore()
    chain(source, "s", "a")

    with pytest.raises(StoreDamaged, match="session 's' can't be copied: page 7 is gone"):
        copy(source, Damaged(), quiet)


def test_one_session_can_be_copied_alone(source: MemoryStore, store: Store) -> None:
    copied = copy(source, store, quiet, only="undone")

    assert [info.name for info in store.sessions()] == ["undone"]
    assert (copied.sessions, copied.events) == (1, 3)
    with pytest.raises(NotFound, match="there is no session 'nowhere'"):
        copy(source, store, quiet, only="nowhere")
    empty = copy(MemoryStore(), store, quiet)
    assert (empty.sessions, empty.events, empty.new, empty.left_out) == (0, 0, 0, ())


def test_progress_is_monotonic_and_reaches_the_total(source: MemoryStore) -> None:
    told: list[tuple[str, int, int]] = []

    copy(source, MemoryStore(), lambda *said: told.append(said))

    assert {what for what, _, _ in told} == {copying.COPYING, copying.COMPARING}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1:] == (52, 52)


def test_a_dry_run_changes_nothing(source: MemoryStore, store: Store) -> None:
    copy(source, store, quiet)
    chain(store, "branched", "later")
    chain(source, "undone", "here")
    chain(source, "new", "a", "b")
    before = everything(store)

    found = {each.name: each for each in preview_copy(source, store) if each.changes}

    assert found == {
        "branched": CopyPreview("branched", 6, 0, SessionHead("later"), SessionHead("n")),
        "undone": CopyPreview("undone", 4, 1, SessionHead("a", ("b", "c")), SessionHead("here")),
        "new": CopyPreview("new", 2, 2, SessionHead(), SessionHead("b")),
    }
    assert everything(store) == before


class PartlyDamaged(MemoryStore):
    """A store in which the newest event of one session, or its head, cannot be read."""

    broken = "bad"
    lost_head = False

    def session_head(self, session: str) -> SessionHead:
        if session == self.broken and self.lost_head:
            raise StoreDamaged("page 7 is gone")
        return super().session_head(session)

    def events(self, session: str) -> Iterator[Event]:
        *before, last = super().events(session)
        yield from before
        if session == self.broken:
            raise StoreDamaged("page 7 is gone")
        yield last

    def unreadable(self) -> list[str]:
        return ["a file cannot be read"]


def partly_damaged(*, lost_head: bool) -> PartlyDamaged:
    """A long session, which is copied in batches, with a damage at its end, and one that is whole."""
    store = PartlyDamaged()
    chain(store, "bad", *map(str, range(MAX_BATCH_EVENTS + 2)))
    chain(store, "good", "a", "b")
    store.lost_head = lost_head
    return store


@pytest.mark.parametrize("lost_head", [True, False], ids=["head", "event"])
def test_a_damaged_session_is_left_out_and_named(store: Store, *, lost_head: bool) -> None:
    """What the target has of it already is kept."""
    copied = copy(partly_damaged(lost_head=lost_head), store, quiet)

    assert (copied.sessions, copied.events, copied.changed_since) == (1, 2, ())
    assert copied.left_out == ("session 'bad': page 7 is gone", "a file cannot be read")
    assert [info.name for info in store.sessions()] == ["good"]
    chain(store, "bad", "0", "1")
    assert copy(partly_damaged(lost_head=lost_head), store, quiet).left_out == copied.left_out
    assert store.session_head("bad") == SessionHead("1")


def test_a_damaged_session_that_is_copied_alone_is_an_error(store: Store) -> None:
    source = partly_damaged(lost_head=False)

    with pytest.raises(StoreDamaged, match="page 7 is gone"):
        copy(source, store, quiet, only="bad")
    with pytest.raises(StoreDamaged, match="page 7 is gone"):
        list(preview_copy(source, store))
    assert copy(source, store, quiet, only="good").left_out == ()
