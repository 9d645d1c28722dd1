"""`tildone fleet up`: prepare the store for a fleet, and check it."""

from __future__ import annotations

from itertools import chain

from tildone.cli.fleet.findings import put_findings, store_findings, worker_findings
from tildone.cli.fleet.opening import fleet_settings, open_existing_fleet, open_fleet
from tildone.cli.output.amounts import counted
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.config.fleet import MAX_SECONDS
from tildone.errors import MAX_DIGITS, NotFound, StoreError, UsageError, shortened
from tildone.fleet import engines
from tildone.ids import now
from tildone.log.findings import Finding, Severity
from tildone.log.fleet.providers import provider_family
from tildone.log.fleet.settings import FleetSettings, ProviderLimit
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.cli.fleet.opening import Fleet

MIN_LEASE_SECONDS = 2
HEARTBEATS, MARGINS, REAPERS = 3, 12, 30
"""How many of each a lease lasts. A worker that misses one heartbeat keeps its leases."""


def run(args: ParsedArgs) -> int:
    """Prepare the store and store the settings of all workers; then check both.

    Raises:
        UsageError: an option has an invalid value, or the store has no leases.
    """
    lease = args.positive_int("lease", 0)
    limits = [parsed_limit(given) for given in args.values("limit")]
    if args.has("check"):
        if lease or limits or args.has("rebuild"):
            raise UsageError("--check changes nothing; use it without --lease, --limit and --rebuild")
        return _check(args)
    if lease and not MIN_LEASE_SECONDS <= lease <= MAX_SECONDS:
        raise UsageError(f"--lease is {MIN_LEASE_SECONDS} to {MAX_SECONDS} seconds, not {lease}")
    fleet = open_fleet(args)
    _configure(fleet, lease or fleet.config.lease)
    for limit in limits:
        fleet.leases.set_limit(limit)
    rebuilt = [_rebuilt(fleet)] if args.has("rebuild") else []
    return _report(args, fleet, rebuilt)


def _rebuilt(fleet: Fleet) -> Finding:
    """Add the leases that are missing, and return what was done."""
    return Finding(Severity.OK, f"{counted(fleet.leases.rebuild(), 'lease')} added from the logs of the plans")


def _configure(fleet: Fleet, lease_seconds: int) -> None:
    """Store the times and the engine of all workers, and create the tables of the engine."""
    before, address = fleet.leases.settings(), fleet.settings.store
    engine = fleet.config.engine or before.engine or engines.default_engine(address)
    engines.check_engine(engine, address)
    engines.prepare_engine(engine, address)
    fleet.leases.configure(replace(times_for(lease_seconds) if lease_seconds else before, engine=engine))


def times_for(lease_seconds: int) -> FleetSettings:
    """Return the times of a fleet whose leases last that long, in the proportions of the default."""
    lease = lease_seconds * 1000
    return FleetSettings(lease, lease // HEARTBEATS, lease // MARGINS, min(2_000, lease // REAPERS), lease // MARGINS)


def parsed_limit(given: str) -> ProviderLimit:
    """Return the limit of a text `PROVIDER=RUNS[/REQUESTS]`.

    Raises:
        UsageError: the text has another form.
    """
    provider, equals, amounts = given.partition("=")
    runs, slash, requests = amounts.partition("/")
    if not equals or not provider or not _is_number(runs) or (slash and not _is_number(requests)):
        raise UsageError(
            f"--limit has the form PROVIDER=RUNS[/REQUESTS], such as anthropic=4/50, not {shortened(given)!r}"
        )
    return ProviderLimit(provider_family(provider), int(runs), int(requests or 0))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS


def _check(args: ParsedArgs) -> int:
    """Say what is missing. What cannot be opened is a finding, too."""
    try:
        fleet = open_existing_fleet(args, read_only=True)
    except NotFound:
        where = printable(fleet_settings(args).store.redacted)
        return put_findings(args, [Finding(Severity.ERROR, f"there is no store at {where}", "tildone fleet up")])
    except StoreError as error:
        return put_findings(args, [Finding(Severity.ERROR, str(error))])
    return _report(args, fleet)


def _report(args: ParsedArgs, fleet: Fleet, more: Iterable[Finding] = ()) -> int:
    engine = engines.engine_findings(fleet.leases.settings().engine, fleet.settings.store)
    code = put_findings(args, chain(more, store_findings(fleet), engine, worker_findings(fleet, now())))
    if not args.has("json") and not code and not fleet.leases.workers():
        put("Next: tildone fleet add PLAN, then a worker: tildone fleet work --allow PATTERN")
    return code
