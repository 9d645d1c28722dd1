"""Watching plans in a store for changes: one thread per session, for as long as it has callbacks."""

from __future__ import annotations

import threading

from tildone.agents.mcp.json_rpc import INTERNAL_ERROR, RequestError
from tildone.base import TYPE_CHECKING, TildoneError, value
from tildone.plan.events import Event, State, latest_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.log.store import Store

    Callback = Callable[[], None]


@value
class SessionSnapshot:
    """The name of a session and its state when it was read.

    `changed` is the event that made the plan. `recent` are the events that the log resources show, oldest first.
    """

    session: str
    state: State
    changed: Event | None = None
    recent: tuple[Event, ...] = ()


POLL_SECONDS = 0.5
"""How long a thread waits for a change at a time, and therefore how long it takes to end."""


class PlanWatcher:
    """Reports changes of plans, no matter which process makes them. `get_store` returns the store.

    Callbacks are called on the watching thread, one after the other. A callback that blocks delays the others of its
    session, and the changes that happen meanwhile are reported as one.
    """

    def __init__(self, get_store: Callable[[], Store]) -> None:
        self._get_store = get_store
        self._lock = threading.Lock()
        self._watches: dict[str, _SessionWatch] = {}
        self._ending: list[_SessionWatch] = []

    def watch(self, snapshot: SessionSnapshot, callback: Callback) -> Callable[[], None]:
        """Call `callback` once the plan differs from the snapshot, and at every later change.

        Returns a function that ends this; calling it again does nothing.
        """
        token = object()
        with self._lock:
            watch = self._watches.get(snapshot.session)
            if watch is None:
                watch = self._watches[snapshot.session] = _SessionWatch(self._get_store, snapshot)
            missed = watch.add(token, callback, snapshot)
        if missed:
            callback()

        def end() -> None:
            with self._lock:
                if watch.remove(token) and self._watches.get(snapshot.session) is watch:
                    del self._watches[snapshot.session]
                    self._end(watch)

        return end

    def close(self) -> None:
        """End all watches and wait for their threads."""
        with self._lock:
            for watch in self._watches.values():
                self._end(watch)
            self._watches.clear()
            ending = list(self._ending)
        for watch in ending:
            watch.thread.join(2 * POLL_SECONDS)

    def _end(self, watch: _SessionWatch) -> None:
        watch.ended.set()
        self._ending = [watch, *(other for other in self._ending if other.thread.is_alive())]


class _SessionWatch:
    """One watched session: its callbacks, and the thread that waits for changes."""

    def __init__(self, get_store: Callable[[], Store], snapshot: SessionSnapshot) -> None:
        self.ended = threading.Event()
        self._get_store = get_store
        self._session = snapshot.session
        self._lock = threading.Lock()
        self._state = snapshot.state
        self._callbacks: dict[object, Callback] = {}
        self.thread = threading.Thread(target=self._run, args=(snapshot.state,), name="mcp watch", daemon=True)
        self.thread.start()

    def add(self, token: object, callback: Callback, snapshot: SessionSnapshot) -> bool:
        """Add a callback; return whether it missed a change, which others were notified of after the snapshot."""
        with self._lock:
            self._callbacks[token] = callback
            return self._state.plan != snapshot.state.plan

    def remove(self, token: object) -> bool:
        """Remove a callback; return whether none is left."""
        with self._lock:
            self._callbacks.pop(token, None)
            return not self._callbacks

    def _run(self, state: State) -> None:
        while not self.ended.is_set():
            try:
                store = self._get_store()
                if not store.wait(self._session, state.head, POLL_SECONDS):
                    continue
                before, state = state, latest_state(store.history(self._session))
            except TildoneError:
                # Tool calls report errors of the store; the watch only waits until it works again.
                self.ended.wait(POLL_SECONDS)
                continue
            # Some events, such as a nudge, move the head without changing the plan.
            if state.plan != before.plan:
                self._notify(state)

    def _notify(self, state: State) -> None:
        with self._lock:
            self._state = state
            callbacks = tuple(self._callbacks.items())
        for token, callback in callbacks:
            # It may have been removed while an earlier one was called.
            if token in self._callbacks and not self.ended.is_set():
                callback()


MAX_SUBSCRIPTIONS = 200


class Subscriptions:
    """The open subscriptions, by a key: that of a connection and a URI, or of a stream of notifications."""

    def __init__(self, get_store: Callable[[], Store]) -> None:
        self._watcher = PlanWatcher(get_store)
        self._lock = threading.Lock()
        self._open: dict[object, list[Callable[[], None]]] = {}

    def begin(self, key: object) -> bool:
        """Begin a subscription; return False if it is already open.

        Raises:
            RequestError: there are too many.
        """
        with self._lock:
            if key in self._open:
                return False
            if len(self._open) >= MAX_SUBSCRIPTIONS:
                reason = f"{MAX_SUBSCRIPTIONS} subscriptions are open; there can be no more"
                raise RequestError(INTERNAL_ERROR, reason)
            self._open[key] = []
            return True

    def watch(self, key: object, snapshot: SessionSnapshot, notify: Callable[[], None]) -> None:
        """Call `notify`, on another thread, at every change after the snapshot until the subscription ends."""
        end = self._watcher.watch(snapshot, notify)
        with self._lock:
            ends = self._open.get(key)
            if ends is not None:
                ends.append(end)
                return
        # It has ended meanwhile.
        end()

    def end(self, key: object) -> None:
        """End a subscription, if it is open."""
        with self._lock:
            ends = self._open.pop(key, None)
        for end in ends or ():
            end()

    def close(self) -> None:
        """End all subscriptions and stop watching."""
        for key in tuple(self._open):
            self.end(key)
        self._watcher.close()
