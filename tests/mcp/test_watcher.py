"""The plan watcher: callbacks are called once for every change of the plan, and for nothing else."""

import queue
import threading
from collections.abc import Callable

from tests.mcp.project import TIMEOUT_SECONDS
from tests.plans import session_on
from tildone.agents.mcp.subscriptions import PlanWatcher, SessionSnapshot
from tildone.log.session import Session
from tildone.plan.events import latest_state
from tildone.stores.memory import MemoryStore

ONE = {"mode": "append", "todos": [{"text": "One"}]}


class RecordingStore(MemoryStore):
    """A store that records from which head its watchers wait for a change."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        self.waits.put(head)
        return super().wait(session, head, timeout)

    def until_waited(self, head: str | None) -> None:
        """Block until a watcher waits for a change of this head."""
        while self.waits.get(timeout=TIMEOUT_SECONDS) != head:
            pass


def snapshot(session: Session) -> SessionSnapshot:
    return SessionSnapshot(session.name, latest_state(session.store.history(session.name)))


def test_a_nudge_is_not_a_plan_change() -> None:
    """It moves the head of the session and leaves the plan as it was."""
    store = RecordingStore()
    session = session_on(store)
    session.call("write_todos", ONE)
    notifications: queue.SimpleQueue[str] = queue.SimpleQueue()
    watcher = PlanWatcher(lambda: store)
    watcher.watch(snapshot(session), lambda: notifications.put("changed"))

    assert session.turn_ended().prompt
    store.until_waited(session.state.head)
    silent = notifications.empty()
    session.call("write_todos", ONE)
    notifications.get(timeout=TIMEOUT_SECONDS)
    store.until_waited(session.state.head)

    watcher.close()
    assert (silent, notifications.empty()) == (True, True)


def test_a_change_between_snapshot_and_watch_is_reported() -> None:
    """The second watcher took its snapshot before the change that the first was notified of."""
    store = RecordingStore()
    session = session_on(store)
    early = snapshot(session)
    notifications: queue.SimpleQueue[str] = queue.SimpleQueue()
    watcher = PlanWatcher(lambda: store)
    watcher.watch(early, lambda: notifications.put("first"))
    session.call("write_todos", ONE)
    first = notifications.get(timeout=TIMEOUT_SECONDS)

    watcher.watch(early, lambda: notifications.put("second"))

    second = notifications.get(timeout=TIMEOUT_SECONDS)
    watcher.close()
    assert (first, second) == ("first", "second")


def test_one_thread_serves_all_watchers_of_a_session() -> None:
    store = RecordingStore()
    session = session_on(store)
    watcher = PlanWatcher(lambda: store)
    before = threading.active_count()
    ends = [watcher.watch(snapshot(session), lambda: None) for _ in range(5)]
    during = threading.active_count()

    for end in (*ends, *ends):
        end()
    watcher.watch(snapshot(session), lambda: None)
    watcher.close()

    assert (during, [thread for thread in threading.enumerate() if thread.name == "mcp watch"]) == (before + 1, [])


def test_an_ended_watch_is_not_called() -> None:
    store = RecordingStore()
    session = session_on(store)
    notifications: queue.SimpleQueue[str] = queue.SimpleQueue()
    watcher = PlanWatcher(lambda: store)
    end = watcher.watch(snapshot(session), lambda: notifications.put("gone"))
    watcher.watch(snapshot(session), lambda: notifications.put("here"))

    end()
    session.call("write_todos", ONE)

    assert notifications.get(timeout=TIMEOUT_SECONDS) == "here"
    watcher.close()
    assert notifications.empty()


def test_a_callback_removed_by_an_earlier_one_is_not_called() -> None:
    store = RecordingStore()
    session = session_on(store)
    called: queue.SimpleQueue[str] = queue.SimpleQueue()
    watcher = PlanWatcher(lambda: store)
    ends: list[Callable[[], None]] = []

    def first() -> None:
        ends[1]()
        called.put("first")

    ends += [watcher.watch(snapshot(session), first), watcher.watch(snapshot(session), lambda: called.put("second"))]
    session.call("write_todos", ONE)

    assert called.get(timeout=TIMEOUT_SECONDS) == "first"
    store.until_waited(session.state.head)
    watcher.close()
    assert called.empty()
