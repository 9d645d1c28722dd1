"""Errors of the driver: which are temporary, and which `StoreError` the others become."""

from __future__ import annotations

from psycopg import Error, OperationalError, errors

from tildone.errors import StoreBusy, StoreDamaged, StoreError, StoreUnreachable

TEMPORARY_MESSAGES = (
    "starting up",
    "shutting down",
    "not yet accepting connections",
    "not accepting connections",
    "in recovery mode",
    "too many clients",
    "connection slots are reserved",
    "too many connections",
)
"""Substrings of error messages after which a new attempt may succeed, in the server's default language."""

NO_ENCRYPTION = "server does not support SSL, but SSL was required"

_SHUTDOWN_CLASS = "57P"
_PREFIXES = ("failed: ", "is bad: ", "FATAL:  ")


def is_temporary(error: Error) -> bool:
    """Return whether a connection attempt failed for a temporary reason."""
    return any(part in str(error) for part in TEMPORARY_MESSAGES)


def connection_closed(reason: str) -> bool:
    """Return whether a server closed a new connection at once, as one does that is ending."""
    return "server closed the connection" in reason


def connection_refused(error: Error) -> bool:
    """Return whether the error is about the connection; errors of statements have an SQLSTATE of another class."""
    return isinstance(error, OperationalError) and (error.sqlstate or _SHUTDOWN_CLASS).startswith(_SHUTDOWN_CLASS)


def connection_lost(error: Error, *, closed: bool) -> bool:
    """Return whether the connection was lost, which leaves open whether the statement was executed."""
    if isinstance(error, errors.IdleInTransactionSessionTimeout):
        # This process was stopped for a while in the middle of a transaction.
        return True
    if not isinstance(error, (OperationalError, errors.InterfaceError)):
        return False
    # A server that shuts down reports that before it closes the connection.
    return closed or (error.sqlstate or "").startswith(_SHUTDOWN_CLASS)


def connect_error(error: Error, where: str) -> StoreError:
    """Return the `StoreError` for a failed connection attempt; libpq gives the reason only as text."""
    reason = reason_of(error)
    if NO_ENCRYPTION in reason:
        return StoreError(
            f"{where} offers no encryption, so no password and no plan was sent to it; enable TLS on the server, "
            "or, if the network between is trusted, add sslmode=disable to the address or set PGSSLMODE=disable"
        )
    if "does not exist" in reason and "database" in reason:
        return StoreError(f"there is no {where}: create the database first")
    if "too many" in reason or "slots are reserved" in reason:
        return StoreBusy(f"{where} has no free connection: {reason}")
    if "Connection refused" in reason or "No such file" in reason or "timeout expired" in reason:
        return StoreUnreachable(f"cannot reach {where}: {reason}")
    if is_temporary(error) or connection_closed(reason):
        return StoreUnreachable(f"cannot connect to {where}: {reason}")
    return StoreError(f"cannot connect to {where}: {reason}")


def store_error(error: Error, where: str) -> StoreError:
    """Return the `StoreError` for a failed statement."""
    match error:
        case errors.LockNotAvailable():
            return StoreBusy(f"{where} is in use by another process, for longer than we wait")
        case errors.DiskFull():
            return StoreError(f"{where} can't grow: the disk is full")
        case errors.ReadOnlySqlTransaction():
            return StoreError(f"{where} can't be written: it is read-only")
        case errors.InsufficientPrivilege():
            return StoreError(f"no access to {where}: {reason_of(error)}")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.UndefinedFunction():
            return StoreDamaged(f"{where} is damaged: {reason_of(error)}")
        case errors.InvalidSchemaName() | errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreDamaged(f"{where} is damaged: {reason_of(error)}")
        case _:
            return StoreError(f"{where}: {reason_of(error)}")


def reason_of(error: Error) -> str:
    """Return the reason of an error on one line, in the server's words if it gave one."""
    if error.diag.message_primary:
        return error.diag.message_primary
    reason = str(error).partition("\n")[0]
    for prefix in _PREFIXES:
        reason = reason.rpartition(prefix)[2]
    return reason or type(error).__name__
