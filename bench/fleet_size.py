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
from tests.stores.postgres import running_server
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
        if missing:
            yield from _rows(size, {}, missing)
            continue
        with running_server(f"max_connections={size * 2 * IDLE[DBOS][1] + MORE_CONNECTIONS}") as server:
            measured = {}
            for engine in IDLE:
                with server.database() as address:
                    prepared(engine, address).close()
                    rate, connections = idle_workers(server, address, idle_seconds, size, SLOTS)[::4]
                with server.database() as address:
                    measured[engine] = rate, connections, drained(engine, address, RUNS * size, size, SLOTS)
        yield from _rows(size, measured)


def _rows(size: int, measured: dict[str, tuple[float, float, float]], skipped: str = "") -> Iterator[Amount | Row]:
    unknown = 0.0, 0.0, 0.0
    for engine, most in IDLE.items():
        for what, amount, limit in zip(
            ("transactions", "connections"), measured.get(engine, unknown), most, strict=False
        ):
            unit = "a second" if what == "transactions" else "connections"
            yield Amount(f"fleet: {size} idle workers, {engine}: {what}", unit, amount, limit * size, skipped)
    took, base = (measured.get(engine, unknown)[2] for engine in (DBOS, TABLE))
    base_name = "" if skipped else f"table; {1 / took:,.0f}, {1 / base:,.0f}/s"
    yield Row(f"fleet: a run, {size} workers, {DBOS}", base_name or TABLE, AIM, took, base, skipped)
