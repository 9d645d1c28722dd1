"""Fleets of several sizes on PostgreSQL: what idle workers ask of the server together, and short runs by engine.

Each worker is a process on this machine, so the runs of a large fleet measure its processors as much as its server. The
transactions and connections of idle workers do not depend on that.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from bench.fleet import drained, idle_workers, prepared
from bench.measure import Amount, Row
from tests.stores.postgres import Server, running_server
from tests.stores.postgres_keeper import why_not
from tildone.fleet.engine import DBOS, TABLE

SLOTS, RUNS = 2, 20
"""Of each worker."""

IDLE = {DBOS: (10, 10), TABLE: (5, 5)}
"""The most transactions a second, and connections, of an idle worker that are aimed at."""

MORE_CONNECTIONS = 20
AIM = 1.5


def rows(_folder: Path, *sizes: int, idle_seconds: float) -> Iterator[Amount | Row]:
    """Measure fleets of these sizes, idle for that many seconds, and with runs."""
    missing = why_not() or ("" if find_spec("dbos") else "dbos is not installed: pip install 'tildone[fleet]'")
    for size in sizes:
        names = {engine: f"fleet: {size} idle workers, {engine}:" for engine in IDLE}
        run = f"fleet: a run, {size} workers, {DBOS}"
        if missing:
            for name in names.values():
                yield Amount(f"{name} transactions", "a second", skipped=missing)
                yield Amount(f"{name} connections", "connections", skipped=missing)
            yield Row(run, TABLE, AIM, skipped=missing)
            continue
        took = dict[str, float]()
        with running_server(f"max_connections={size * 2 * IDLE[DBOS][1] + MORE_CONNECTIONS}") as server:
            for engine, name in names.items():
                rate, connections = _idle(server, engine, size, idle_seconds)
                yield Amount(f"{name} transactions", "a second", rate, IDLE[engine][0] * size)
                yield Amount(f"{name} connections", "connections", connections, IDLE[engine][1] * size)
                with server.database() as address:
                    took[engine] = drained(engine, address, RUNS * size, size, SLOTS)
        base = f"{TABLE}; {1 / took[DBOS]:,.0f}, {1 / took[TABLE]:,.0f}/s"
        yield Row(run, base, AIM, took[DBOS], took[TABLE])


def _idle(server: Server, engine: str, size: int, seconds: float) -> tuple[float, float]:
    """Return the transactions a second of idle workers together, and their connections."""
    with server.database() as address:
        prepared(engine, address).close()
        rate, *_, connections = idle_workers(server, address, seconds, size, SLOTS)
    return rate, connections
