"""Drills in which the machine of a worker fails: it sleeps, restarts, has a wrong clock or a full disk."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.fleet.drills import harness
from tests.fleet.drills.harness import Drill, signal_all, tree_of
from tests.fleet.drills.marks import ticking
from tests.fleet.drills.worker_faults import assert_gone, can_write
from tests.suite.waiting import until
from tildone.base import replace

HOUR = 3_600_000
FAST_SECONDS = 120.0
DISK_BYTES, MIN_FREE_MB = 16_000_000, 1


def suspend(drill: Drill) -> None:
    """Stop a worker and everything below it until others work on its runs, and then let all of it continue."""
    form = drill.form
    drill.add(2)
    first, _ = drill.start_two(form.slow)
    held = drill.held_by(first)
    drill.fault()
    asleep = harness.suspend(first)
    while drill.ground.is_one_machine and not can_write(drill):
        signal_all(asleep, signal.SIGCONT)
        asleep = harness.suspend(first)
    until(lambda: drill.have_heirs(held))
    signal_all(asleep, signal.SIGCONT)
    drill.wait_until_ended()
    assert_gone(held)


def clock(drill: Drill) -> None:
    """Kill a worker; the clock of the other one is fast."""
    form = drill.form
    drill.add(form.tasks)
    # One after the other: if both began at once, the second could be faster and take all runs.
    first, _ = drill.start_two(form.quick, clock=FAST_SECONDS, releases=False)
    held = drill.held_by(first)
    drill.fault()
    drill.kill(first)
    drill.wait_until_ended()
    assert drill.have_heirs(held), "a run was not taken over"


def disk_full(drill: Drill) -> None:
    """Fill the disk of a worker, so that its tasks fail. They are done by another one."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    form, disk = drill.form, drill.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)], check=True)
    drill.ground.cleaning.callback(subprocess.run, ["umount", "-l", str(disk)], check=True)
    writing = f"{ticking(form.quick)}; echo written > file"
    drill.add(form.tasks)
    one = drill.start(
        form.runs,
        0,
        command=writing,
        home=str(disk / "home"),
        min_free_mb=MIN_FREE_MB,
        retry_ms=form.settings.lease // 2,
    )
    drill.wait_until_begun()
    drill.fault()
    _fill(disk / "other")
    until(lambda: not drill.held_by(one))
    drill.start(form.runs, form.quick)
    drill.wait_until_ended()


def _fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def reboot(drill: Drill) -> None:
    """End all processes of a machine, and start a worker after its next boot: leases of an hour lapse at once."""
    _power_off(drill)
    drill.start(drill.form.runs, drill.form.quick, boot="another/boot")
    drill.wait_until_ended()


def dead_pid(drill: Drill) -> None:
    """End a worker, its supervisors and agents: leases of an hour lapse at once, as the worker is known to be gone."""
    _power_off(drill)
    drill.start(drill.form.runs, drill.form.quick)
    drill.wait_until_ended()


def _power_off(drill: Drill) -> None:
    form = drill.form
    drill.configure(replace(form.settings, lease=HOUR))
    drill.add(form.tasks)
    worker = drill.start(form.runs, form.quick)
    drill.wait_until_begun()
    drill.fault()
    tree = tree_of(worker)
    # The supervisors first: they would give the leases back.
    signal_all(tree[1:], signal.SIGKILL)
    drill.kill(worker)
