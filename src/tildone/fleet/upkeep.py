"""What a worker does all the time: it renews its leases, and takes lapsed ones from the workers that had them.

Theory of operation. The heartbeat renews all leases of the worker in one call, and tells the supervisors of its agents
the new deadline: the time before that call, plus the lease, less the margin. A lease that was not renewed has passed to
another worker, so its agent is ended. While the store cannot be reached, nothing is told, and the supervisors freeze
the agents at their deadlines.

The reaper takes a lease because its time has passed only if it has seen the store for a while without a gap. After an
outage, or if this worker itself was stopped, the owners of lapsed leases get time to renew them first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import UTC
from itertools import count
from threading import Condition, Event
from zoneinfo import ZoneInfo

from tildone.base import StoreError, UsageError, replace
from tildone.fleet.engine import Engine, EssentialThread
from tildone.fleet.process_tree import boot_seconds
from tildone.fleet.results import MIN_FREE_MB
from tildone.fleet.running import Execution
from tildone.log.cron import next_time, parse_cron
from tildone.log.settings import FleetSettings
from tildone.plan.lists import RunSchedule, WorkerInfo
from tildone.plan.runs import Lease, LeaseRequest
from tildone.plan.text.safe import printable
from tildone.stores.leasing import RunLeases

REQUEST_SECONDS = 0.5
"""How long a person's request may wait for the next renewal, unless that comes sooner."""

RETRY_SECONDS = 0.5
MAX_GAP = 3
"""The reaper has seen the store without a gap if no more than so many of its intervals passed between two looks."""

YEAR_MS = 365 * 86_400_000
MB = 1_000_000
TIDY_SECONDS = 3600.0
"""How often what an engine keeps of runs that have ended is removed."""


class Heartbeat:
    """Renews the leases of a worker.

    `on_ask` is called with what a person asks of the worker itself, `tell` with a line when the store begins to fail
    and when it works again.
    """

    def __init__(
        self,
        leases: RunLeases,
        slots: Slots,
        worker: WorkerInfo,
        on_ask: Callable[[LeaseRequest], None],
        tell: Callable[[str], object] = str,
    ) -> None:
        self._leases, self._slots, self._worker, self._on_ask, self._tell = leases, slots, worker, on_ask, tell
        self._closed, self._fails = Event(), False

    def start(self) -> None:
        EssentialThread("heartbeat", self._run).start()

    def close(self) -> None:
        self._closed.set()

    def beat(self) -> FleetSettings:
        """Renew all leases once, pass on what people ask, and return the settings of the fleet."""
        settings = self._leases.settings()
        running, before = self._slots.running(), boot_seconds()
        renewed = {each.fence: each.request for each in self._leases.renew([each.fence for each in running])}
        deadline = settings.deadline_after(before)
        for execution in running:
            if execution.fence in renewed:
                execution.renewed(deadline, renewed[execution.fence])
            else:
                execution.lost()
        ask = self._leases.beat(replace(self._worker, slots=self._slots.offered))
        if ask is not LeaseRequest.NOTHING:
            self._on_ask(ask)
        return settings

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                revision = self._leases.revision()
                seconds = self.beat().heartbeat / 1000
                self._tell_outage()
                # A request is noticed soon, but a busy fleet does not renew at every change.
                self._closed.wait(min(REQUEST_SECONDS, seconds))
                self._leases.wait(revision, max(0.0, seconds - REQUEST_SECONDS))
            except StoreError as error:
                if not self._closed.wait(RETRY_SECONDS):
                    self._tell_outage(error)

    def _tell_outage(self, error: StoreError | None = None) -> None:
        """Tell of an error of the store, or that there is none any more, once each."""
        fails = error is not None
        if fails is not self._fails:
            told = f"the store fails, and is tried again: {printable(str(error))}" if fails else "the store works again"
            self._tell(told)
        self._fails = fails


