"""Ends a worker when nothing is left that it could do."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Thread

from tildone.errors import StoreError
from tildone.log.fleet.lease import LeaseState
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.log.fleet.port import RunLeases

LOOK_SECONDS = 0.5


def drain_when_idle(drain: Callable[[], object], leases: RunLeases, labels: frozenset[str]) -> None:
    """Call `drain`, in a thread, as soon as no run is queued or in work that needs only these labels."""
    Thread(target=_wait, args=(drain, leases, labels), name="idle", daemon=True).start()


def _wait(drain: Callable[[], object], leases: RunLeases, labels: frozenset[str]) -> None:
    left = True
    while left:
        time.sleep(LOOK_SECONDS)
        with suppress(StoreError):
            works = [view.lease.work for view in leases.look() if view.lease.state is LeaseState.OPEN]
            left = any(labels.issuperset(work.labels) for work in works)
    drain()
