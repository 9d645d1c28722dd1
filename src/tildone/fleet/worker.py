"""A worker of a fleet: it takes runs, works on them in its slots, renews their leases, and ends when it is drained.

Its threads: one that claims runs (`engine`), the heartbeat and the reaper (`upkeep`), and one for each run (`running`).
The calling thread only waits for orders. `drain` and `stop` may be called by a signal handler in that thread: they put
a word into a `SimpleQueue`, which is safe there, while the locks of an `Event` are not.
"""

import os
import sys
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from tildone import stores
from tildone.app.traces import RunTraces
from tildone.base import Registry, StoreError, UsageError, replace
from tildone.base.ids import CLOCK, id_maker, local_time, now
from tildone.base.private import make_private_folder
from tildone.base.secrets import Redactor
from tildone.fleet.drivers import AGENTS
from tildone.fleet.drivers.launch import Driver
from tildone.fleet.engine import EngineFor, TableEngine
from tildone.fleet.handover import RunOrder
from tildone.fleet.notices import PersonNotices
from tildone.fleet.permissions import LeftRuns, could_take
from tildone.fleet.releasing import STORE_VARIABLE
from tildone.fleet.results import WorkerOptions, WorkSite
from tildone.fleet.running import Execution
from tildone.fleet.upkeep import Heartbeat, Reaper, Slots, worker_id
from tildone.log.lease_rules import KILLS_ITS_WORKER
from tildone.plan import lists as workers
from tildone.plan.dialects import plan_in_entry
from tildone.plan.runs import Claimer, Lease, LeaseRequest
from tildone.plan.text.safe import printable
from tildone.stores import OpenOptions, parse_address
from tildone.stores.leasing import RunLeases
from tildone.version import __version__

STOP_SECONDS = 2.0
"""How long a worker that stops waits for its runs after their grace period."""

LOOK_SECONDS = 1.0


