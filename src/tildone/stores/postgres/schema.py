"""The schema of a PostgreSQL store: recognising, creating and migrating it, and setting up a connection."""

from __future__ import annotations

from psycopg import Connection, errors

from tildone.base import NotFound, StoreDamaged, StoreError, StoreTooNew
from tildone.stores.postgres.rows import migrations, query

MIGRATION_LOCK = 0x746C646E  # "tldn"
ENCODING = "UTF8"
MILLISECONDS = 1000
MAX_TIMEOUT_MS = 2**31 - 1


def prepare_connection(connection: Connection, where: str, timeout: float, *, read_only: bool = False) -> None:
    """Set up a new connection and check that its database is a store; create or migrate the schema if necessary.

    With `read_only`, the database is not changed.

    Raises:
        NotFound: there is no schema, and `read_only` forbids to create it.
        StoreTooNew: a newer tildone wrote it.
        StoreDamaged: the schema `tildone` is not a store.
        StoreError: the encoding of the database is not UTF-8.
    """
    wait = f"{int(min(max(1, timeout * MILLISECONDS), MAX_TIMEOUT_MS))}ms"
    known = migrations()[-1][0]
    version = _prepared_version(connection, wait)
    if read_only and not version and not _version(connection, where):
        raise NotFound(f"there is no store in {where}")
    if version < known and not read_only:
        _migrate(connection, where, wait)
        version = _prepared_version(connection, wait)
    if version > known:
        raise StoreTooNew(
            f"{where} was written by a newer tildone: it has schema {version}, this one supports up to {known}; "
            "upgrade tildone"
        )


def _prepared_version(connection: Connection, wait: str) -> int:
    """Apply the settings; return the version of the schema, 0 if there is none."""
    try:
        row = connection.execute(query("prepare"), {"timeout": wait}).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return 0
    return row[0] or 0 if row else 0


def _migrate(connection: Connection, where: str, wait: str) -> None:
    """Run the missing migrations in one transaction. Of several processes, an advisory lock admits one at a time."""
    with connection.transaction():
        connection.execute(query("lock_timeout"), {"timeout": wait})
        connection.execute(query("migration_lock"), {"lock": MIGRATION_LOCK})
        current = _version(connection, where)
        for number, name, statements in migrations():
            if number > current:
                connection.execute(statements)
                connection.execute(query("record_migration"), {"version": number, "name": name})


def _version(connection: Connection, where: str) -> int:
    """Return the version to migrate from, 0 if there is no store."""
    encoding, used, versioned = connection.execute(query("schema_state")).fetchone() or ("", False, False)
    if encoding != ENCODING:
        raise StoreError(f"{where} has the encoding {encoding}; tildone needs a database with the encoding {ENCODING}")
    if not used:
        return 0
    [version] = (versioned and connection.execute(query("version")).fetchone()) or (None,)
    if version is None:
        raise StoreDamaged(f"{where} has a schema named tildone that is not a tildone store")
    return int(version)
