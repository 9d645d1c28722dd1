"""Drills in which workers are killed or stopped."""

import signal

from tests.fleet.agents import processes_of
from tests.fleet.drills.harness import Drill, Process
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.base import replace
from tildone.base.errors import StoreBusy
from tildone.plan.runs import Lease

MANY_REAPERS, SOON_MS = 4, 50


def kill(drill: Drill) -> None:
    """Kill a worker whose supervisors cannot give its leases back: they lapse, or its process is known to be gone."""
    _kill_one(drill, releases=False)


def kill_released(drill: Drill) -> None:
    """Kill a worker. Its supervisors end the agents, and give the leases back."""
    _kill_one(drill, releases=True)


def _kill_one(drill: Drill, *, releases: bool) -> None:
    form = drill.form
    drill.add(form.tasks)
    first, _ = drill.start_two(form.quick, releases=releases)
    held = drill.held_by(first)
    drill.fault()
    drill.kill(first)
    drill.wait_until_ended()
    assert drill.have_heirs(held), "a run was not taken over"
    assert_gone(held)


def kill_all(drill: Drill) -> None:
    """Kill both workers, and start a third."""
    form = drill.form
    drill.add(form.tasks)
    both = drill.start_two(form.quick, releases=False)
    drill.fault()
    for worker in both:
        drill.kill(worker)
    drill.start(form.runs, form.quick)
    drill.wait_until_ended()


def reapers(drill: Drill) -> None:
    """Kill a worker while two others with four reapers each look for lapsed leases all the time."""
    drill.configure(replace(drill.form.settings, reaper=SOON_MS))
    form = drill.form
    drill.add(form.tasks)
    first = drill.start(form.runs, form.quick, releases=False)
    drill.wait_until_begun()
    for _ in range(2):
        drill.start(form.runs, form.quick, reapers=MANY_REAPERS)
    until(lambda: len(drill.leases.workers()) == 3)
    drill.fault()
    drill.kill(first)
    drill.wait_until_ended()
    assert all(lease.attempt <= 2 for lease in drill.all_leases()), "one loss made several attempts"


def stop(drill: Drill) -> None:
    """Stop a worker until others work on its runs, and then let it continue."""
    form = drill.form
    drill.add(2)
    first, _ = drill.start_two(form.slow)
    held = drill.held_by(first)
    drill.fault()
    pause(drill, first)
    until(lambda: drill.have_heirs(held))
    first.send_signal(signal.SIGCONT)
    drill.wait_until_ended()
    assert_gone(held)


def pause(drill: Drill, worker: Process) -> None:
    """Stop a worker; not while it writes to a file, which then nobody else could write to."""
    while True:
        worker.send_signal(signal.SIGSTOP)
        if not drill.ground.is_one_machine or can_write(drill):
            return
        worker.send_signal(signal.SIGCONT)


def can_write(drill: Drill) -> bool:
    store = store_at(drill.ground.address, timeout=1)
    try:
        leases = run_leases(store)
        leases.configure(leases.settings())
    except StoreBusy:
        return False
    finally:
        store.close()
    return True


def assert_gone(leases: list[Lease]) -> None:
    """Check that no process of these leases is left."""
    until(lambda: not any(processes_of(str(lease.fence)) for lease in leases))
