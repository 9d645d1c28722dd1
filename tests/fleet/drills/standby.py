"""A standby of a PostgreSQL server, to which nothing that was committed is lost."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.fleet.drills.places import SETTINGS
from tests.stores.postgres import Server, running_server
from tests.stores.postgres_keeper import STANDBY
from tests.suite.waiting import until

SYNCHRONOUS = "ALTER SYSTEM SET synchronous_standby_names = '*'"
STREAMING = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"


@contextmanager
def standby_of(primary: Server) -> Iterator[Server]:
    """Start a physical standby. Every commit waits for it."""
    with running_server(f"{STANDBY}{primary.folder}", *SETTINGS) as standby:
        primary.run(SYNCHRONOUS, "SELECT pg_reload_conf()")
        until(lambda: primary.run(STREAMING) == [(1,)])
        yield standby
