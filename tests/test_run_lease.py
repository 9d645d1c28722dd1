"""A process that a worker of a fleet has started writes only while its run is its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plans import plan_of
from tildone.app.opening import run_leases, session_in, store_at
from tildone.base.errors import RunFenced, UsageError
from tildone.plan.dialects import BY_HAND
from tildone.plan.events import PlanChanged
from tildone.plan.model import Task
from tildone.plan.ops import Append
from tildone.plan.runs import LEASE_VARIABLE, Claimer, Lease, NewRun
from tildone.stores.memory import MemoryStore


@pytest.fixture
def lease(tmp_path: Path) -> Lease:
    """A run of the plan `s` that a worker holds."""
    store = store_at(str(tmp_path / "plans.db"))
    leases = run_leases(store)
    leases.add(NewRun("r1", "s"), [PlanChanged(plan_of("one"))])
    [held] = leases.claim(Claimer("here/1/a"), ["here/1/a/1"])
    store.close()
    return held


def release(folder: Path, lease: Lease) -> None:
    store = store_at(str(folder / "plans.db"))
    run_leases(store).release(lease.fence, "")
    store.close()


def tildone(folder: Path, lease: str, *words: str) -> "subprocess.CompletedProcess[str]":
    known = {"TILDONE_STORE": str(folder / "plans.db"), "TILDONE_SESSION": "s", "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "tildone", *words],
        env=os.environ | known | {LEASE_VARIABLE: lease},
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_command_writes_while_the_run_is_held_and_not_after(tmp_path: Path, lease: Lease) -> None:
    first = tildone(tmp_path, str(lease.fence), "todo", "add", "two")
    release(tmp_path, lease)
    second = tildone(tmp_path, str(lease.fence), "todo", "add", "three")
    reading = tildone(tmp_path, str(lease.fence), "todo")

    assert (first.returncode, first.stderr) == (0, "")
    assert second.returncode == 6
    assert second.stderr == ("tildone: run r1 has passed to another worker or has ended; this process must stop\n")
    assert reading.returncode == 0
    assert "two" in reading.stdout
    assert "three" not in reading.stdout


def test_a_lease_that_cannot_be_read_is_an_error(tmp_path: Path, lease: Lease) -> None:
    """Without it, a process would write without a fence."""
    refused = tildone(tmp_path, "r1", "todo", "add", "two")

    assert refused.returncode == 2
    assert "$TILDONE_LEASE is 'r1', which is not of the form run/hand/epoch" in refused.stderr
    assert lease.is_held


def test_every_session_of_the_process_is_fenced(tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEASE_VARIABLE, str(lease.fence))
    store = store_at(str(tmp_path / "plans.db"))
    session_in(store, "another", BY_HAND).change([Append((Task("One"),))])
    release_without_fence(tmp_path, lease, monkeypatch)

    with pytest.raises(RunFenced):
        session_in(store, "another", BY_HAND).change([Append((Task("Two"),))])

    store.close()


def release_without_fence(folder: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEASE_VARIABLE)
    release(folder, lease)


def test_a_store_without_leases_is_refused() -> None:
    with pytest.raises(UsageError, match="a fleet needs a store in a SQLite file or in a PostgreSQL database"):
        run_leases(MemoryStore())
