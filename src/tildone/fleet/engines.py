"""The engine of a fleet, by its settings: how it is checked, prepared and made."""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from typing import Any

from tildone.base import StoreError, UsageError
from tildone.base.distribution import install_extra
from tildone.fleet.engine import DBOS, UP, EngineFor, TableEngine, is_server
from tildone.log.kept import Finding, Severity
from tildone.plan.runs import Lease
from tildone.stores import StoreAddress


def check_engine(engine: str, store: StoreAddress) -> None:
    """Check that an engine can be used with a store. Raises UsageError if it cannot."""
    if engine != DBOS:
        return
    if not is_server(store):
        raise UsageError("the engine dbos needs a PostgreSQL database; a SQLite file needs no engine but its own table")
    if find_spec("dbos") is None:
        raise UsageError(
            f"the engine dbos is not installed: {install_extra('fleet')}; or, for all workers, set "
            'engine = "table" in [fleet] and run: tildone fleet up'
        )


def engine_for(engine: str, store: StoreAddress) -> EngineFor:
    """Return what makes the engine of a worker. `engine` is that of the settings of the fleet."""
    if not engine and is_server(store):
        raise StoreError(f"{store.redacted} is not prepared for workers: tildone fleet up")
    check_engine(engine, store)
    if engine != DBOS:
        return TableEngine
    from tildone.fleet.dbos_engine import DbosEngine  # noqa: PLC0415  DBOS takes half a second to import

    return partial(DbosEngine, str(store))


def prepare_engine(engine: str, store: StoreAddress) -> None:
    """Create what the engine needs in the database, or bring it up to date."""
    if engine == DBOS:
        with _dbos_tables(store) as tables:
            tables.migrate()


def engine_findings(engine: str, store: StoreAddress) -> list[Finding]:
    """Check the engine of a fleet, and change nothing."""
    if not engine:
        return [Finding(Severity.ERROR, "no engine is chosen for the workers", UP)] if is_server(store) else []
    try:
        check_engine(engine, store)
        if engine == DBOS:
            with _dbos_tables(store) as tables:
                if not tables.are_current():
                    return [Finding(Severity.ERROR, "the tables of the engine dbos are missing, or too old", UP)]
    except (UsageError, StoreError) as error:
        return [Finding(Severity.ERROR, str(error))]
    return [Finding(Severity.OK, f"the engine of the workers is {engine}")]


def forget_attempts(engine: str, store: StoreAddress, leases: Sequence[Lease]) -> None:
    """Remove what the engine has stored of leases that have ended."""
    if engine == DBOS and leases and find_spec("dbos") is not None:
        with _dbos_tables(store) as tables:
            tables.forget(leases)


def _dbos_tables(store: StoreAddress) -> Any:
    from tildone.fleet.dbos_engine import EngineTables  # noqa: PLC0415  see `engine_for`

    return closing(EngineTables(str(store)))
