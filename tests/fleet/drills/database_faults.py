"""Drills in which the database, or the network to it, fails."""

import os
import subprocess
import sys
from pathlib import Path
from time import sleep, time

from tests.fleet.drills.harness import Drill
from tests.fleet.drills.outcome import losses
from tests.fleet.drills.standby import standby_of
from tests.fleet.drills.worker_faults import assert_gone
from tests.suite.waiting import until
from tildone.fleet.process_tree import boot_seconds

WAITING = "waiting up to"


def crash(drill: Drill) -> None:
    """Kill the server, and start it again before the leases end."""
    drill.add(drill.form.tasks)
    drill.start_two(drill.form.quick)
    _break_for(drill, drill.form.lease / 2)


def outage(drill: Drill) -> None:
    """Kill the server, and start it again after the leases have ended: the agents wait, frozen."""
    drill.add(2)
    drill.start_two(drill.form.slow)
    started = _break_for(drill, drill.form.lease * 1.4)
    end = drill.fault_at + drill.form.lease
    running = [mark for mark in drill.marks("tick") if end < mark.at < started]
    assert not running, f"{len(running)} marks of agents that should be frozen"


def _break_for(drill: Drill, seconds: float) -> float:
    """Kill the server, start it after a while, and return when it was started."""
    drill.fault()
    drill.ground.kill_server()
    sleep(max(0, drill.fault_at + seconds - boot_seconds()))
    started, wall = boot_seconds(), time() * 1000
    drill.ground.start_server()
    drill.wait_until_ended()
    earliest = wall + drill.form.settings.grace
    lost = [at for lease in drill.all_leases() for at in losses(drill, lease)]
    assert all(at >= earliest for at in lost), "a lease was taken before its owner had time to renew it"
    return started


def stall_short(drill: Drill) -> None:
    """Let the network of a worker stall for less than a lease."""
    _stall(drill, drill.form.lease * 0.5)


def stall_long(drill: Drill) -> None:
    """Let the network of a worker stall for longer than a lease, until others work on its runs."""
    _stall(drill, drill.form.lease * 1.5)


def _stall(drill: Drill, seconds: float) -> None:
    form, proxy = drill.form, drill.ground.proxy()
    drill.add(2)
    first, _ = drill.start_two(form.slow, store=proxy.address)
    held = drill.held_by(first)
    drill.fault()
    proxy.stall()
    if seconds > form.lease:
        until(lambda: drill.have_heirs(held))
    sleep(max(0, drill.fault_at + seconds - boot_seconds()))
    proxy.go_on()
    drill.wait_until_ended()
    assert_gone(held)


def silent(drill: Drill) -> None:
    """Let nothing pass through the connections of the only worker; it opens new ones."""
    form, proxy = drill.form, drill.ground.proxy()
    drill.add(form.tasks)
    drill.start(form.runs, form.quick, store=proxy.address)
    drill.wait_until_begun()
    drill.fault()
    proxy.silence()
    drill.wait_until_ended()


def reset(drill: Drill) -> None:
    """Reset all connections of a worker and its agents, several times."""
    form, proxy = drill.form, drill.ground.proxy()
    drill.add(form.tasks)
    drill.start_two(form.quick, store=proxy.address)
    drill.fault()
    for _ in range(3):
        proxy.reset()
        sleep(0.2)
    drill.wait_until_ended()


def add_while_down(drill: Drill) -> None:
    """Queue runs with the command line while the database does not answer; then it does."""
    form = drill.form
    names = [f"{run}.md" for run in drill.runs]
    for name in names:
        tasks = "".join(f"- [ ] task {number}: `true`\n" for number in range(1, form.tasks + 1))
        Path(drill.folder, name).write_text(tasks, encoding="utf-8")
    environ = os.environ | {
        "TILDONE_STORE": drill.ground.address,
        "HOME": str(drill.folder),
        "XDG_DATA_HOME": str(drill.folder),
    }
    with drill.ground.down():
        drill.fault()
        words = [sys.executable, "-m", "tildone", "fleet", "add", *names]
        quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
        adding = subprocess.Popen(words, cwd=drill.folder, env=environ, stdout=quiet, stderr=pipe, text=True)
        assert adding.stderr is not None
        said = adding.stderr.readline()
        assert WAITING in said, said
        assert adding.poll() is None
    drill.times.append(boot_seconds() - drill.fault_at)
    assert adding.wait() == 0
    adding.stderr.close()
    assert len(drill.all_leases()) == form.runs
    drill.start(form.runs, form.quick)
    drill.wait_until_ended()


def failover(drill: Drill) -> None:
    """Kill the server and promote its standby; the workers know both."""
    form, server = drill.form, drill.ground.server
    assert server is not None
    standby = drill.ground.cleaning.enter_context(standby_of(server))
    drill.move_to(f"{drill.ground.address},{standby.folder}&target_session_attrs=read-write")
    drill.add(form.tasks)
    drill.start_two(form.quick)
    drill.fault()
    drill.ground.kill_server()
    standby.order("promote")
    drill.wait_until_ended()
