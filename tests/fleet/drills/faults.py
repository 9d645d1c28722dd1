"""Drills: what happens to a fleet in the middle of its tasks.

Workers are killed or stopped; their machine sleeps, restarts, has a wrong clock or a full disk; the database or the
network to it fails; an engine loses its tables or its dispatches; people change their minds, and workers are upgraded.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from time import sleep, time

import pytest

from tests.fleet.agents import processes_of
from tests.fleet.drills import harness
from tests.fleet.drills.harness import Drill, Process, signal_all, tree_of
from tests.fleet.drills.marks import ticking
from tests.fleet.drills.outcome import losses
from tests.fleet.drills.places import standby_of
from tests.stores.postgres import execute, truncate
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.base import StoreBusy, replace
from tildone.fleet.process_tree import boot_seconds
from tildone.plan.events import PlanChanged
from tildone.plan.runs import PROTOCOL, Ask, Lease, LeaseState, NewRun, Work

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


SCHEMA = "tildone_dbos"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'tildone_dbos' AND tablename NOT LIKE '%migrations%'"
NOT_BEGUN = "DELETE FROM tildone_dbos.workflow_status WHERE status = 'ENQUEUED'"
KNOWN = "SELECT workflow_uuid FROM tildone_dbos.workflow_status"
SENT = "SELECT count(*) FROM tildone_dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"
ROUNDS, PAUSE_SECONDS = 5, 0.2


def emptied(drill: Drill) -> None:
    """Empty the tables of the engine, again and again, while half of the runs are worked on and the others wait."""
    form = drill.form
    drill.add(form.tasks)
    for _ in range(2):
        drill.start(max(1, form.runs // 4), form.quick)
    until(lambda: drill.marks("begin"))
    drill.fault()
    tables = ", ".join(f'{SCHEMA}."{name}"' for (name,) in execute(drill.ground.address, TABLES))
    with repeated(lambda: truncate(drill.ground.address, tables)):
        until(lambda: len(drill.marks("done")) >= 2)
    drill.wait_until_ended()


def dispatches(drill: Drill) -> None:
    """Send attempts to all workers, begin again what has ended, and remove what was sent, again and again."""
    # Late, because DBOS takes half a second to import.
    from tildone.fleet.dbos_engine import EngineTables  # noqa: PLC0415  see above

    form = drill.form
    drill.add(form.tasks)
    drill.start_two(form.quick)
    drill.fault()
    with closing(EngineTables(drill.ground.address)) as tables:
        for number in range(ROUNDS):
            for lease in drill.all_leases():
                double(drill, tables.client, lease, number)
        with repeated(lambda: execute(drill.ground.address, NOT_BEGUN)):
            drill.add(form.tasks, "more")
            until(lambda: len(drill.marks("done")) >= form.runs)
        drill.wait_until_ended()
        ended = drill.marks()
        for lease in drill.all_leases():
            double(drill, tables.client, lease, ROUNDS)
        until(lambda: execute(drill.ground.address, SENT) == [(0,)])
    assert drill.marks() == ended, "a dispatch of a run that had ended was begun"


def double(drill: Drill, client: object, lease: Lease, number: int) -> None:
    """Send an attempt, the one before and the one after to all workers, and revive those that have ended."""
    from tildone.fleet.dbos_engine import VERSION, attempt_name  # noqa: PLC0415  as above

    numbers = [each for each in (lease.attempt - 1, lease.attempt, lease.attempt + 1) if each > 0]
    for worker in drill.leases.workers():
        for attempt in numbers:
            name = f"{number}.{worker.id}.{attempt_name(lease.run, lease.hand, attempt)}"
            options = {"workflow_name": "attempt", "queue_name": worker.id, "workflow_id": name, "app_version": VERSION}
            client.enqueue(options, lease.run, lease.hand, attempt)  # type: ignore[attr-defined]  # of DBOS
    known = [name for (name,) in execute(drill.ground.address, KNOWN)]
    names = [name for attempt in numbers if (name := attempt_name(lease.run, lease.hand, attempt)) in known]
    client.resume_workflows(names, queue_name=drill.leases.workers()[0].id)  # type: ignore[attr-defined]  # of DBOS


@contextmanager
def repeated(action: Callable[[], object]) -> Iterator[None]:
    """Repeat an action until the end of the block."""
    ended = Event()

    def repeat() -> None:
        while not ended.wait(PAUSE_SECONDS):
            action()

    thread = Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


OLD, NEW = PROTOCOL, PROTOCOL + 1


def cancel(drill: Drill) -> None:
    """Cancel half of the runs in the middle of a task."""
    form = drill.form
    drill.add(2)
    drill.start_two(form.slow)
    chosen = [drill.lease(run) for run in drill.runs[: len(drill.runs) // 2]]
    drill.fault()
    for lease in chosen:
        drill.leases.request_stop(lease.run, Ask.CANCEL_NOW)
    left = list(chosen)

    def gone() -> bool:
        for lease in [lease for lease in left if not processes_of(str(lease.fence))]:
            left.remove(lease)
            drill.times.append(boot_seconds() - drill.fault_at)
        return not left

    until(gone)
    drill.wait_until_ended()
    assert {drill.lease(lease.run).state for lease in chosen} == {LeaseState.CANCELLED}
    ended = {mark.run for mark in drill.marks("end")}
    assert not ended & {lease.run for lease in chosen}, "a task of a cancelled run ended"


def versions(drill: Drill) -> None:
    """Kill a worker of the older protocol beside one of the newer, then that one beside another older one.

    The runs that need the newer protocol wait until a worker knows it.
    """
    form = drill.form
    drill.add(form.tasks)
    old = drill.start(form.runs, form.quick, protocol=OLD, releases=False)
    drill.wait_until_begun()
    plan = drill.store.events(f"plan of {drill.runs[0]}")
    first = next(event.fact for event in plan if isinstance(event.fact, PlanChanged))
    newer = f"r{drill.name}-new"
    drill.leases.add(NewRun(newer, f"plan of {newer}", Work(agent="test", protocol=NEW)), [first])
    new = drill.start(form.runs + 1, form.quick, protocol=NEW, releases=False)
    until(lambda: any(mark.run == newer for mark in drill.marks("begin")))
    assert {lease.run for lease in drill.held_by(old)} <= set(drill.runs)
    drill.fault()
    drill.kill(old)
    drill.start(form.runs, form.quick, protocol=OLD)
    until(lambda: len(drill.marks("done")) >= 1)
    drill.kill(new)
    until(lambda: all(drill.lease(run).state is LeaseState.DONE for run in drill.runs))
    drill.start(form.runs, form.quick, protocol=NEW)
    drill.wait_until_ended()
