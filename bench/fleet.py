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

from bench.fleet_worker import OWN_JOB, OWN_QUEUE
from bench.measure import Amount, Row
from tests.plans import plan_of
from tests.stores.postgres import Server, database_of, execute, running_server
from tests.stores.postgres_keeper import why_not
from tildone.fleet.engines import DBOS, TABLE, forget_attempts, prepare_engine
from tildone.log.address import parse_address
from tildone.log.events import PlanChanged
from tildone.log.fleet.lease import NewRun
from tildone.log.fleet.port import RunLeases
from tildone.log.fleet.settings import FleetSettings
from tildone.log.store import Store
from tildone.wiring import run_leases, store_at

WORKERS, SLOTS = 2, 50
BASE = "3 steps of DBOS itself"
AIM = 1.5
BATCH = 100
SECONDS = 600.0

DRAINED = "fleet: a run, DBOS on PostgreSQL", "fleet: a run, table on PostgreSQL", "fleet: a run, table on SQLite"
TABLES = ("leases", "sessions", "events", "changes", "summaries")
LOG_SIZE = " + ".join(f"pg_total_relation_size('tildone.{table}')" for table in TABLES)
ENGINE_SIZE = """
coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = 'tildone_dbos'::regnamespace AND relkind = 'r'
"""

STATISTICS = "FROM pg_stat_database WHERE datname ="

IDLE = (
    ("transactions", "a second", {DBOS: 30, TABLE: 10}),
    ("CPU", "% of a core", {DBOS: 10, TABLE: 5}),
    ("memory", "resident memory, MB", {DBOS: 90, TABLE: 60}),
    ("threads", "threads", {DBOS: 20, TABLE: 10}),
    ("connections", "connections", {DBOS: 10, TABLE: 5}),
)
"""What an idle worker costs, and the most that is aimed at, by engine."""

GROWTH = (
    ("fleet: growth for each run, log and leases", 12_000),
    ("fleet: growth for each run, DBOS", 6_000),
    ("fleet: growth for each run after gc, DBOS", 1_000),
)


def rows(folder: Path, runs: int, idle_seconds: float) -> Iterator[Row | Amount]:
    """Measure `runs` runs with each engine, and idle workers for that many seconds."""
    sqlite = _drained(TABLE, str(folder / "fleet.db"), runs)
    missing = why_not() or (None if find_spec("dbos") else "dbos is not installed: pip install 'tildone[fleet]'")
    if missing:
        yield from _skipped(missing)
        return
    with running_server() as server, ExitStack() as databases:
        ours, table, own = (databases.enter_context(server.database()) for _ in range(3))
        base = _own(own, runs)
        _prepared(DBOS, ours).close()
        before = _sizes(ours)
        yield Row(DRAINED[0], BASE, AIM, _drained(DBOS, ours, runs), base)
        grown = list(_growth(ours, runs, before))
        yield Row(DRAINED[1], BASE, AIM, _drained(TABLE, table, runs), base)
        yield Row(DRAINED[2], BASE, AIM, sqlite, base)
        for engine, database in ((DBOS, ours), (TABLE, table)):
            yield from _idle(server, engine, database, idle_seconds)
        yield from grown


def _skipped(why: str) -> Iterator[Row | Amount]:
    yield from (Row(name, BASE, AIM, skipped=why) for name in DRAINED)
    for engine in (DBOS, TABLE):
        yield from (Amount(_idle_name(engine, what), unit, skipped=why) for what, unit, _ in IDLE)
    yield from (Amount(name, "bytes", skipped=why) for name, _ in GROWTH)


def _drained(engine: str, address: str, runs: int) -> float:
    """Queue runs, let two workers do them, and return the seconds that each took."""
    store = _prepared(engine, address)
    leases = run_leases(store)
    _queue(leases, runs)
    with _workers("runs", address) as workers:
        begun = perf_counter()
        _go(workers)
        until = begun + SECONDS
        while _living(leases):
            assert perf_counter() < until, "the runs have not ended"
            sleep(0.02)
        taken = perf_counter() - begun
    store.close()
    return taken / runs


def _prepared(engine: str, address: str) -> Store:
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


def _living(leases: RunLeases) -> bool:
    return any(view.lease.state.is_living for view in leases.look())


def _own(address: str, runs: int) -> float:
    """Enqueue jobs of DBOS itself, let two workers do them, and return the seconds that each took."""
    # Late: where the package is missing, these rows are skipped.
    from tildone.fleet.dbos_database import EngineTables  # noqa: PLC0415  see above

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


def _sizes(address: str) -> tuple[int, int]:
    """The bytes of the log with its leases, and of the tables of the engine."""
    [(log, engine)] = execute(address, "VACUUM", f"SELECT {LOG_SIZE}, (SELECT {ENGINE_SIZE})")
    return log, engine


def _growth(address: str, runs: int, before: tuple[int, int]) -> Iterator[Amount]:
    """The growth of the tables by runs that have been done, and by as many more after the first were removed."""
    store = store_at(address)
    leases = run_leases(store)
    log, engine = _sizes(address)
    done = [view.lease for view in leases.look()]
    for lease in done:
        leases.forget(lease.run)
    forget_attempts(DBOS, parse_address(address), done)
    _sizes(address)
    store.close()
    _drained(DBOS, address, runs)
    grown = log - before[0], engine - before[1], max(0, _sizes(address)[1] - engine)
    for (name, most), size in zip(GROWTH, grown, strict=True):
        yield Amount(name, "bytes", size / runs, most)


def _idle(server: Server, engine: str, address: str, seconds: float) -> Iterator[Amount]:
    """What a worker costs that has nothing to do."""
    database = database_of(address)
    with _workers("idle", address, 1) as [worker]:
        sleep(seconds / 2)
        before, used, begun = _transactions(server, database), _cpu_seconds(worker.pid), perf_counter()
        sleep(seconds)
        taken = perf_counter() - begun
        rate = (_transactions(server, database) - before) / taken
        cpu = (_cpu_seconds(worker.pid) - used) / taken * 100
        status = Path(f"/proc/{worker.pid}/status").read_text(encoding="utf-8").splitlines()
        facts = {line.partition(":")[0]: line.split()[1] for line in status if line.startswith(("VmRSS", "Threads"))}
        [(connections,)] = server.run(f"SELECT numbackends {STATISTICS} '{database}'")
        worker.terminate()
        worker.wait()
    amounts = (rate, cpu, int(facts["VmRSS"]) / 1024, int(facts["Threads"]), connections)
    for (what, unit, most), amount in zip(IDLE, amounts, strict=True):
        yield Amount(_idle_name(engine, what), unit, float(amount), most[engine])


def _idle_name(engine: str, what: str) -> str:
    return f"fleet: an idle worker, {engine}: {what}"


def _transactions(server: Server, database: str) -> int:
    [(count,)] = server.run(f"SELECT xact_commit + xact_rollback {STATISTICS} '{database}'")
    return int(count)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _workers(kind: str, address: str, count: int = WORKERS) -> Iterator[Sequence[subprocess.Popen[str]]]:
    """Start workers, and wait until they are ready. They end with the block."""
    with ExitStack() as running:
        workers = []
        for number in range(count):
            command = [sys.executable, "-m", "bench.fleet_worker", kind, address, f"here/{number}/b", str(SLOTS)]
            pipe = subprocess.PIPE
            workers.append(running.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)))
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        yield workers


def _go(workers: Sequence[subprocess.Popen[str]]) -> None:
    for worker in workers:
        assert worker.stdin is not None
        print("go", file=worker.stdin, flush=True)
