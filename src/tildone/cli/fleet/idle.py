"""Ends a worker when nothing is left that it could do."""

from __future__ import annotations

import time
from contextlib import suppress

from tildone.errors import StoreError
from tildone.fleet.essential import EssentialThread
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tildone.fleet.worker import Worker
    from tildone.log.fleet.port import RunLeases

LOOK_SECONDS = 0.5


def drain_when_idle(worker: Worker, leases: RunLeases) -> None:
    """Drain the worker, in a thread, as soon as it has no run and there is none that it could take, now or later."""
    EssentialThread("idle", wait_and_drain, worker, leases).start()


def wait_and_drain(worker: Worker, leases: RunLeases, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait until the worker has no run and there is none that it could take, and drain it."""
    left = True
    while left:
        sleep(LOOK_SECONDS)
        with suppress(StoreError):
            left = any(worker.could_take(lease) for lease in leases.living()) or worker.is_at_work
    worker.drain()
