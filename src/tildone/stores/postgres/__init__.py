"""The store in a PostgreSQL database.

store.py        the store: the log
records.py      what is kept beside the log: presences, questions, claims, summaries
leases.py       the leases of runs; `fleet.sql`
connections.py  a pool of connections that survives a restart of the server, migrations (`migrations/*.sql`),
                LISTEN/NOTIFY for waiters, queries by name
rows.py         events and names as the database stores them; the statements in `queries.sql` and `fleet.sql`, by name
address.py      URLs as libpq parameters
health.py       the integrity check
"""

from tildone.log.store import Store
from tildone.stores import OpenOptions, StoreAddress, StoreKind


def _open(address: StoreAddress, options: OpenOptions) -> Store:
    # Late, because the driver takes longer to load than most commands take to run.
    from tildone.stores.postgres.store import PostgresStore  # noqa: PLC0415  see above

    return PostgresStore(str(address), timeout=options.timeout, read_only=options.read_only, fence=options.fence)


STORE = StoreKind(_open, extra="postgres")
