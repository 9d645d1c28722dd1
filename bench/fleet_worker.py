"""A worker for the benchmark of the fleet, run as a program: `python -m bench.fleet_worker KIND STORE NAME SLOTS`.

Of the kind `runs`, it does short runs with the engine of the settings: three tasks, each with two entries in the log,
and no process. `own` does jobs of DBOS itself, with three steps. Both print a line when they are ready, begin at the
first line of their input, and end with it. `idle` is a whole worker, which is ended by SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from threading import Thread
from types import SimpleNamespace

from tildone.app.opening import run_leases, store_at
from tildone.base.ids import id_maker, now
from tildone.fleet.engines import engine_for
from tildone.fleet.results import WorkerOptions
from tildone.fleet.upkeep import Reaper, Slots
from tildone.fleet.worker import Worker
from tildone.plan.runs import Claimer, Kept, Lease, WorkOutcome
from tildone.stores import parse_address

TASKS, ENTRIES = 3, 2
COMMIT = "0" * 40
OWN_QUEUE, OWN_JOB = "own", "job"
POLL_SECONDS = 0.2


def runs(address: str, name: str, slots: int) -> None:
    """Do runs."""
    leases, new_id = run_leases(store_at(address)), id_maker(now, os.urandom)
    places = Slots(name, slots, ".")
    engine = engine_for(leases.settings().engine, parse_address(address))(leases, Claimer(name))
    reaper = Reaper(leases, engine)

    def run(execution: SimpleNamespace) -> None:
        lease: Lease = execution.lease
        for task in range(1, TASKS + 1):
            for _ in range(ENTRIES):
                leases.append(
                    lease.fence, Kept(lease.run, lease.hand, lease.epoch, "refs/heads/main", COMMIT, task), new_id()
                )
        leases.close(lease.fence, WorkOutcome.DONE)
        places.empty(execution)  # type: ignore[arg-type]  # of an execution, it needs the lease

    def begin(lease: Lease) -> Thread:
        execution = SimpleNamespace(lease=lease)
        places.fill(execution)  # type: ignore[arg-type]  # as above
        thread = Thread(target=run, args=(execution,), daemon=True)
        thread.start()
        return thread

    print("ready", flush=True)
    sys.stdin.readline()
    reaper.start()
    engine.on_begin(places.free, begin)
    sys.stdin.read()
    reaper.close()
    engine.end()


def own(address: str, name: str, slots: int) -> None:
    """Do jobs of DBOS, with the settings of our engine."""
    # Late, so that the other kinds measure their own memory.
    from dbos import DBOS  # noqa: PLC0415  see above

    from tildone.fleet.dbos_engine import EngineTables  # noqa: PLC0415  the same

    tables = EngineTables(address)
    DBOS(config=tables.config(name))

    @DBOS.step()
    def task(number: int) -> int:
        return number

    @DBOS.workflow(name=OWN_JOB)
    def job() -> int:
        return sum(task(number) for number in range(TASKS))

    DBOS.listen_queues([OWN_QUEUE])
    DBOS.launch()
    print("ready", flush=True)
    sys.stdin.readline()
    tables.client.register_queue(OWN_QUEUE, worker_concurrency=slots, polling_interval_sec=POLL_SECONDS)
    sys.stdin.read()
    DBOS.destroy(destroy_registry=True)
    tables.close()


def idle(address: str, _name: str, slots: int) -> None:
    """Be a worker that has nothing to do."""
    leases = run_leases(store_at(address))
    with tempfile.TemporaryDirectory() as home:
        options = WorkerOptions(slots, frozenset(), (), frozenset(), home, 1.0)
        engine = engine_for(leases.settings().engine, parse_address(address))
        worker = Worker(leases, options, address, agents={}, engine=engine)
        signal.signal(signal.SIGTERM, lambda *_: worker.drain())
        print("ready", flush=True)
        worker.work()


if __name__ == "__main__":
    {"runs": runs, "own": own, "idle": idle}[sys.argv[1]](sys.argv[2], sys.argv[3], int(sys.argv[4]))
