"""The kinds of drills: what happens to a fleet in the middle of its tasks."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.fleet.drills import database_faults, dispatch_faults, machine_faults, other_faults, worker_faults
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
    Kind("kill", "`kill -9` of a worker", worker_faults.kill),
    Kind("kill-released", "the same, its supervisors give the leases back", worker_faults.kill_released),
    Kind(
        "crash",
        "`kill -9` of the postmaster, back before the leases end",
        database_faults.crash,
        SERVER,
        own_server=True,
    ),
    Kind("outage", "the same, back after the leases have ended *", database_faults.outage, SERVER, own_server=True),
    Kind("stop", "SIGSTOP of a worker past the leases, SIGCONT *", worker_faults.stop),
    Kind(
        "suspend",
        "SIGSTOP of a worker, its supervisors, agents and commands *",
        machine_faults.suspend,
        is_suspended=True,
    ),
    Kind("kill-all", "both workers killed, a third starts", worker_faults.kill_all),
    Kind("stall-short", "the network of a worker stalls for less than a lease *", database_faults.stall_short, SERVER),
    Kind("stall-long", "the network of a worker stalls for longer than a lease *", database_faults.stall_long, SERVER),
    Kind("silent", "the connections of the only worker go silent, new ones work", database_faults.silent, SERVER),
    Kind("reset", "all connections of a worker are reset", database_faults.reset, SERVER),
    Kind("clock", "a worker's clock is 120 s fast, the other is killed", machine_faults.clock),
    Kind("reapers", "8 reapers, a worker is killed", worker_faults.reapers),
    Kind("add-down", "`add` while the database is down", database_faults.add_while_down, own_server=True),
    Kind("cancel", "cancelled in mid-task (seconds until its processes are gone)", other_faults.cancel),
    Kind("version", "workers of two protocols, one after the other killed", other_faults.versions),
    Kind("disk-full", "the disk of a worker is full", machine_faults.disk_full),
    Kind(
        "failover",
        "`kill -9` of the primary server, its standby is promoted",
        database_faults.failover,
        SERVER,
        own_server=True,
    ),
    Kind("reboot", "the machine restarts; leases of an hour", machine_faults.reboot, (Place.SQLITE,)),
    Kind(
        "dead-pid",
        "a worker and its supervisors are killed; leases of an hour",
        machine_faults.dead_pid,
        (Place.SQLITE,),
    ),
    Kind("emptied", "the engine's tables are emptied in mid-work", dispatch_faults.emptied, (Place.DBOS,)),
    Kind("dispatches", "dispatches doubled, late, lost and revived", dispatch_faults.dispatches, (Place.DBOS,)),
)
