"""Leases in a SQLite store: the clock, the processes and the restarts of its machine, and older files."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.stores.leases import LONG, Fleet, fleet_on_sqlite, scribe
from tests.stores.test_sqlite_schema import first_schema
from tildone.base.errors import StoreError
from tildone.log.settings import FleetSettings
from tildone.plan.events import Actor, Event, Labelled
from tildone.plan.runs import Claimer, NewRun, RunLost
from tildone.stores.sqlite.leases import boot, is_alive, moment, this_machine
from tildone.stores.sqlite.schema import SCHEMA_VERSION
from tildone.stores.sqlite.store import SqliteStore

LEASE = FleetSettings().lease


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Fleet]:
    with fleet_on_sqlite(tmp_path) as fleet:
        yield fleet


def test_the_lease_of_a_process_that_has_ended_lapses_at_once(machine: Fleet) -> None:
    """Even for a reaper that has just begun."""
    machine.add()
    machine.claim("here/7/a")
    machine.clock.ended.add(7)

    assert len(machine.leases.reap(0)) == 1

    assert machine.facts()[-1] == RunLost("r1", 0, 2, "its worker has ended", 1, 1)


def test_a_lease_of_another_start_of_the_machine_lapses_at_once(machine: Fleet) -> None:
    """Its clock counts from another time."""
    machine.held()
    machine.clock.boot = "boot-2/pid:1"
    machine.clock.time = 5

    assert len(machine.leases.reap(0)) == 1


def test_a_process_of_another_machine_or_container_is_not_looked_up(machine: Fleet) -> None:
    machine.clock.ended.add(7)
    machine.add("r1")
    machine.claim("there/7/a")
    machine.add("r2")
    machine.claim("here/7/b")
    machine.clock.boot = "boot-1/pid:2"

    assert machine.leases.reap(0) == []


def test_a_renewal_after_a_restart_counts_from_it(machine: Fleet) -> None:
    lease = machine.held()
    machine.clock.boot = "boot-2/pid:1"

    machine.leases.renew([lease.fence])

    assert machine.leases.reap(0) == []


def test_this_machine_has_a_clock_and_knows_its_processes() -> None:
    first, second = moment(), moment()
    assert first.clock <= second.clock
    assert first.boot == second.boot == boot()
    assert is_alive(os.getpid())
    assert is_alive(1)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    # It has ended, but its parent has not been told.
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(ended.pid)
    ended.wait()
    assert not is_alive(ended.pid)


def test_the_lease_of_a_killed_worker_is_taken_at_once(tmp_path: Path) -> None:
    """On the real clock, with a real process."""
    store = SqliteStore(tmp_path / "plans.db")
    store.append("plan", Event("a", None, 1, Actor.USER, Labelled("x", "y")))
    leases = store.leases(scribe())
    leases.add(NewRun("r1", "plan"))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        name = f"{this_machine().host}/{worker.pid}/n"
        leases.claim(Claimer(name), [f"{name}/1"])
        assert leases.reap(LONG) == []

        worker.kill()

    assert [lease.run for lease in leases.reap(0)] == ["r1"]
    store.close()


def test_the_store_itself_refuses_a_second_holder_of_a_repository(tmp_path: Path, machine: Fleet) -> None:
    machine.held("r1", repo="/app")
    machine.add("r2", repo="/app")

    with pytest.raises(apsw.ConstraintError, match="repo"):
        apsw.Connection(str(tmp_path / "plans.db")).execute("UPDATE leases SET owner = 'x' WHERE run = 'r2'")


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_store_of_an_older_schema_gets_leases(tmp_path: Path, version: int) -> None:
    path = first_schema(tmp_path / "plans.db", version)
    read = SqliteStore(path, read_only=True)
    leases = read.leases(scribe())
    assert (leases.look(), leases.workers(), leases.schedules(), leases.limits()) == ([], [], [], [])
    assert (leases.settings(), leases.revision()) == (FleetSettings(), 0)
    with pytest.raises(StoreError):
        leases.add(NewRun("r1", "s"))
    read.close()

    store = SqliteStore(path)
    session = store.sessions()[0].name
    store.leases(scribe()).add(NewRun("r1", session))

    assert store.leases(scribe()).look()[0].lease.session == session
    store.close()
