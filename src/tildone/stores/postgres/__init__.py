"""The store in a PostgreSQL database.

store.py        the store: the log
records.py      what is kept beside the log: presences, questions, claims, summaries
database.py     queries by name, and the transactions of a process that works for a run
leases.py       the leases of runs; `lease_transaction.py`, `fleet.sql`
connections.py  a pool of connections that survives a restart of the server
listener.py     LISTEN/NOTIFY for waiters
schema.py       the session settings of a connection, migrations; `migrations/*.sql`
queries.py      the statements in `queries.sql` and `fleet.sql`, by name
rows.py, names.py   events and names as the database stores them
address.py, failures.py   URLs as libpq parameters, driver errors as store errors
health.py       the integrity check
"""

from __future__ import annotations

from tildone.stores.base import StoreKind
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.log.address import StoreAddress
    from tildone.log.store import Store
    from tildone.stores.base import OpenOptions


def _open(address: StoreAddress, options: OpenOptions) -> Store:
    # Late, because the driver takes longer to load than most commands take to run.
    from tildone.stores.postgres.store import PostgresStore  # noqa: PLC0415  see above

    return PostgresStore(str(address), timeout=options.timeout, read_only=options.read_only, fence=options.fence)


STORE = StoreKind(_open, extra="postgres")
