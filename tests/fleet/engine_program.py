"""A worker without agents, run as a program: STORE WORKER SLOTS [LABEL…]. Its engine is that of the settings.

It prints a line for each run that it begins: the run, the hand, the attempt and the epoch. Commands on its input:
`end RUN` ends a run, `refuse RUN` refuses one, `busy` takes nothing until `free`, `tidy` has the engine tidy up,
`count LOOKS` counts the transactions of DBOS while it looks for queues so often, and `close` begins nothing more. It
ends with its input.
"""

import sys
from threading import Event, Lock, Thread
from time import sleep
from types import SimpleNamespace

from tildone.app.opening import run_leases, store_at
from tildone.base import StoreError
from tildone.fleet.engine import Engine
from tildone.fleet.engines import engine_for
from tildone.fleet.upkeep import Reaper, Slots
from tildone.plan.runs import Claimer, Lease, WorkOutcome
from tildone.stores import parse_address
from tildone.stores.leasing import RunLeases

RENEWAL_SECONDS = 0.5


class Program:
    """The worker."""

    def __init__(self, leases: RunLeases, worker: str, slots: int) -> None:
        self.leases, self.slots, self.lock = leases, Slots(worker, slots, "."), Lock()
        self.ended: dict[str, Event] = {}
        self.outcomes: dict[str, WorkOutcome] = {}
        self.busy = False

    def free(self, seconds: float) -> list[str]:
        """The owners of the free slots."""
        owners = self.slots.free(seconds)
        if self.busy:
            sleep(min(seconds, RENEWAL_SECONDS))
        return [] if self.busy else owners

    def begin(self, lease: Lease) -> Thread:
        """Begin a run, which lasts until it is ended by a command."""
        execution = SimpleNamespace(lease=lease)
        assert self.slots.fill(execution)  # type: ignore[arg-type]  # of an execution, it needs the lease
        with self.lock:
            self.ended[lease.run] = Event()
        print(lease.run, lease.hand, lease.attempt, lease.epoch, flush=True)
        thread = Thread(target=self.run, args=(execution,), daemon=True)
        thread.start()
        return thread

    def run(self, execution: SimpleNamespace) -> None:
        """Hold a lease until its run is ended."""
        fence = execution.lease.fence
        while not self.ended[execution.lease.run].wait(RENEWAL_SECONDS):
            try:
                self.leases.renew([fence])
            except StoreError:
                continue
        self.leases.close(fence, self.outcomes.get(fence.run, WorkOutcome.DONE))
        self.slots.empty(execution)  # type: ignore[arg-type]  # as above

    def obey(self, command: str, engine: Engine) -> None:
        """Do what a line of the input says."""
        word, _, run = command.partition(" ")
        if word in ("end", "refuse"):
            self.outcomes[run] = WorkOutcome.REFUSED if word == "refuse" else WorkOutcome.DONE
            self.ended[run].set()
        elif word == "close":
            engine.close()
            print("closed", flush=True)
        elif word == "tidy":
            engine.upkeep((), tidies=True)
            print("tidied", flush=True)
        elif word == "count":
            print("counted", transactions(engine, int(run)), flush=True)
        else:
            self.busy = word == "busy"


def transactions(engine: Engine, looks: int) -> int:
    """Count the transactions of DBOS from one of its looks for queues, which it takes once a second, to a later one."""
    # Late, because the other engine needs neither.
    from sqlalchemy import event  # noqa: PLC0415  see above

    from tildone.fleet.dbos_engine import DbosEngine  # noqa: PLC0415  see above

    assert isinstance(engine, DbosEngine)
    begun: list[object] = []
    looked: list[int] = []
    ended = Event()

    def executed(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if "queues.application_name IS NULL" in statement:
            looked.append(len(begun))
            if len(looked) > looks:
                ended.set()

    event.listen(engine.tables.pool, "begin", begun.append)
    event.listen(engine.tables.pool, "before_cursor_execute", executed)
    ended.wait()
    return looked[looks] - looked[0]


def main(store: str, worker: str, slots: str, *labels: str) -> None:
    """Be the worker."""
    leases = run_leases(store_at(store))
    program = Program(leases, worker, int(slots))
    engine = engine_for(leases.settings().engine, parse_address(store))(leases, Claimer(worker, labels))
    reaper = Reaper(leases, engine)
    reaper.start()
    engine.on_begin(program.free, program.begin)
    print("ready", flush=True)
    for line in sys.stdin:
        program.obey(line.strip(), engine)
    reaper.close()
    engine.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
