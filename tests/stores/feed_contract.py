"""The contract of the change feed of every store, as tests: `revision`, `changed` and `wait_any`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

from tests.stores.contract import LONG_ENOUGH, WILD, Opener, chain, is_refused, planned
from tildone.base import HeadMoved, StoreError, UnknownEvent
from tildone.log.store import Store
from tildone.plan.events import SessionChange, SessionHead

CHANGES: dict[str, tuple[Callable[[Store, str], object], str | None]] = {
    "an event": (lambda store, name: chain(store, name, "c"), "c"),
    "an event and its reader": (lambda store, name: store.append(name, planned("c", "b", "x"), "claude"), "c"),
    "undo": (lambda store, name: store.move_head(name, SessionHead("a", ("b",)), expected="b"), "a"),
    "undo of everything": (lambda store, name: store.move_head(name, SessionHead(None), expected="b"), None),
    "the redo stack": (lambda store, name: store.move_head(name, SessionHead("b", ("a",)), expected="b"), "b"),
    "imported events": (
        lambda store, name: store.import_events(name, [planned("c", "a", "x")], SessionHead("c")),
        "c",
    ),
    "an imported branch": (
        lambda store, name: store.import_events(name, [planned("c", "a", "x")], SessionHead("b")),
        "b",
    ),
    "an imported head": (lambda store, name: store.import_events(name, [], SessionHead("a")), "a"),
}
"""Changes of a session with the events a and b, and its head afterwards."""

NO_CHANGES: dict[str, Callable[[Store], object]] = {
    "what a reader has seen": lambda store: store.records.set_seen("s", "claude", "a"),
    "a move to the head": lambda store: store.move_head("s", SessionHead("b"), expected="b"),
    "events that are known": lambda store: store.import_events("s", list(store.events("s")), SessionHead("b")),
    "a move in no session": lambda store: store.move_head("never", SessionHead(None), expected=None),
    "the deletion of no session": lambda store: store.delete("never", expected=None),
    "a check": lambda store: list(store.check()),
    "compaction": lambda store: store.compact(),
    "reading": lambda store: (store.sessions(), store.leaves("s"), list(store.history("s"))),
}

REFUSED: dict[str, tuple[type[Exception], Callable[[Store], object]]] = {
    "an outdated event": (HeadMoved, lambda store: store.append("s", planned("c", "a", "x"))),
    "an id that exists": (StoreError, lambda store: store.append("s", planned("a", "b", "x"))),
    "an outdated move": (HeadMoved, lambda store: store.move_head("s", SessionHead("a"), expected="a")),
    "an unknown head": (UnknownEvent, lambda store: store.move_head("s", SessionHead("never"), expected="b")),
    "an outdated deletion": (HeadMoved, lambda store: store.delete("s", expected="a")),
    "an import": (
        UnknownEvent,
        lambda store: store.import_events("s", [planned("c", "b", "x"), planned("d", "never", "x")], SessionHead("d")),
    ),
}


def names(store: Store, since: int) -> list[str]:
    return [change.session for change in store.records.changed(since)]


class FeedContract:
    """Tests of a `store`, and of several objects for the same store by way of `open_store`."""

    def test_a_new_store_has_no_changes(self, store: Store) -> None:
        revision = store.records.revision()

        assert list(store.records.changed(0)) == list(store.records.changed(revision)) == []
        assert not store.records.wait_any(revision, 0)

    def test_every_change_has_a_revision(self, store: Store) -> None:
        """It is told with the head, whether or not an event was written."""
        chain(store, "other", "a")
        for name, (change, head) in CHANGES.items():
            chain(store, name, "a", "b")
            before = store.records.revision()

            change(store, name)

            after = store.records.revision()
            assert after > before, name
            assert list(store.records.changed(before)) == [SessionChange(name, head, after)]
            assert list(store.records.changed(after)) == [], name
            assert store.records.wait_any(before, 0), name
            assert not store.records.wait_any(after, 0), name

    def test_what_leaves_the_plans_as_they_are_is_no_change(self, store: Store) -> None:
        chain(store, "s", "a", "b")
        before = store.records.revision()

        for name, change in NO_CHANGES.items():
            change(store)
            assert (store.records.revision(), list(store.records.changed(before))) == (before, []), name

    def test_a_refused_change_has_no_revision(self, store: Store) -> None:
        chain(store, "s", "a", "b")
        before = store.records.revision()

        for name, (error, change) in REFUSED.items():
            assert is_refused(error, partial(change, store)), name
            assert (store.records.revision(), list(store.records.changed(before))) == (before, []), name

    def test_each_session_is_told_once_with_its_newest_head(self, store: Store) -> None:
        """The oldest change first; revisions are in the order of the changes."""
        revisions = [store.records.revision()]
        for session, event in (("one", "a"), ("two", "a"), ("three", "a"), ("one", "b"), ("one", "c")):
            chain(store, session, event)
            revisions.append(store.records.revision())
        store.move_head("two", SessionHead(None), expected="a")
        revisions.append(store.records.revision())

        told = store.records.changed(revisions[0])

        assert revisions == sorted(set(revisions))
        assert [(change.session, change.head, change.exists) for change in told] == [
            ("three", "a", True),
            ("one", "c", True),
            ("two", None, True),
        ]
        assert [change.revision for change in told] == [revisions[3], revisions[5], revisions[6]]
        assert names(store, revisions[3]) == ["one", "two"]
        assert list(store.records.changed(0)) == list(told)

    def test_a_deleted_session_is_told_as_deleted(self, store: Store) -> None:
        """It has no head. A session at the beginning of its history has none either, but exists."""
        chain(store, "s", "a")
        chain(store, "other", "a")
        before = store.records.revision()

        store.delete("s", expected="a")

        after = store.records.revision()
        assert list(store.records.changed(before)) == [SessionChange("s", None, after, exists=False)]
        assert store.records.wait_any(before, 0)

    def test_a_session_that_is_created_again_exists(self, store: Store) -> None:
        """It is told once, however often it was deleted."""
        before = store.records.revision()
        for event in ("a", "b"):
            chain(store, "s", event)
            assert store.records.revision() > before
            store.delete("s", expected=event)
            assert [change.exists for change in store.records.changed(before)] == [False]
        deleted = store.records.revision()

        chain(store, "s", "c")

        after = store.records.revision()
        assert (
            list(store.records.changed(before))
            == list(store.records.changed(deleted))
            == [SessionChange("s", "c", after)]
        )

    def test_deleting_the_newest_session_does_not_repeat_a_revision(self, store: Store) -> None:
        """A reader of that revision would miss the next change."""
        revisions = []
        for _ in range(3):
            chain(store, "s", "a")
            revisions.append(store.records.revision())
            store.delete("s", expected="a")
            revisions.append(store.records.revision())

        assert revisions == sorted(set(revisions))

    def test_an_unknown_revision_returns_everything(self, store: Store) -> None:
        """A store that was replaced by an older backup has not reached it."""
        chain(store, "s", "a")

        assert names(store, store.records.revision() + 1_000_000) == ["s"]
        assert store.records.wait_any(store.records.revision() + 1_000_000, 0)

    def test_sessions_and_heads_may_have_any_name(self, store: Store) -> None:
        for name in (*WILD, "long " * 1000):
            before = store.records.revision()
            chain(store, name, f"{name}x")
            written = store.records.changed(before)
            store.delete(name, expected=f"{name}x")

            assert [(change.session, change.head) for change in written] == [(name, f"{name}x")]
            assert [(change.session, change.exists) for change in store.records.changed(before)] == [(name, False)]

    def test_changes_of_other_objects_are_told(self, open_store: Opener) -> None:
        """Of every kind, at once."""
        one, other = open_store(), open_store()
        told: list[tuple[str, str | None]] = []
        revision = one.records.revision()
        for change in (
            lambda: chain(other, "s", "a", "b"),
            lambda: other.move_head("s", SessionHead("a", ("b",)), expected="b"),
            lambda: other.delete("s", expected="a"),
        ):
            change()
            told += [(change.session, change.head) for change in one.records.changed(revision)]
            revision = one.records.revision()

        assert told == [("s", "b"), ("s", "a"), ("s", None)]

    def test_waiting_for_any_change_ends_after_the_timeout(self, store: Store) -> None:
        chain(store, "s", "a")

        assert not store.records.wait_any(store.records.revision(), 0.02)

    def test_every_waiter_wakes_at_a_change_of_any_session(self, open_store: Opener) -> None:
        """On this object and on another, repeatedly."""
        stores = [open_store(), open_store()]
        in_step = Barrier(7, timeout=LONG_ENOUGH)

        def follow(store: Store) -> list[bool]:
            woken = []
            for _ in range(8):
                revision = store.records.revision()
                in_step.wait()
                woken.append(store.records.wait_any(revision, LONG_ENOUGH))
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
            known = follower.records.revision()
            while heads != {f"session {worker}": f"{worker}-19" for worker in range(4)}:
                assert follower.records.wait_any(known, LONG_ENOUGH), heads
                revision = follower.records.revision()
                heads |= {change.session: change.head for change in follower.records.changed(known)}
                known = revision

        with ThreadPoolExecutor(5) as pool:
            following = pool.submit(follow)
            list(pool.map(write, range(4)))
            following.result(2 * LONG_ENOUGH)
