"""The plan watcher: callbacks are called once for every change of the plan, and for nothing else."""

import asyncio
import queue
import threading

from tests.mcp.project import TIMEOUT_SECONDS
from tests.plans import session_on
from tildone.log.state import latest_state
from tildone.mcp.snapshot import SessionSnapshot
from tildone.mcp.watcher import PlanWatcher
from tildone.session import Session
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


async def test_a_nudge_is_not_a_plan_change() -> None:
    """It moves the head of the session and leaves the plan as it was."""
    store = RecordingStore()
    session = session_on(store)
    session.call("write_todos", ONE)
    notifications: asyncio.Queue[str] = asyncio.Queue()
    watcher = PlanWatcher(store)
    watcher.watch(snapshot(session), lambda: notifications.put_nowait("changed"))

    assert session.turn_ended().prompt
    await asyncio.to_thread(store.until_waited, session.state.head)
    silent = notifications.empty()
    session.call("write_todos", ONE)
    await asyncio.wait_for(notifications.get(), TIMEOUT_SECONDS)
    await asyncio.to_thread(store.until_waited, session.state.head)

    watcher.close()
    assert (silent, notifications.empty()) == (True, True)


async def test_a_change_between_snapshot_and_watch_is_reported() -> None:
    """The second watcher took its snapshot before the change that the first was notified of."""
    store = RecordingStore()
    session = session_on(store)
    early = snapshot(session)
    notifications: asyncio.Queue[str] = asyncio.Queue()
    watcher = PlanWatcher(store)
    watcher.watch(early, lambda: notifications.put_nowait("first"))
    session.call("write_todos", ONE)
    first = await asyncio.wait_for(notifications.get(), TIMEOUT_SECONDS)

    watcher.watch(early, lambda: notifications.put_nowait("second"))

    second = await asyncio.wait_for(notifications.get(), TIMEOUT_SECONDS)
    watcher.close()
    assert (first, second) == ("first", "second")


async def test_one_thread_serves_all_watchers_of_a_session() -> None:
    store = RecordingStore()
    session = session_on(store)
    watcher = PlanWatcher(store)
    before = threading.active_count()
    ends = [watcher.watch(snapshot(session), lambda: None) for _ in range(5)]
    during = threading.active_count()

    for end in (*ends, *ends):
        end()
    watcher.watch(snapshot(session), lambda: None)
    watcher.close()

    assert (during, [thread for thread in threading.enumerate() if thread.name == "mcp watch"]) == (before + 1, [])


async def test_an_ended_watch_is_not_called() -> None:
    store = RecordingStore()
    session = session_on(store)
    notifications: asyncio.Queue[str] = asyncio.Queue()
    watcher = PlanWatcher(store)
    end = watcher.watch(snapshot(session), lambda: notifications.put_nowait("gone"))
    watcher.watch(snapshot(session), lambda: notifications.put_nowait("here"))

    end()
    session.call("write_todos", ONE)

    assert await asyncio.wait_for(notifications.get(), TIMEOUT_SECONDS) == "here"
    watcher.close()
    assert notifications.empty()


def test_the_thread_ends_after_the_event_loop_has_closed() -> None:
    """It notices at the next change."""
    store = RecordingStore()
    session = session_on(store)

    async def begin() -> threading.Thread:
        PlanWatcher(store).watch(snapshot(session), lambda: None)
        return next(thread for thread in threading.enumerate() if thread.name == "mcp watch")

    thread = asyncio.run(begin())
    session.call("write_todos", ONE)

    thread.join(TIMEOUT_SECONDS)
    assert not thread.is_alive()
