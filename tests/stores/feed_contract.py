"""The contract of the change feed of every store, as tests: `revision`, `changed` and `wait_any`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.stores.contract import LONG_ENOUGH, WILD, Opener, chain, planned
from tildone.errors import HeadMoved, StoreError, UnknownEvent
from tildone.log.store import Store
from tildone.log.tree import SessionChange, SessionHead

Change = Callable[[Store], object]

CHANGES = [
    pytest.param(lambda store: chain(store, "s", "c"), "c", id="an event"),
    pytest.param(lambda store: store.append("s", planned("c", "b", "x"), "claude"), "c", id="an event and its reader"),
    pytest.param(lambda store: store.move_head("s", SessionHead("a", ("b",)), expected="b"), "a", id="undo"),
    pytest.param(lambda store: store.move_head("s", SessionHead(None), expected="b"), None, id="undo of everything"),
    pytest.param(lambda store: store.move_head("s", SessionHead("b", ("a",)), expected="b"), "b", id="the redo stack"),
    pytest.param(
        lambda store: store.import_events("s", [planned("c", "a", "x")], SessionHead("c")), "c", id="imported events"
    ),
    pytest.param(
        lambda store: store.import_events("s", [planned("c", "a", "x")], SessionHead("b")), "b", id="an imported branch"
    ),
    pytest.param(lambda store: store.import_events("s", [], SessionHead("a")), "a", id="an imported head"),
]

NO_CHANGES = [
    pytest.param(lambda store: store.set_seen("s", "claude", "a"), id="what a reader has seen"),
    pytest.param(lambda store: store.move_head("s", SessionHead("b"), expected="b"), id="a move to the head"),
    pytest.param(
        lambda store: store.import_events("s", list(store.events("s")), SessionHead("b")), id="events that are known"
    ),
    pytest.param(lambda store: store.move_head("never", SessionHead(None), expected=None), id="a move in no session"),
    pytest.param(lambda store: store.delete("never", expected=None), id="the deletion of no session"),
    pytest.param(lambda store: list(store.check()), id="a check"),
    pytest.param(lambda store: store.compact(), id="compaction"),
    pytest.param(lambda store: (store.sessions(), store.leaves("s"), list(store.history("s"))), id="reading"),
]

REFUSED = [
    pytest.param(lambda store: store.append("s", planned("c", "a", "x")), HeadMoved, id="an outdated event"),
    pytest.param(lambda store: store.append("s", planned("a", "b", "x")), StoreError, id="an id that exists"),
    pytest.param(lambda store: store.move_head("s", SessionHead("a"), expected="a"), HeadMoved, id="an outdated move"),
    pytest.param(
        lambda store: store.move_head("s", SessionHead("never"), expected="b"), UnknownEvent, id="an unknown head"
    ),
    pytest.param(lambda store: store.delete("s", expected="a"), HeadMoved, id="an outdated deletion"),
    pytest.param(
        lambda store: store.import_events("s", [planned("c", "b", "x"), planned("d", "never", "x")], SessionHead("d")),
        UnknownEvent,
        id="an import",
    ),
]


def names(store: Store, since: int) -> list[str]:
    return [change.session for change in store.changed(since)]


class FeedContract:
    """Tests of a `store`, and of several objects for the same store by way of `open_store`."""

    def test_a_new_store_has_no_changes(self, store: Store) -> None:
        revision = store.revision()

        assert list(store.changed(0)) == list(store.changed(revision)) == []
        assert not store.wait_any(revision, 0)

    @pytest.mark.parametrize(("change", "head"), CHANGES)
    def test_every_change_has_a_revision(self, store: Store, change: Change, head: str | None) -> None:
        """It is told with the head, whether or not an event was written."""
        chain(store, "other", "a")
        chain(store, "s", "a", "b")
        before = store.revision()

        change(store)

        after = store.revision()
        assert after > before
        assert list(store.changed(before)) == [SessionChange("s", head, after)]
        assert list(store.changed(after)) == []
        assert store.wait_any(before, 0)
        assert not store.wait_any(after, 0)

    @pytest.mark.parametrize("change", NO_CHANGES)
    def test_what_leaves_the_plans_as_they_are_is_no_change(self, store: Store, change: Change) -> None:
        chain(store, "s", "a", "b")
        before = store.revision()

        change(store)

        assert store.revision() == before
        assert list(store.changed(before)) == []

    @pytest.mark.parametrize(("change", "error"), REFUSED)
    def test_a_refused_change_has_no_revision(self, store: Store, change: Change, error: type[Exception]) -> None:
        chain(store, "s", "a", "b")
        before = store.revision()

        with pytest.raises(error):
            change(store)

        assert store.revision() == before
        assert list(store.changed(before)) == []

    def test_each_session_is_told_once_with_its_newest_head(self, store: Store) -> None:
        """The oldest change first; revisions are in the order of the changes."""
        revisions = [store.revision()]
        for session, event in (("one", "a"), ("two", "a"), ("three", "a"), ("one", "b"), ("one", "c")):
            chain(store, session, event)
            revisions.append(store.revision())
        store.move_head("two", SessionHead(None), expected="a")
        revisions.append(store.revision())

        told = store.changed(revisions[0])

        assert revisions == sorted(set(revisions))
        assert [(change.session, change.head, change.exists) for change in told] == [
            ("three", "a", True),
            ("one", "c", True),
            ("two", None, True),
        ]
        assert [change.revision for change in told] == [revisions[3], revisions[5], revisions[6]]
        assert names(store, revisions[3]) == ["one", "two"]
        assert list(store.changed(0)) == list(told)

    def test_a_deleted_session_is_told_as_deleted(self, store: Store) -> None:
        """It has no head. A session at the beginning of its history has none either, but exists."""
        chain(store, "s", "a")
        chain(store, "other", "a")
        before = store.revision()

        store.delete("s", expected="a")

        after = store.revision()
        assert list(store.changed(before)) == [SessionChange("s", None, after, exists=False)]
        assert store.wait_any(before, 0)

    def test_a_session_that_is_created_again_exists(self, store: Store) -> None:
        """It is told once, however often it was deleted."""
        before = store.revision()
        for event in ("a", "b"):
            chain(store, "s", event)
            assert store.revision() > before
            store.delete("s", expected=event)
            assert [change.exists for change in store.changed(before)] == [False]
        deleted = store.revision()

        chain(store, "s", "c")

        after = store.revision()
        assert list(store.changed(before)) == list(store.changed(deleted)) == [SessionChange("s", "c", after)]

    def test_deleting_the_newest_session_does_not_repeat_a_revision(self, store: Store) -> None:
        """A reader of that revision would miss the next change."""
        revisions = []
        for _ in range(3):
            chain(store, "s", "a")
            revisions.append(store.revision())
            store.delete("s", expected="a")
            revisions.append(store.revision())

        assert revisions == sorted(set(revisions))

    def test_an_unknown_revision_returns_everything(self, store: Store) -> None:
        """A store that was replaced by an older backup has not reached it."""
        chain(store, "s", "a")

        assert names(store, store.revision() + 1_000_000) == ["s"]
        assert store.wait_any(store.revision() + 1_000_000, 0)

    @pytest.mark.parametrize("name", [*WILD, "long " * 1000])
    def test_sessions_and_heads_may_have_any_name(self, store: Store, name: str) -> None:
        before = store.revision()
        chain(store, name, f"{name}x")
        written = store.changed(before)
        store.delete(name, expected=f"{name}x")

        assert [(change.session, change.head) for change in written] == [(name, f"{name}x")]
        assert [(change.session, change.exists) for change in store.changed(before)] == [(name, False)]

    def test_changes_of_other_objects_are_told(self, open_store: Opener) -> None:
        """Of every kind, at once."""
        one, other = open_store(), open_store()
        told: list[tuple[str, str | None]] = []
        revision = one.revision()
        for change in (
            lambda: chain(other, "s", "a", "b"),
            lambda: other.move_head("s", SessionHead("a", ("b",)), expected="b"),
            lambda: other.delete("s", expected="a"),
        ):
            change()
            told += [(change.session, change.head) for change in one.changed(revision)]
            revision = one.revision()

        assert told == [("s", "b"), ("s", "a"), ("s", None)]

    def test_waiting_for_any_change_ends_after_the_timeout(self, store: Store) -> None:
        chain(store, "s", "a")

        assert not store.wait_any(store.revision(), 0.02)

    def test_every_waiter_wakes_at_a_change_of_any_session(self, open_store: Opener) -> None:
        """On this object and on another, repeatedly."""
        stores = [open_store(), open_store()]
        in_step = Barrier(7, timeout=LONG_ENOUGH)

        def follow(store: Store) -> list[bool]:
            woken = []
            for _ in range(8):
                revision = store.revision()
                in_step.wait()
                woken.append(store.wait_any(revision, LONG_ENOUGH))
                in_step.wait()
            return woken

        with ThreadPoolExecutor(6) as pool:
            following = [pool.submit(follow, store) for store in stores for _ in range(3)]
            for number in range(8):
                in_step.wait()
                chain(stores[0], f"session {number % 3}", str(number))
                in_step.wait()

        assert [follower.result() for follower in following] == [[True] * 8] * 6

    def test_a_follower_of_concurrent_writers_misses_no_change(self, open_store: Opener) -> None:
        """It knows the last head of every session, though it never reads one."""
        follower, writers = open_store(), [open_store(), open_store()]

        def write(worker: int) -> None:
            chain(writers[worker % 2], f"session {worker}", *(f"{worker}-{number}" for number in range(20)))

        def follow() -> None:
            heads: dict[str, str | None] = {}
            known = follower.revision()
            while heads != {f"session {worker}": f"{worker}-19" for worker in range(4)}:
                assert follower.wait_any(known, LONG_ENOUGH), heads
                revision = follower.revision()
                heads |= {change.session: change.head for change in follower.changed(known)}
                known = revision

        with ThreadPoolExecutor(5) as pool:
            following = pool.submit(follow)
            list(pool.map(write, range(4)))
            following.result(2 * LONG_ENOUGH)
