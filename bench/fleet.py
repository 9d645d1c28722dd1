"""A fleet: runs that two workers do, against as many jobs of its engine itself; what an idle worker costs; growth."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from time import perf_counter, sleep

from bench.fleet_claims import BASE as ONE_WORKER
from bench.fleet_claims import NAME as CLAIM
from bench.fleet_claims import claims_row
from bench.fleet_worker import OWN_JOB, OWN_QUEUE
from bench.measure import Amount, Row
from tests.plans import plan_of
from tests.stores.postgres import Server, database_of, execute, running_server
from tests.stores.postgres_keeper import why_not
from tildone.app.opening import run_leases, store_at
from tildone.fleet.engine import DBOS, TABLE
from tildone.fleet.engines import forget_attempts, prepare_engine
from tildone.log.settings import FleetSettings
from tildone.log.store import Store
from tildone.plan.events import PlanChanged
from tildone.plan.lists import FIRST, RunGroup
from tildone.plan.runs import NewRun
from tildone.stores import parse_address
from tildone.stores.leasing import RunLeases, RunLists, lists_of

Process = subprocess.Popen[str]

WORKERS, SLOTS = 2, 50
BASE = "3 steps of DBOS itself"
AIM = 1.5
BATCH = 100
SECONDS = 600.0

DRAINED = "fleet: a run, DBOS on PostgreSQL", "fleet: a run, table on PostgreSQL", "fleet: a run, table on SQLite"
LOG_TABLES = ("sessions", "events", "changes", "summaries")
LOG_SIZE = " + ".join(f"pg_total_relation_size('tildone.{table}')" for table in LOG_TABLES)
LEASES_SIZE = "pg_total_relation_size('tildone.leases')"
ENGINE_SIZE = """
coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = 'tildone_dbos'::regnamespace AND relkind = 'r'
"""

STATISTICS = "FROM pg_stat_database WHERE datname ="

PLACES = ("DBOS, PostgreSQL", "table, PostgreSQL", "table, SQLite")
IDLE = (
    ("transactions", "a second", (10, 5, None)),
    ("CPU", "% of a core", (10, 5, 5)),
    ("memory", "resident memory, MB", (90, 60, 60)),
    ("threads", "threads", (20, 10, 10)),
    ("connections", "connections", (10, 5, None)),
)
"""What an idle worker costs, and the most that is aimed at, by place; None where there is no server to tell it."""

GROWTH = (
    ("fleet: growth for each run, log", 6_000),
    ("fleet: growth for each run, leases", 3_000),
    ("fleet: growth for each run, DBOS", 6_000),
    ("fleet: growth for each run after gc", 1_000),
)
"""What is in the database of each run, in bytes. `gc` removes all but the log; its space is used again."""


def rows(folder: Path, runs: int, claims: int, idle_seconds: float) -> Iterator[Row | Amount]:
    """Measure `runs` runs with each engine, that many claims, and idle workers for that many seconds."""
    file = str(folder / "fleet.db")
    sqlite = drained(TABLE, file, runs)
    missing = why_not() or (None if find_spec("dbos") else "dbos is not installed: pip install 'tildone[fleet]'")
    if missing:
        yield from _skipped(missing)
        return
    with running_server() as server, ExitStack() as databases:
        ours, table, own = (databases.enter_context(server.database()) for _ in range(3))
        base = _own(own, runs)
        prepared(DBOS, ours).close()
        before = _sizes(ours)
        yield Row(DRAINED[0], BASE, AIM, drained(DBOS, ours, runs), base)
        grown = list(_growth(ours, runs, before))
        yield Row(DRAINED[1], BASE, AIM, drained(TABLE, table, runs), base)
        yield Row(DRAINED[2], BASE, AIM, sqlite, base)
        yield claims_row(server, claims)
        for place, address in enumerate((ours, table, file)):
            yield from _idle(server if address != file else None, place, address, idle_seconds)
        yield from grown


def _skipped(why: str) -> Iterator[Row | Amount]:
    yield from (Row(name, BASE, AIM, skipped=why) for name in DRAINED)
    yield Row(CLAIM, ONE_WORKER, AIM, skipped=why)
    for place in range(len(PLACES)):
        yield from (Amount(_idle_name(place, what), unit, skipped=why) for what, unit, most in IDLE if most[place])
    yield from (Amount(name, "bytes", skipped=why) for name, _ in GROWTH)


def drained(engine: str, address: str, runs: int, count: int = WORKERS, slots: int = SLOTS) -> float:
    """Queue runs, let workers do them, and return the seconds that each took."""
    store = prepared(engine, address)
    lists = lists_of(store)
    assert lists is not None
    _queue(run_leases(store), runs)
    with _workers("runs", address, count, slots) as workers:
        begun = perf_counter()
        _go(workers)
        until = begun + SECONDS
        while _living(lists):
            assert perf_counter() < until, "the runs have not ended"
            sleep(0.02)
        taken = perf_counter() - begun
    store.close()
    return taken / runs


def prepared(engine: str, address: str) -> Store:
    """Open a store, and prepare it for an engine."""
    store = store_at(address)
    prepare_engine(engine, parse_address(address))
    run_leases(store).configure(FleetSettings(engine=engine))
    return store


def _queue(leases: RunLeases, runs: int) -> None:
    """Queue runs with plans of three tasks."""
    names = [f"run-{token_hex(4)}" for _ in range(runs)]
    plan = PlanChanged(plan_of("one", "two", "three"))
    for start in range(0, runs, BATCH):
        leases.add_all([(NewRun(name, name), [plan]) for name in names[start : start + BATCH]])


def _living(lists: RunLists) -> bool:
    """Return whether there is a run that has not ended; cheaply, because the workers need the processors."""
    return bool(lists.page(RunGroup.QUEUED, FIRST, 1) or lists.page(RunGroup.RUNNING, FIRST, 1))


def _own(address: str, runs: int) -> float:
    """Enqueue jobs of DBOS itself, let two workers do them, and return the seconds that each took."""
    # Late: where the package is missing, these rows are skipped.
    from tildone.fleet.dbos_engine import EngineTables  # noqa: PLC0415  see above

    tables = EngineTables(address)
    tables.migrate()
    for number in range(runs):
        tables.client.enqueue({"workflow_name": OWN_JOB, "queue_name": OWN_QUEUE, "workflow_id": str(number)})
    with _workers("own", address) as workers:
        begun = perf_counter()
        _go(workers)
        until = begun + SECONDS
        while tables.client.list_workflows(status=["ENQUEUED", "PENDING"], limit=1):
            assert perf_counter() < until, "the jobs have not ended"
            sleep(0.02)
        taken = perf_counter() - begun
    tables.close()
    return taken / runs


def _sizes(address: str) -> list[int]:
    """The bytes of the log, of the leases, and of the tables of the engine."""
    [sizes] = execute(address, "VACUUM", f"SELECT {LOG_SIZE}, {LEASES_SIZE}, (SELECT {ENGINE_SIZE})")
    return list(sizes)


def _growth(address: str, runs: int, before: Sequence[int]) -> Iterator[Amount]:
    """The growth of the tables by runs that have been done, and by as many more after the first were removed."""
    store = store_at(address)
    leases = run_leases(store)
    once = _sizes(address)
    done = [view.lease for view in leases.look()]
    for lease in done:
        leases.forget(lease.run)
    forget_attempts(DBOS, parse_address(address), done)
    _sizes(address)
    store.close()
    drained(DBOS, address, runs)
    twice = _sizes(address)
    grown = [after - size for after, size in zip(once, before, strict=True)]
    # The log stays: a run that has ended is part of its plan.
    grown.append(max(0, sum(twice[1:]) - sum(once[1:])))
    for (name, most), size in zip(GROWTH, grown, strict=True):
        yield Amount(name, "bytes", size / runs, most)


def _idle(server: Server | None, place: int, address: str, seconds: float) -> Iterator[Amount]:
    """What a worker costs that has nothing to do."""
    amounts = idle_workers(server, address, seconds)
    for (what, unit, most), amount in zip(IDLE, amounts, strict=True):
        if (limit := most[place]) is not None:
            yield Amount(_idle_name(place, what), unit, amount, limit)


def idle_workers(
    server: Server | None, address: str, seconds: float, count: int = 1, slots: int = SLOTS
) -> tuple[float, ...]:
    """What workers cost together that have nothing to do: the amounts of `IDLE`."""
    database = database_of(address)
    with _workers("idle", address, count, slots) as workers:
        sleep(seconds / 2)
        before, used, begun = _statistics(server, database), _cpu_seconds(workers), perf_counter()
        sleep(seconds)
        taken = perf_counter() - begun
        after = _statistics(server, database)
        cpu = (_cpu_seconds(workers) - used) / taken * 100
        memory, threads = (sum(figures) for figures in zip(*map(_size, workers), strict=True))
        for worker in workers:
            worker.terminate()
    return (after[0] - before[0]) / taken, cpu, memory / 1024, threads, after[1]


def _size(worker: Process) -> tuple[int, int]:
    """The resident memory of a worker in kB, and its threads."""
    status = Path(f"/proc/{worker.pid}/status").read_text(encoding="utf-8").splitlines()
    facts = {line.partition(":")[0]: line.split()[1] for line in status if line.startswith(("VmRSS", "Threads"))}
    return int(facts["VmRSS"]), int(facts["Threads"])


def _idle_name(place: int, what: str) -> str:
    return f"fleet: idle, {PLACES[place]}: {what}"


def _statistics(server: Server | None, database: str) -> tuple[int, int]:
    """How many transactions a database has had, and how many connections it has."""
    if server is None:
        return 0, 0
    [(count, connections)] = server.run(f"SELECT xact_commit + xact_rollback, numbackends {STATISTICS} '{database}'")
    return int(count), int(connections)


def _cpu_seconds(workers: Sequence[Process]) -> float:
    """The time of processors that workers have used."""
    ticks = 0
    for worker in workers:
        fields = Path(f"/proc/{worker.pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def _workers(kind: str, address: str, count: int = WORKERS, slots: int = SLOTS) -> Iterator[Sequence[Process]]:
    """Start workers, and wait until they are ready. They end with the block."""
    with ExitStack() as running:
        workers = []
        for number in range(count):
            command = [sys.executable, "-m", "bench.fleet_worker", kind, address, f"here/{number}/b", str(slots)]
            pipe = subprocess.PIPE
            workers.append(running.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)))
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        yield workers


def _go(workers: Sequence[Process]) -> None:
    for worker in workers:
        assert worker.stdin is not None
        print("go", file=worker.stdin, flush=True)
