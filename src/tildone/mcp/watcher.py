"""Watching plans in a store for changes: one thread per session, for as long as it has callbacks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from tildone.errors import StoreError
from tildone.log.state import State, latest_state
from tildone.log.store import Store
from tildone.mcp.snapshot import SessionSnapshot

POLL_SECONDS = 0.5
"""How long a thread waits for a change at a time, and therefore how long it takes to end."""

Callback = Callable[[], None]


class PlanWatcher:
    """Reports changes of plans, no matter which process makes them.

    All methods must be called in the event loop, and so are the callbacks.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watches: dict[str, _SessionWatch] = {}
        self._ending: list[_SessionWatch] = []

    def watch(self, snapshot: SessionSnapshot, callback: Callback) -> Callable[[], None]:
        """Call `callback` once the plan differs from the snapshot, and at every later change.

        Returns a function that ends this; calling it again does nothing.
        """
        watch = self._watches.get(snapshot.session)
        if watch is None:
            watch = self._watches[snapshot.session] = _SessionWatch(self._store, snapshot)
        elif watch.state.plan != snapshot.state.plan:
            # The snapshot and the watch differ, so only this callback still has to be notified of that change.
            asyncio.get_running_loop().call_soon(callback)
        token = object()
        watch.callbacks[token] = callback

        def end() -> None:
            watch.callbacks.pop(token, None)
            if not watch.callbacks and self._watches.get(snapshot.session) is watch:
                del self._watches[snapshot.session]
                self._end(watch)

        return end

    def close(self) -> None:
        """End all watches and wait for their threads."""
        for watch in self._watches.values():
            self._end(watch)
        self._watches.clear()
        for watch in self._ending:
            watch.thread.join(2 * POLL_SECONDS)

    def _end(self, watch: _SessionWatch) -> None:
        watch.ended.set()
        self._ending = [watch, *(other for other in self._ending if other.thread.is_alive())]


class _SessionWatch:
    """One watched session: its callbacks, and the thread that waits for changes."""

    def __init__(self, store: Store, snapshot: SessionSnapshot) -> None:
        self.state = snapshot.state
        self.callbacks: dict[object, Callback] = {}
        self.ended = threading.Event()
        self._store = store
        self._session = snapshot.session
        self._loop = asyncio.get_running_loop()
        self.thread = threading.Thread(target=self._run, args=(snapshot.state,), name="mcp watch", daemon=True)
        self.thread.start()

    def _run(self, state: State) -> None:
        while not self.ended.is_set():
            try:
                if not self._store.wait(self._session, state.head, POLL_SECONDS):
                    continue
                before, state = state, latest_state(self._store.history(self._session))
            except StoreError:
                # Tool calls report errors of the store; the watch only waits until it works again.
                self.ended.wait(POLL_SECONDS)
                continue
            # Some events, such as a nudge, move the head without changing the plan.
            if state.plan != before.plan:
                self._notify(state)

    def _notify(self, state: State) -> None:
        try:
            self._loop.call_soon_threadsafe(self._changed, state)
        except RuntimeError:
            # The loop is closed, so there are no callbacks left to call.
            self.ended.set()

    def _changed(self, state: State) -> None:
        self.state = state
        for callback in tuple(self.callbacks.values()):
            callback()
