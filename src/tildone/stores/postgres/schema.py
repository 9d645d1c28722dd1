"""The schema in a database: recognised, created and migrated; and the settings of a connection."""

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
    """Set up a new connection and make sure that its database is a store; an empty database becomes one.

    Raises:
        StoreTooNew: a newer tildone made it.
        StoreDamaged: the schema `tildone` holds something else.
        StoreError: the encoding of the database cannot hold every text.
    """
    wait = f"{int(min(max(1, timeout * MILLISECONDS), MAX_TIMEOUT_MS))}ms"
    known = migrations()[-1][0]
    version = _prepared_version(connection, wait)
    if version < known:
        _migrate(connection, where, wait)
        version = _prepared_version(connection, wait)
    if version > known:
        raise StoreTooNew(
            f"{where} was written by a newer tildone: it has schema {version}, this one knows {known}; "
            "install the newer one here, too"
        )


def _prepared_version(connection: Connection, wait: str) -> int:
    """Apply the settings; the schema version that the database has, 0 if none."""
    try:
        row = connection.execute(query("prepare"), {"timeout": wait}).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return 0
    return row[0] or 0 if row else 0


def _migrate(connection: Connection, where: str, wait: str) -> None:
    """Run the missing migrations in one transaction. Many may try at once; an advisory lock lets one do it."""
    with connection.transaction():
        connection.execute(query("lock_timeout"), {"timeout": wait})
        connection.execute(query("migration_lock"), {"lock": LOCK})
        here = _version(connection, where)
        for number, name, statements in migrations():
            if number > here:
                connection.execute(statements)
                connection.execute(query("record_migration"), {"version": number, "name": name})


def _version(connection: Connection, where: str) -> int:
    """The version to migrate from, read under the lock."""
    encoding, used, versioned = connection.execute(query("schema_state")).fetchone() or ("", False, False)
    if encoding != ENCODING:
        raise StoreError(f"{where} keeps its text in {encoding}; tildone needs a database in {ENCODING}")
    if not used:
        return 0
    [version] = (versioned and connection.execute(query("version")).fetchone()) or (None,)
    if version is None:
        raise StoreDamaged(f"{where} has a schema named tildone that is not a tildone store")
    return int(version)
