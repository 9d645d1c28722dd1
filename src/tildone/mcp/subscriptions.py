"""The subscriptions of all connections to changes of plans, whichever transport the notifications take."""

from __future__ import annotations

import threading

from tildone.mcp.json_rpc import INTERNAL_ERROR, RequestError
from tildone.mcp.watcher import PlanWatcher
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.log.store import Store
    from tildone.mcp.snapshot import SessionSnapshot

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
