"""Watching a store: whoever wants to know is told of changes of the plan, once for each, and of nothing else."""

import asyncio
import queue
import threading

from tests.mcp.room import PATIENCE
from tests.plans import session_on
from tildone.log.state import latest_state
from tildone.mcp.snapshot import SessionSnapshot
from tildone.mcp.watcher import PlanWatcher
from tildone.session import Session
from tildone.stores.memory import MemoryStore

ONE = {"mode": "append", "todos": [{"text": "One"}]}


class Noted(MemoryStore):
    """A store that notes from which head on it is waited for a change."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def wait(self, session: str, head: str | None, timeout: float) -> bool:
        self.waits.put(head)
        return super().wait(session, head, timeout)

    def until_waited(self, head: str | None) -> None:
        """Until a change of this head is waited for."""
        while self.waits.get(timeout=PATIENCE) != head:
            pass


def found(session: Session) -> SessionSnapshot:
    return SessionSnapshot(session.name, latest_state(session.store.history(session.name)))


async def test_a_nudge_is_no_change_of_the_plan() -> None:
    """It moves the session's head, and leaves what a resource shows as it was."""
    store = Noted()
    session = session_on(store)
    session.call("write_todos", ONE)
    told: asyncio.Queue[str] = asyncio.Queue()
    watcher = PlanWatcher(store)
    watcher.watch(found(session), lambda: told.put_nowait("changed"))

    assert session.turn_ended().prompt
    await asyncio.to_thread(store.until_waited, session.state.head)
    silent = told.empty()
    session.call("write_todos", ONE)
    await asyncio.wait_for(told.get(), PATIENCE)
    await asyncio.to_thread(store.until_waited, session.state.head)

    watcher.close()
    assert (silent, told.empty()) == (True, True)


async def test_a_change_between_looking_and_listening_is_told_of() -> None:
    """Whoever comes second has looked before the first was told."""
    store = Noted()
    session = session_on(store)
    looked = found(session)
    told: asyncio.Queue[str] = asyncio.Queue()
    watcher = PlanWatcher(store)
    watcher.watch(looked, lambda: told.put_nowait("first"))
    session.call("write_todos", ONE)
    first = await asyncio.wait_for(told.get(), PATIENCE)

    watcher.watch(looked, lambda: told.put_nowait("second"))

    second = await asyncio.wait_for(told.get(), PATIENCE)
    watcher.close()
    assert (first, second) == ("first", "second")


async def test_one_thread_watches_for_all_and_ends_with_the_last() -> None:
    store = Noted()
    session = session_on(store)
    watcher = PlanWatcher(store)
    before = threading.active_count()
    ends = [watcher.watch(found(session), lambda: None) for _ in range(5)]
    during = threading.active_count()

    for end in (*ends, *ends):
        end()
    watcher.watch(found(session), lambda: None)
    watcher.close()

    assert (during, [thread for thread in threading.enumerate() if thread.name == "mcp watch"]) == (before + 1, [])


async def test_who_is_gone_by_the_time_of_a_change_is_not_called() -> None:
    store = Noted()
    session = session_on(store)
    told: asyncio.Queue[str] = asyncio.Queue()
    watcher = PlanWatcher(store)
    off = watcher.watch(found(session), lambda: told.put_nowait("gone"))
    watcher.watch(found(session), lambda: told.put_nowait("here"))

    off()
    session.call("write_todos", ONE)

    assert await asyncio.wait_for(told.get(), PATIENCE) == "here"
    watcher.close()
    assert told.empty()


def test_a_loop_that_has_ended_is_not_told_any_more() -> None:
    """The thread finds out by itself, and ends."""
    store = Noted()
    session = session_on(store)

    async def begin() -> threading.Thread:
        PlanWatcher(store).watch(found(session), lambda: None)
        return next(thread for thread in threading.enumerate() if thread.name == "mcp watch")

    thread = asyncio.run(begin())
    session.call("write_todos", ONE)

    thread.join(PATIENCE)
    assert not thread.is_alive()
