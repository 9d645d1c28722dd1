"""Who wants to know when a plan changes, and how that is found out: only while somebody does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from tildone.errors import StoreError
from tildone.log.state import State, latest_state
from tildone.log.store import Store
from tildone.mcp.connections import SessionView

SLICE = 0.5
"""For so many seconds at a time a thread waits for a change; so long it may take to end once nobody wants to know."""

Tell = Callable[[], None]


class PlanWatcher:
    """Tells of changes of plans in a store, through whichever process they come about.

    Whoever wants to know is called in the event loop. All methods are, too.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watched: dict[str, _Watched] = {}
        self._ending: list[_Watched] = []

    def on(self, found: SessionView, tell: Tell) -> Callable[[], None]:
        """Have `tell` called when the plan is no longer as it was found, and at every change after that.

        Gives a function that ends it, which may be called again.
        """
        watched = self._watched.get(found.session)
        if watched is None:
            watched = self._watched[found.session] = _Watched(self._store, found)
        elif watched.state.plan != found.state.plan:
            # A change between the two looks: whoever was here before has been told of it, or is about to be.
            asyncio.get_running_loop().call_soon(tell)
        token = object()
        watched.tell[token] = tell

        def off() -> None:
            watched.tell.pop(token, None)
            if not watched.tell and self._watched.get(found.session) is watched:
                del self._watched[found.session]
                self._end(watched)

        return off

    def close(self) -> None:
        """Stop watching, and wait until that is so."""
        for watched in self._watched.values():
            self._end(watched)
        self._watched.clear()
        for watched in self._ending:
            watched.thread.join(2 * SLICE)

    def _end(self, watched: _Watched) -> None:
        watched.over.set()
        self._ending = [watched, *(other for other in self._ending if other.thread.is_alive())]


class _Watched:
    """A session that is being watched, by a thread of its own."""

    def __init__(self, store: Store, found: SessionView) -> None:
        self.state = found.state
        self.tell: dict[object, Tell] = {}
        self.over = threading.Event()
        self._store = store
        self._session = found.session
        self._loop = asyncio.get_running_loop()
        self.thread = threading.Thread(target=self._watch, args=(found.state,), name="mcp watch", daemon=True)
        self.thread.start()

    def _watch(self, state: State) -> None:
        while not self.over.is_set():
            try:
                if not self._store.wait(self._session, state.head, SLICE):
                    continue
                before, state = state, latest_state(self._store.history(self._session))
            except StoreError:
                # Whoever calls a tool is told what is wrong with the store; here it is only waited for.
                self.over.wait(SLICE)
                continue
            # A nudge moves the head and leaves the plan as it was.
            if state.plan != before.plan:
                self._pass_on(state)

    def _pass_on(self, state: State) -> None:
        try:
            self._loop.call_soon_threadsafe(self._changed, state)
        except RuntimeError:
            # The loop is closed: nobody is there to be told.
            self.over.set()

    def _changed(self, state: State) -> None:
        self.state = state
        for tell in tuple(self.tell.values()):
            tell()