class Worker:
    """A worker. `store` is the address of the store of the leases, which its agents open as well.

    `traces` tells of its runs, if they are traced.
    """

    def __init__(
        self,
        leases: RunLeases,
        options: WorkerOptions,
        store: str,
        *,
        agents: Mapping[str, Driver] | Registry[Driver, str] = AGENTS,
        engine: EngineFor = TableEngine,
        traces: RunTraces | None = None,
    ) -> None:
        """Make a worker that has not begun.

        Raises UsageError if it would have no slot, StoreError if its engine cannot be started.
        """
        if options.slots < 1:
            raise UsageError(f"a worker has at least one slot, not {options.slots}")
        self.id = worker_id()
        self._leases, self._options, self._address = leases, options, store
        self._traces = traces
        self._agents = {name: agents[name] for name in agents if name in options.agents}
        labels = tuple(sorted(options.labels))
        self._who = Claimer(self.id, labels, version=__version__)
        self._engine = engine(leases, self._who)
        self._slots = Slots(self.id, options.slots, options.home, options.min_free_mb, _tell)
        host, pid = self.id.split("/")[:2]
        entry = workers.WorkerInfo(self.id, host, int(pid), __version__, slots=options.slots, labels=labels)
        on_ask = lambda ask: self.drain() if ask is LeaseRequest.DRAIN else None  # noqa: E731  used once
        self._heartbeat = Heartbeat(leases, self._slots, entry, on_ask, _tell)
        self._left = LeftRuns(leases, self.id)
        self._notices: PersonNotices | None = None
        self._reaper = Reaper(leases, self._engine, on_look=self._left.look, on_end=self._ended_when_lost, tell=_tell)
        self._orders: SimpleQueue[RunOrder] = SimpleQueue()
        self._exit_code = 0

    @property
    def takes_nothing(self) -> bool:
        """Whether it takes no run now: all slots are in use, the disk is nearly full, or it is being drained."""
        return not self._slots.free(0)

    @property
    def is_at_work(self) -> bool:
        return bool(self._slots.running())

    def could_take(self, lease: Lease) -> bool:
        return could_take(lease, self._who, now()) or lease in self._left

    def drain(self) -> None:
        """Take nothing more, and end when the runs have ended."""
        self._orders.put(RunOrder.DRAIN)

    def stop(self) -> None:
        self._orders.put(RunOrder.STOP)

    def fail(self) -> None:
        """Stop, and end with exit code 1."""
        self._exit_code = 1
        self.stop()

    def work(self) -> int:
        make_private_folder(self._options.home)
        # The supervisors inherit it: their release command opens the store, and an argument would be visible to others.
        os.environ[STORE_VARIABLE] = self._address
        environ = dict(os.environ)
        store = stores.open_store(parse_address(self._address), OpenOptions(plan_in_entry=plan_in_entry))
        notices = self._notices = PersonNotices(self._options.notify, store, self._leases, _tell)
        site = WorkSite(
            self._leases,
            store,
            self._address,
            replace(self._options, home=os.path.abspath(self._options.home)),
            self._agents,
            environ,
            Redactor(environ),
            id_maker(now, os.urandom),
            self._left,
            _tell,
            notices,
        )
        self._heartbeat.beat()
        options = self._options
        slots = f"{options.slots} slot{'' if options.slots == 1 else 's'}"
        labels = f", labels {', '.join(map(printable, sorted(options.labels)))}" if options.labels else ""
        allowed = "" if options.allow else ". It permits no command: use --allow PATTERN"
        ends = "Ctrl-C once: it finishes; twice: it stops."
        _tell(f"worker {self.id} takes runs: {slots}{labels}{allowed}. {ends}")
        self._heartbeat.start()
        self._reaper.start()
        self._engine.on_begin(self._slots.free, lambda lease: self._begin(site, lease))
        self._wait()
        self._engine.end()
        notices.close()
        self._reaper.close()
        self._heartbeat.close()
        try:
            self._leases.leave(self.id)
        except StoreError as error:
            _tell(f"the worker could not be removed from the list: {error}")
        if self._traces:
            self._traces.close()
        return self._exit_code

    def _ended_when_lost(self, lease: Lease) -> None:
        if self._traces:
            self._traces.over(lease)
        if self._notices:
            self._notices.ended(lease, KILLS_ITS_WORKER)

    def _wait(self) -> None:
        order, until = RunOrder.GO, float("inf")
        while order is RunOrder.GO or (self._slots.running() and monotonic() < until):
            try:
                given = self._orders.get(timeout=LOOK_SECONDS)
            except Empty:
                continue
            if given > order:
                order, stops, running = given, given is RunOrder.STOP, len(self._slots.running())
                runs = f"{running} run{'' if running == 1 else 's'}"
                _tell(f"stopping {runs}" if stops else f"taking no more runs; {runs} to finish")
                self._slots.close()
                self._engine.close()
                until = monotonic() + self._options.grace + STOP_SECONDS if stops else until
                for execution in self._slots.running():
                    execution.obey(RunOrder.STOP) if stops else execution.keep()

    def _begin(self, site: WorkSite, lease: Lease) -> Thread:
        """Start the work on a lease, in a thread of its own; give it back if the worker takes nothing more."""
        environ = self._traces.begin(lease) if self._traces else {}
        execution = Execution(replace(site, environ={**site.environ, **environ}), lease)
        thread = Thread(target=self._run, args=(execution,), name=f"run {lease.run}", daemon=True)
        if self._slots.fill(execution):
            thread.start()
        elif lease.fence not in [other.fence for other in self._slots.running()]:
            self._leases.release(lease.fence, "drained")
            if self._traces:
                self._traces.end(lease)
        return thread

    def _run(self, execution: Execution) -> None:
        try:
            execution.run()
        finally:
            # After a defect, too: the lease lapses, and the other runs go on.
            self._slots.empty(execution)
            if self._traces:
                self._traces.end(execution.lease)
            self._orders.put(RunOrder.GO)


def _tell(line: str) -> None:
    # In one piece: several threads tell something.
    sys.stderr.write(f"{local_time(now(), CLOCK)} {line}\n")
    sys.stderr.flush()
