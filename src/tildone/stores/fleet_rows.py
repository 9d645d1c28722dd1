"""Workers, settings and limits as the columns of tables, the same in every store. See `lease_rows` for bad rows."""

from __future__ import annotations

from tildone.errors import UsageError
from tildone.log.fleet.lease import Ask
from tildone.log.fleet.settings import ENGINES, FleetSettings, ProviderLimit, checked_limit, checked_settings
from tildone.log.fleet.workers import BadRow, WorkerInfo
from tildone.stores.lease_rows import texts_in
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tildone.stores.scribe import Scribe


def worker_in(row: Sequence[Any]) -> WorkerInfo | BadRow:
    """Return the worker of the columns of a row."""
    name, host, pid, version, protocol, slots, labels, seen, ask = row
    try:
        return WorkerInfo(name, host, pid, version, protocol, slots, texts_in(labels), seen, Ask(ask))
    except (UsageError, ValueError) as error:
        return BadRow("workers", name, str(error))


def ask_in(stored: str) -> Ask:
    """Return what is asked of a worker. What nobody can ask is nothing."""
    try:
        return Ask(stored)
    except ValueError:
        return Ask.NOTHING


def settings_in(rows: Sequence[Sequence[Any]], scribe: Scribe) -> FleetSettings:
    """Return the settings of a fleet: those of its only row; the default times if others have put some there."""
    for row in rows:
        try:
            return checked_settings(FleetSettings(*row))
        except UsageError as error:
            scribe.on_bad_row(BadRow("fleet", "settings", str(error)))
            *_, engine = row
            return FleetSettings(engine=engine if engine in ENGINES else "")
    return FleetSettings()


def limit_in(row: Sequence[Any]) -> ProviderLimit | BadRow:
    """Return the limits of a provider."""
    try:
        return checked_limit(ProviderLimit(*row))
    except UsageError as error:
        return BadRow("providers", row[0], str(error))
