"""Runs that a worker has left to others, because it would have to ask a person where others may not need to."""

from __future__ import annotations

from threading import Lock

from tildone.fleet.permissions import others_may_permit
from tildone.ids import now
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.log.fleet.lease import Lease
    from tildone.log.fleet.port import RunLeases


class LeftRuns:
    """The runs that a worker has left to others. It takes them itself when no other worker does."""

    def __init__(self, leases: RunLeases, worker: str, clock: Callable[[], int] = now) -> None:
        self._leases, self._worker, self._clock = leases, worker, clock
        self._lock = Lock()
        self._left: set[tuple[str, int]] = set()

    def add(self, lease: Lease) -> None:
        """Leave a run to other workers."""
        with self._lock:
            self._left.add((lease.run, lease.hand))

    def __contains__(self, lease: Lease) -> bool:
        with self._lock:
            return (lease.run, lease.hand) in self._left

    def look(self) -> None:
        """Let this worker take what all others have refused, or what nobody else is left for.

        Raises:
            StoreError: the store cannot be read or written to.
        """
        with self._lock:
            left = set(self._left)
        if not left:
            return
        workers, now_ms = self._leases.workers(), self._clock()
        refused = {(lease.run, lease.hand): lease for lease in self._leases.living() if self._worker in lease.refused}
        for key in left:
            lease = refused.get(key)
            if lease is None or (lease.is_queued and not others_may_permit(lease, workers, now_ms)):
                if lease is not None:
                    self._leases.reconsider(lease.run, lease.hand, self._worker)
                with self._lock:
                    self._left.discard(key)