class Reaper:
    """Takes lapsed leases from their owners, queues what is due, and has the engine drop what was lost.

    `on_look` is called at each look, `on_end` with a run that has failed because it was lost too often, `tell` with
    lines for the worker's log.
    """

    def __init__(
        self,
        leases: RunLeases,
        engine: Engine,
        clock: Callable[[], float] = boot_seconds,
        on_look: Callable[[], None] | None = None,
        on_end: Callable[[Lease], None] | None = None,
        tell: Callable[[str], object] = str,
    ) -> None:
        self._leases, self._engine, self._clock = leases, engine, clock
        self._on_look, self._on_end, self._tell = on_look, on_end, tell
        self._closed = Event()
        self._seen_since, self._seen_last = 0.0, 0.0
        self._tidied = clock()

    def start(self) -> None:
        EssentialThread("reaper", self._run).start()

    def close(self) -> None:
        self._closed.set()

    def look(self) -> FleetSettings:
        """Look once, and return the settings of the fleet."""
        settings, now = self._leases.settings(), self._clock()
        if not self._seen_since or now - self._seen_last > MAX_GAP * settings.reaper / 1000:
            self._seen_since = now
        self._seen_last = now
        lost = self._leases.reap(int((now - self._seen_since) * 1000))
        for lease in lost:
            if self._on_end and not lease.state.is_active:
                self._on_end(lease)
        tidies = self._clock() - self._tidied >= TIDY_SECONDS
        self._engine.upkeep(lost, tidies=tidies)
        if tidies:
            self._tidied = self._clock()
        if self._on_look:
            self._on_look()
        for name, run in self._leases.tick(due_after).items():
            queued = f"queued {run}" if run else "skipped: its last run has not ended, or its plan cannot be read"
            self._tell(f"schedule {name}: {queued}")
        return settings

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                seconds = self.look().reaper / 1000
            except StoreError:
                self._seen_since, seconds = 0.0, RETRY_SECONDS
            self._closed.wait(seconds)


def due_after(schedule: RunSchedule, after: int) -> int:
    """Return when a schedule is next due. One that cannot be read is due in a year: it does not hold up the others."""
    try:
        return next_time(parse_cron(schedule.cron), after, ZoneInfo(schedule.zone) if schedule.zone else UTC)
    except (UsageError, ValueError, KeyError, OSError):
        return after + YEAR_MS


def worker_id() -> str:
    """Return a new id of a worker in this process: `host/pid/nonce`. It is never used again."""
    return f"{os.uname().nodename}/{os.getpid()}/{os.urandom(4).hex()}"


class Slots:
    """Slots, each with an owner: the name under which its next lease is taken.

    A slot keeps its owner until it has a lease, so that a claim whose answer was lost is recognised. `tell` is given a
    line when the disk of the folder `home` has too little space, and when that is over.
    """

    def __init__(
        self, worker: str, slots: int, home: str, min_free_mb: int = MIN_FREE_MB, tell: Callable[[str], object] = str
    ) -> None:
        self._worker, self._home, self._min_free_mb, self._tell = worker, home, min_free_mb, tell
        self._slots, self._is_full = slots, False
        self._numbers = count(1)
        self._free = [self._owner() for _ in range(slots)]
        self._running: dict[str, Execution] = {}
        self._changed = Condition()
        self._closed = False

    @property
    def offered(self) -> int:
        """How many slots the worker offers: none while the disk is nearly full."""
        with self._changed:
            return self._slots if self._has_space() else 0

    def free(self, seconds: float) -> list[str]:
        """Wait until a slot is free, for a limited time, and return the owners of the free ones.

        While the disk is nearly full, and once the slots are closed, there are none.
        """
        with self._changed:
            takes = lambda: bool(self._free) and not self._closed and self._has_space()  # noqa: E731  used once
            return list(self._free) if self._changed.wait_for(takes, seconds) else []

    def fill(self, execution: Execution) -> bool:
        """Put a run into the slot of its owner; return False if that is not free, or if the slots are closed."""
        owner = execution.lease.owner
        with self._changed:
            if self._closed or owner not in self._free:
                return False
            self._free.remove(owner)
            self._running[owner] = execution
            return True

    def empty(self, execution: Execution) -> None:
        """Free the slot of a run that has ended, under the name of another owner."""
        with self._changed:
            del self._running[execution.lease.owner]
            self._free.append(self._owner())
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True

    def running(self) -> list[Execution]:
        with self._changed:
            return list(self._running.values())

    def _has_space(self) -> bool:
        free = free_mb(self._home)
        is_full = free < self._min_free_mb
        if is_full is not self._is_full:
            self._is_full = is_full
            state = "takes no run" if is_full else "takes runs again"
            self._tell(f"the disk of {self._home} has {free:,} MB of space left: the worker {state}")
        return not is_full

    def _owner(self) -> str:
        return f"{self._worker}/{next(self._numbers)}"


def free_mb(folder: str) -> int:
    """Return how much space is left on the disk of a folder, which need not exist yet, in megabytes."""
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return shutil.disk_usage(folder or os.curdir).free // MB
