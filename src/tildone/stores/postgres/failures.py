"""What the driver's errors mean: which of them pass, and what is said of those that don't."""

from __future__ import annotations

from psycopg import Error, OperationalError, errors

from tildone.errors import StoreBusy, StoreDamaged, StoreError

COMING_UP = (
    "starting up",
    "shutting down",
    "not yet accepting connections",
    "not accepting connections",
    "in recovery mode",
    "too many clients",
    "connection slots are reserved",
    "too many connections",
)
"""What a server says, as long as nobody has given it another language, when trying again will help."""

_GONE = "57P"
_BEFORE_THE_REASON = ("failed: ", "is bad: ", "FATAL:  ")


def is_temporary(error: Error) -> bool:
    """Whether a server that could not be reached is likely to be there soon."""
    return any(sign in str(error) for sign in COMING_UP)


def connection_refused(error: Error) -> bool:
    """Whether there never was a connection, or none any more; errors of work that was refused have a code."""
    return isinstance(error, OperationalError) and (error.sqlstate or _GONE).startswith(_GONE)


def connection_lost(error: Error, *, closed: bool) -> bool:
    """Whether the connection was lost, so that nobody knows how far the server got."""
    if not isinstance(error, (OperationalError, errors.InterfaceError)):
        return False
    # A server that is told to stop says so before it hangs up.
    return closed or (error.sqlstate or "").startswith(_GONE)


def connect_error(error: Error, where: str) -> StoreError:
    """What is said of a server that did not let us in; it tells why in nothing but words."""
    reason = reason_of(error)
    if "does not exist" in reason and "database" in reason:
        return StoreError(f"there is no {where}: create the database first")
    if "too many" in reason or "slots are reserved" in reason:
        return StoreBusy(f"{where} has no connection left for us: {reason}")
    if "Connection refused" in reason or "No such file" in reason or "timeout expired" in reason:
        return StoreError(f"cannot reach {where}: {reason}")
    return StoreError(f"cannot connect to {where}: {reason}")


def store_error(error: Error, where: str) -> StoreError:
    """What is said of work that a server did not do."""
    match error:
        case errors.LockNotAvailable():
            return StoreBusy(f"{where} is in use by another process, for longer than we wait")
        case errors.DiskFull():
            return StoreError(f"{where} can't grow: the disk is full")
        case errors.ReadOnlySqlTransaction():
            return StoreError(f"{where} can't be written: it is read-only")
        case errors.InsufficientPrivilege():
            return StoreError(f"{where} does not allow that: {reason_of(error)}")
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.UndefinedFunction():
            return StoreDamaged(f"{where} is damaged: {reason_of(error)}")
        case errors.InvalidSchemaName() | errors.DataCorrupted() | errors.IndexCorrupted():
            return StoreDamaged(f"{where} is damaged: {reason_of(error)}")
        case _:
            return StoreError(f"{where}: {reason_of(error)}")


def reason_of(error: Error) -> str:
    """Why, in the words of whoever knows, on one line."""
    if error.diag.message_primary:
        return error.diag.message_primary
    reason = str(error).partition("\n")[0]
    for words in _BEFORE_THE_REASON:
        reason = reason.rpartition(words)[2]
    return reason or type(error).__name__
