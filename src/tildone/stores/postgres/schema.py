"""The tables in a database: recognised, made, and brought up to date by migrations."""

from __future__ import annotations

from psycopg import errors

from tildone.errors import StoreDamaged, StoreError, StoreTooNew
from tildone.stores.postgres.queries import migrations, query
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg import Connection

LOCK = 0x746C646E  # "tldn"
ENCODING = "UTF8"
MILLISECONDS = 1000
MAX_TIMEOUT_MS = 2**31 - 1


def prepare_connection(connection: Connection, where: str, timeout: float) -> None:
    """Make sure that there is a store behind a new connection; an empty database becomes one.

    Raises:
        StoreTooNew: a newer tildone made it.
        StoreDamaged: something else is where its tables would be.
        StoreError: the database can't hold every text.
    """
    wait = f"{int(min(max(1, timeout * MILLISECONDS), MAX_TIMEOUT_MS))}ms"
    known = migrations()[-1][0]
    version = _said(connection, wait)
    if version < known:
        _migrate(connection, where, wait)
        version = _said(connection, wait)
    if version > known:
        raise StoreTooNew(
            f"{where} was written by a newer tildone: it has schema {version}, this one knows {known}; "
            "install the newer one here, too"
        )


def _said(connection: Connection, wait: str) -> int:
    """The version that the database says it has; 0 if it says nothing."""
    try:
        row = connection.execute(query("greet"), {"timeout": wait}).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return 0
    return row[0] or 0 if row else 0


def _migrate(connection: Connection, where: str, wait: str) -> None:
    """Bring the tables up to date: all of it or nothing. Many may try at once; the first does it."""
    with connection.transaction():
        connection.execute(query("lock_timeout"), {"timeout": wait})
        connection.execute(query("migrating"), {"lock": LOCK})
        here = _version(connection, where)
        for number, name, statements in migrations():
            if number > here:
                connection.execute(statements)
                connection.execute(query("migrated"), {"version": number, "name": name})


def _version(connection: Connection, where: str) -> int:
    """Where to go on from, looked at under the lock."""
    encoding, used, versioned = connection.execute(query("furnished")).fetchone() or ("", False, False)
    if encoding != ENCODING:
        raise StoreError(f"{where} keeps its text in {encoding}; tildone needs a database in {ENCODING}")
    if not used:
        return 0
    [version] = (versioned and connection.execute(query("version")).fetchone()) or (None,)
    if version is None:
        raise StoreDamaged(f"{where} has a schema named tildone that is not a tildone store")
    return int(version)
