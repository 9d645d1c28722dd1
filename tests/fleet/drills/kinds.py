"""The kinds of drills: what happens to a fleet in the middle of its tasks."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.fleet.drills import faults
from tests.fleet.drills.forms import Form
from tests.fleet.drills.harness import Drill
from tests.fleet.drills.places import Place

ALL = tuple(Place)
SERVER = (Place.TABLE, Place.DBOS)


@dataclass(frozen=True)
class Kind:
    """A kind of drill: what it does to a fleet, and the places where that can happen."""

    name: str
    title: str
    act: Callable[[Drill], None]
    places: tuple[Place, ...] = ALL
    own_server: bool = False
    is_suspended: bool = False
    """Whether a command may run on until its supervisor or its agent is awake again."""

    form: Callable[[Form], Form] = lambda form: form


KINDS = (
    Kind("kill", "`kill -9` of a worker", faults.kill),
    Kind("kill-released", "the same, its supervisors give the leases back", faults.kill_released),
    Kind("crash", "`kill -9` of the postmaster, back before the leases end", faults.crash, SERVER, own_server=True),
    Kind("outage", "the same, back after the leases have ended *", faults.outage, SERVER, own_server=True),
    Kind("stop", "SIGSTOP of a worker past the leases, SIGCONT *", faults.stop),
    Kind("suspend", "SIGSTOP of a worker, its supervisors, agents and commands *", faults.suspend, is_suspended=True),
    Kind("kill-all", "both workers killed, a third starts", faults.kill_all),
    Kind("stall-short", "the network of a worker stalls for less than a lease *", faults.stall_short, SERVER),
    Kind("stall-long", "the network of a worker stalls for longer than a lease *", faults.stall_long, SERVER),
    Kind("silent", "the connections of the only worker go silent, new ones work", faults.silent, SERVER),
    Kind("reset", "all connections of a worker are reset", faults.reset, SERVER),
    Kind("clock", "a worker's clock is 120 s fast, the other is killed", faults.clock),
    Kind("reapers", "8 reapers, a worker is killed", faults.reapers),
    Kind("add-down", "`add` while the database is down", faults.add_while_down, own_server=True),
    Kind("cancel", "cancelled in mid-task (seconds until its processes are gone)", faults.cancel),
    Kind("version", "workers of two protocols, one after the other killed", faults.versions),
    Kind("disk-full", "the disk of a worker is full", faults.disk_full),
    Kind(
        "failover", "`kill -9` of the primary server, its standby is promoted", faults.failover, SERVER, own_server=True
    ),
    Kind("reboot", "the machine restarts; leases of an hour", faults.reboot, (Place.SQLITE,)),
    Kind("dead-pid", "a worker and its supervisors are killed; leases of an hour", faults.dead_pid, (Place.SQLITE,)),
    Kind("emptied", "the engine's tables are emptied in mid-work", faults.emptied, (Place.DBOS,)),
    Kind("dispatches", "dispatches doubled, late, lost and revived", faults.dispatches, (Place.DBOS,)),
)
