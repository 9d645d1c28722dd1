"""Drills: what happens to a fleet in the middle of its tasks.

Workers are killed or stopped; their machine sleeps, restarts, has a wrong clock or a full disk; the database or the
network to it fails; an engine loses its tables or repeats attempts; people change their minds; workers are upgraded.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from time import sleep, time

import pytest

from tests.fleet.agents import processes_of
from tests.fleet.drills import harness
from tests.fleet.drills.harness import Drill, signal_all, tree_of
from tests.fleet.drills.marks import ticking
from tests.fleet.drills.outcome import losses
from tests.fleet.drills.places import Place, kill_server, standby_of
from tests.stores.postgres import execute, truncate
from tests.suite.waiting import until
from tildone.app.opening import run_leases, store_at
from tildone.base import StoreBusy
from tildone.plan.events import PlanChanged
from tildone.plan.runs import PROTOCOL, Lease, LeaseRequest, LeaseState, NewRun, Work

Act = Callable[[Drill], None]
SERVER = (Place.TABLE, Place.DBOS)


@dataclass(frozen=True)
class Kind:
    """A kind of drill: what it does to a fleet, after which all runs end, and the places where that can happen."""

    act: Act
    title: str
    places: tuple[Place, ...] = tuple(Place)
    own_server: bool = False
    is_suspended: bool = False
    """Whether a command may run on until its supervisor or its agent is awake again."""

    @property
    def name(self) -> str:
        return self.act.__name__.replace("_", "-")


KINDS: list[Kind] = []


def kind(title: str, *places: Place, own_server: bool = False, is_suspended: bool = False) -> Callable[[Act], Act]:
    """Make a function a kind of drill, by default one for all places."""

    def add(act: Act) -> Act:
        KINDS.append(Kind(act, title, places or tuple(Place), own_server, is_suspended))
        return act

    return add


@kind("`kill -9` of a worker")
def kill(drill: Drill) -> None:
    """Its supervisors cannot give its leases back: they lapse, or its process is known to be gone."""
    _kill_first(drill, releases=False)


@kind("the same, its supervisors give the leases back")
def kill_released(drill: Drill) -> None:
    _kill_first(drill, releases=True)


def _kill_first(drill: Drill, *, releases: bool, clock: float = 0.0) -> None:
    first, held = drill.start_two(releases=releases, clock=clock)
    drill.kill(first)
    drill.wait_until_ended(held)
    assert drill.have_successors(held), "a run was not taken over"


@kind("`kill -9` of the postmaster, back before the leases end", *SERVER, own_server=True)
def crash(drill: Drill) -> None:
    drill.start_two()
    _break_for(drill, drill.form.lease / 2)


@kind("the same, back after the leases have ended *", *SERVER, own_server=True)
def outage(drill: Drill) -> None:
    """The agents wait, frozen."""
    drill.start_two(is_slow=True)
    started = _break_for(drill, drill.form.lease * 1.4)
    end = drill.fault_at + drill.form.lease
    running = [mark for mark in drill.marks("tick") if end < mark.at < started]
    assert not running, f"{len(running)} marks of agents that should be frozen"


def _break_for(drill: Drill, seconds: float) -> float:
    """Kill the server, start it after a while, and return when it was started."""
    kill_server(drill.ground.server)
    sleep(max(0, seconds - drill.elapsed))
    started, wall = drill.fault_at + drill.elapsed, time() * 1000
    drill.ground.server.order("start")
    drill.wait_until_ended()
    earliest = wall + drill.form.settings.grace
    lost = [at for lease in drill.all_leases() for at in losses(drill, lease)]
    assert all(at >= earliest for at in lost), "a lease was taken before its owner had time to renew it"
    return started


@kind("SIGSTOP of a worker past the leases, SIGCONT *")
def stop(drill: Drill) -> None:
    _suspend_first(drill, lambda pids: pids[:1])


@kind("SIGSTOP of a worker, its supervisors, agents and commands *", is_suspended=True)
def suspend(drill: Drill) -> None:
    _suspend_first(drill, lambda pids: pids)


def _suspend_first(drill: Drill, chosen: Callable[[list[int]], list[int]]) -> None:
    """Stop processes of a worker until others work on its runs, and then let them continue."""
    first, held = drill.start_two(is_slow=True)
    asleep = harness.suspend(lambda: chosen(tree_of(first)))
    # Not while one of them writes to a file, which then nobody else could write to.
    while drill.ground.is_one_machine and not _can_write(drill):
        signal_all(asleep, signal.SIGCONT)
        asleep = harness.suspend(lambda: chosen(tree_of(first)))
    until(lambda: drill.have_successors(held))
    signal_all(asleep, signal.SIGCONT)
    drill.wait_until_ended(held)


def _can_write(drill: Drill) -> bool:
    with closing(store_at(drill.ground.address, timeout=1)) as store:
        try:
            leases = run_leases(store)
            leases.configure(leases.settings())
        except StoreBusy:
            return False
    return True


@kind("both workers killed, a third starts")
def kill_all(drill: Drill) -> None:
    drill.start_two(releases=False)
    for worker in drill.workers:
        drill.kill(worker)
    drill.start(drill.form.runs)


@kind("the network of a worker stalls for less than a lease *", *SERVER)
def stall_short(drill: Drill) -> None:
    _stall(drill, drill.form.lease * 0.5)


@kind("the network of a worker stalls for longer than a lease *", *SERVER)
def stall_long(drill: Drill) -> None:
    """Until others work on its runs."""
    _stall(drill, drill.form.lease * 1.5)


def _stall(drill: Drill, seconds: float) -> None:
    proxy = drill.ground.proxy()
    _, held = drill.start_two(is_slow=True, store=proxy.address)
    proxy.stall()
    if seconds > drill.form.lease:
        until(lambda: drill.have_successors(held))
    sleep(max(0, seconds - drill.elapsed))
    proxy.go_on()
    drill.wait_until_ended(held)


@kind("the connections of the only worker go silent, new ones work", *SERVER)
def silent(drill: Drill) -> None:
    proxy = drill.ground.proxy()
    drill.start_alone(store=proxy.address)
    drill.fault()
    proxy.silence()


@kind("all connections of a worker are reset", *SERVER)
def reset(drill: Drill) -> None:
    """Those of its agents, too, and several times."""
    proxy = drill.ground.proxy()
    drill.start_two(store=proxy.address)
    for _ in range(3):
        proxy.reset()
        sleep(0.2)


FAST_SECONDS = 120.0


@kind("a worker's clock is 120 s fast, the other is killed")
def clock(drill: Drill) -> None:
    _kill_first(drill, releases=False, clock=FAST_SECONDS)


MANY_REAPERS, SOON_MS = 4, 50


@kind("8 reapers, a worker is killed")
def reapers(drill: Drill) -> None:
    """The others look for lapsed leases all the time."""
    drill.configure(reaper=SOON_MS)
    first = drill.start_alone(releases=False)
    for _ in range(2):
        drill.start(drill.form.runs, reapers=MANY_REAPERS)
    until(lambda: len(drill.leases.workers()) == 3)
    drill.fault()
    drill.kill(first)
    drill.wait_until_ended()
    assert all(lease.attempt <= 2 for lease in drill.all_leases()), "one loss made several attempts"


WAITING = "waiting up to"


@kind("`add` while the database is down", own_server=True)
def add_down(drill: Drill) -> None:
    """With the command line."""
    names = [f"{run}.md" for run in drill.runs]
    for name in names:
        tasks = "".join(f"- [ ] task {number}: `true`\n" for number in range(1, drill.form.tasks + 1))
        Path(drill.folder, name).write_text(tasks, encoding="utf-8")
    home = dict.fromkeys(("HOME", "XDG_DATA_HOME"), str(drill.folder))
    environ = os.environ | {"TILDONE_STORE": drill.ground.address} | home
    with drill.ground.down():
        drill.fault()
        words = [sys.executable, "-m", "tildone", "fleet", "add", *names]
        quiet, pipe = subprocess.DEVNULL, subprocess.PIPE
        adding = subprocess.Popen(words, cwd=drill.folder, env=environ, stdout=quiet, stderr=pipe, text=True)
        assert adding.stderr is not None
        said = adding.stderr.readline()
        assert WAITING in said, said
        assert adding.poll() is None
    drill.times.append(drill.elapsed)
    assert adding.wait() == 0
    adding.stderr.close()
    assert len(drill.all_leases()) == drill.form.runs
    drill.start(drill.form.runs)


@kind("cancelled in mid-task (seconds until its processes are gone)")
def cancel(drill: Drill) -> None:
    """Half of the runs."""
    drill.start_two(is_slow=True)
    chosen = [drill.lease(run) for run in drill.runs[: len(drill.runs) // 2]]
    for lease in chosen:
        drill.leases.request_stop(lease.run, LeaseRequest.CANCEL_NOW)
    left = list(chosen)

    def gone() -> bool:
        for lease in [lease for lease in left if not processes_of(str(lease.fence))]:
            left.remove(lease)
            drill.times.append(drill.elapsed)
        return not left

    until(gone)
    drill.wait_until_ended()
    assert {drill.lease(lease.run).state for lease in chosen} == {LeaseState.CANCELLED}
    ended = {mark.run for mark in drill.marks("end")}
    assert not ended & {lease.run for lease in chosen}, "a task of a cancelled run ended"


OLD, NEW = PROTOCOL, PROTOCOL + 1


@kind("workers of two protocols, one after the other killed")
def version(drill: Drill) -> None:
    """The older one beside the newer one, then that one beside another older one.

    The runs that need the newer protocol wait until a worker knows it.
    """
    runs = drill.form.runs
    old = drill.start_alone(protocol=OLD, releases=False)
    plan = drill.store.events(f"plan of {drill.runs[0]}")
    first = next(event.fact for event in plan if isinstance(event.fact, PlanChanged))
    newer = f"r{drill.name}-new"
    drill.leases.add(NewRun(newer, f"plan of {newer}", Work(agent="test", protocol=NEW)), [first])
    new = drill.start(runs + 1, protocol=NEW, releases=False)
    until(lambda: any(mark.run == newer for mark in drill.marks("begin")))
    assert {lease.run for lease in drill.held_by(old)} <= set(drill.runs)
    drill.fault()
    drill.kill(old)
    drill.start(runs, protocol=OLD)
    until(lambda: len(drill.marks("done")) >= 1)
    drill.kill(new)
    until(lambda: all(drill.lease(run).state is LeaseState.DONE for run in drill.runs))
    drill.start(runs, protocol=NEW)


DISK_BYTES, MIN_FREE_MB = 16_000_000, 1


@kind("the disk of a worker is full")
def disk_full(drill: Drill) -> None:
    """Its tasks fail. They are done by another one."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    form, disk = drill.form, drill.folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)], check=True)
    drill.ground.cleaning.callback(subprocess.run, ["umount", "-l", str(disk)], check=True)
    limits = {"min_free_mb": MIN_FREE_MB, "retry_ms": form.settings.lease // 2}
    one = drill.start_alone(command=f"{ticking(form.quick)}; echo written > file", home=str(disk / "home"), **limits)
    drill.fault()
    _fill(disk / "other")
    until(lambda: not drill.held_by(one))
    drill.start(form.runs)


def _fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


@kind("`kill -9` of the primary server, its standby is promoted", *SERVER, own_server=True)
def failover(drill: Drill) -> None:
    """The workers know both."""
    standby = drill.ground.cleaning.enter_context(standby_of(drill.ground.server))
    drill.move_to(f"{drill.ground.address},{standby.folder}&target_session_attrs=read-write")
    drill.start_two()
    kill_server(drill.ground.server)
    standby.order("promote")


@kind("the machine restarts; leases of an hour", Place.SQLITE)
def reboot(drill: Drill) -> None:
    """After its next boot, they lapse at once."""
    _power_off(drill)
    drill.start(drill.form.runs, boot="another/boot")


@kind("a worker and its supervisors are killed; leases of an hour", Place.SQLITE)
def dead_pid(drill: Drill) -> None:
    """They lapse at once, as the worker is known to be gone."""
    _power_off(drill)
    drill.start(drill.form.runs)


def _power_off(drill: Drill) -> None:
    drill.configure(lease=3_600_000)
    worker = drill.start_alone()
    drill.fault()
    # The supervisors first: they would give the leases back.
    signal_all(tree_of(worker)[1:], signal.SIGKILL)
    drill.kill(worker)


TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'tildone_dbos' AND tablename NOT LIKE '%migrations%'"
INTERNAL_QUEUE = "_dbos_internal_queue"
"""The one queue that DBOS reads in every worker: its own, for what is resumed."""

NOT_BEGUN = "DELETE FROM tildone_dbos.workflow_status WHERE status = 'ENQUEUED'"
KNOWN = "SELECT workflow_uuid FROM tildone_dbos.workflow_status"
SENT = "SELECT count(*) FROM tildone_dbos.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"
ROUNDS, PAUSE_SECONDS = 5, 0.2


@kind("the engine's tables are emptied in mid-work", Place.DBOS)
def emptied(drill: Drill) -> None:
    """Again and again, while half of the runs are worked on and the others wait."""
    drill.add(drill.form.tasks)
    for _ in range(2):
        drill.start(max(1, drill.form.runs // 4))
    until(lambda: drill.marks("begin"))
    drill.fault()
    tables = ", ".join(f'tildone_dbos."{name}"' for (name,) in execute(drill.ground.address, TABLES))
    with repeated(lambda: truncate(drill.ground.address, tables)):
        until(lambda: len(drill.marks("done")) >= 2)


@kind("attempts copied, late, removed and revived", Place.DBOS)
def copies(drill: Drill) -> None:
    """Copy attempts, resume those that have ended, and remove what has not begun, again and again."""
    # Late, because DBOS takes half a second to import.
    from tildone.fleet.dbos_engine import EngineTables  # noqa: PLC0415  see above

    drill.start_two()
    with closing(EngineTables(drill.ground.address)) as tables:
        for number in range(ROUNDS):
            for lease in drill.all_leases():
                double(drill, tables.client, lease, number)
        with repeated(lambda: execute(drill.ground.address, NOT_BEGUN)):
            drill.add(drill.form.tasks, "more")
            until(lambda: len(drill.marks("done")) >= drill.form.runs)
        drill.wait_until_ended()
        ended = drill.marks()
        for lease in drill.all_leases():
            double(drill, tables.client, lease, ROUNDS)
        until(lambda: execute(drill.ground.address, SENT) == [(0,)])
    assert drill.marks() == ended, "a copy of an attempt that had ended was begun"


def double(drill: Drill, client: object, lease: Lease, number: int) -> None:
    """Copy an attempt, the one before and the one after for each worker, and resume those that have ended."""
    from tildone.fleet.dbos_engine import VERSION, attempt_name  # noqa: PLC0415  as above

    numbers = [each for each in (lease.attempt - 1, lease.attempt, lease.attempt + 1) if each > 0]
    for worker in drill.leases.workers():
        for attempt in numbers:
            name = f"{number}.{worker.id}.{attempt_name(lease.run, lease.hand, attempt)}"
            options = {
                "workflow_name": "attempt",
                "queue_name": INTERNAL_QUEUE,
                "workflow_id": name,
                "app_version": VERSION,
            }
            client.enqueue(options, lease.run, lease.hand, attempt)  # type: ignore[attr-defined]  # of DBOS
    known = [name for (name,) in execute(drill.ground.address, KNOWN)]
    names = [name for attempt in numbers if (name := attempt_name(lease.run, lease.hand, attempt)) in known]
    client.resume_workflows(names)  # type: ignore[attr-defined]  # of DBOS


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
