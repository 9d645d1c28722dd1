"""`tildone fleet up`, `doctor` and `gc`: prepare a store for a fleet, find what is wrong, and remove old runs."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from tildone.app.settings import data_folder
from tildone.app.settings_file import MAX_SECONDS
from tildone.base import MAX_DIGITS, NotFound, StoreError, TildoneError, UsageError, replace, shortened
from tildone.base.files import write_text
from tildone.base.ids import now
from tildone.base.private import make_private_folder
from tildone.cli.fleet.opening import Fleet, fleet_settings, open_existing_fleet, open_fleet
from tildone.cli.maintenance.sessions import parse_age
from tildone.cli.output import put, put_notice, put_spans
from tildone.cli.output.prompts import put_data
from tildone.cli.output.titles import finding_lines
from tildone.cli.table import ParsedArgs
from tildone.fleet.engine import default_engine
from tildone.fleet.engines import check_engine, engine_findings, forget_attempts, prepare_engine
from tildone.fleet.results import report_of, report_path
from tildone.fleet.supervision import Unsupported, orphans
from tildone.fleet.workspaces import remove_workspace
from tildone.fleet.worktrees import names_with_checkpoints
from tildone.log.kept import Finding, Severity
from tildone.log.settings import FleetSettings, ProviderLimit
from tildone.plan.lists import RunView, WorkerInfo
from tildone.plan.names import FileName, is_address, provider_family
from tildone.plan.runs import PROTOCOL, Lease, LeaseState
from tildone.plan.text.amounts import ago, format_count
from tildone.plan.text.runs import LAPSED, bad_row_text, hand_name, state_of
from tildone.plan.text.safe import printable

STUCK = 1
"""The exit code if something is stuck, and the store has no problem."""

SILENT_LEASES = 2
"""A worker that was not seen for this many leases is taken for dead."""

MAX_FINDINGS = 10
_WHO = "see who else can write to the store"
_REMEDIES = {
    "leases": f"{_WHO}; tildone fleet gc removes the row; tildone fleet up --rebuild adds the run again from its log",
    "workers": f"{_WHO}; tildone fleet gc removes the row",
    "schedules": f"{_WHO}; then remove it: tildone fleet schedule rm NAME",
    "fleet": f"{_WHO}; the default settings are used until then: tildone fleet up sets them again",
    "providers": f"{_WHO}; then set the limit again: tildone fleet up --limit",
}


def store_findings(fleet: Fleet) -> Iterator[Finding]:
    yield from fleet.leases.findings()
    settings = fleet.leases.settings()
    yield Finding(
        Severity.OK,
        f"a lease lasts {settings.lease / 1000:g} s and is renewed every {settings.heartbeat / 1000:g} s",
    )
    for limit in fleet.leases.limits():
        parts = [
            format_count(limit.runs, "run") if limit.runs else "",
            f"{limit.requests} requests a minute" if limit.requests else "",
        ]
        yield Finding(Severity.OK, f"{printable(limit.provider)}: at most {' and '.join(filter(None, parts))}")


def worker_findings(fleet: Fleet, now: int, without: Severity = Severity.WARNING) -> Iterator[Finding]:
    """Check the workers; queued runs `without` any worker are a finding of that severity."""
    workers, silence = fleet.leases.workers(), SILENT_LEASES * fleet.leases.settings().lease
    if not workers:
        queued = any(view.lease.is_queued for view in fleet.leases.look())
        severity = without if queued else Severity.OK
        remedy = "start one: tildone fleet work --allow PATTERN" if queued else ""
        yield Finding(severity, "there are no workers", remedy)
    for worker in workers:
        name = printable(worker.id)
        if now - worker.seen > silence:
            yield Finding(
                Severity.WARNING,
                f"worker {name} is silent; it was last seen {ago(now - worker.seen)}",
                "if it has ended, its runs pass to other workers",
            )
        elif worker.protocol != PROTOCOL:
            yield Finding(
                Severity.WARNING,
                f"worker {name} has protocol {worker.protocol}, and this version has {PROTOCOL}",
                "let it finish, then update it: tildone fleet drain WORKER",
            )
        elif not worker.slots:
            yield Finding(
                Severity.WARNING,
                f"worker {name} takes no run: its disk is nearly full",
                "make space on its disk: tildone fleet gc removes the files of old runs",
            )
        else:
            yield Finding(
                Severity.OK, f"worker {name}: {format_count(worker.slots, 'slot')}, version {printable(worker.version)}"
            )


def run_findings(fleet: Fleet, now: int) -> Iterator[Finding]:
    views, workers = fleet.leases.look(), fleet.leases.workers()
    silence = SILENT_LEASES * fleet.leases.settings().lease
    found = [finding for view in views for finding in _of_run(view, workers, now, silence)]
    yield from found[:MAX_FINDINGS]
    if len(found) > MAX_FINDINGS:
        yield Finding(Severity.WARNING, f"{len(found) - MAX_FINDINGS:,} more runs need attention", "tildone fleet ls")
    if not found:
        living = {view.lease.run for view in views if view.lease.state.is_active}
        yield Finding(Severity.OK, f"{format_count(len(living), 'run')} in work, none of them stuck")


def row_findings(fleet: Fleet) -> Iterator[Finding]:
    # The other checks have read the other tables.
    fleet.leases.schedules()
    rows = list(fleet.bad_rows)
    for row in rows[:MAX_FINDINGS]:
        yield Finding(Severity.ERROR, f"{bad_row_text(row)}; it is ignored", _REMEDIES[row.table])
    if len(rows) > MAX_FINDINGS:
        yield Finding(Severity.ERROR, f"{len(rows) - MAX_FINDINGS:,} more rows are ignored", _REMEDIES["leases"])


def process_findings(fleet: Fleet) -> Iterator[Finding]:
    leases = [view.lease for view in fleet.leases.look()]
    held = {str(lease.fence) for lease in leases if lease.is_held}
    known = {lease.run for lease in leases}
    try:
        # Processes of runs that are not in this store belong to another fleet.
        every = [process for process in orphans(()) if process.lease.partition("/")[0] in known]
    except Unsupported as error:
        yield Finding(Severity.OK, str(error))
        return
    for process in [each for each in every if each.stopped and each.lease in held][:MAX_FINDINGS]:
        what = f"process {process.pid} ({printable(process.name)}) of {printable(process.lease)} is frozen"
        yield Finding(Severity.WARNING, what, "its worker could not renew the lease; it goes on, or ends, when it can")
    left = [process for process in every if process.lease not in held]
    for process in left[:MAX_FINDINGS]:
        state = "frozen" if process.stopped else "running"
        name, lost = printable(process.name), printable(process.lease)
        what = f"process {process.pid} ({name}) works for a lost lease, {lost}, and is {state}"
        yield Finding(Severity.ERROR, what, f"end it: kill -9 {process.pid}")
    if not left:
        yield Finding(Severity.OK, "no process on this machine works for a lost lease")


def checkpoint_findings(fleet: Fleet, home: str) -> Iterator[Finding]:
    """Check the repositories on this machine for checkpoints of runs that are no longer listed."""
    leases = [view.lease for view in fleet.leases.look()]
    known = {FileName.of(lease.run, lease.hand) for lease in leases}
    folders = {lease.work.repo for lease in leases if lease.work.repo and not is_address(lease.work.repo)}
    clones = os.path.join(home, "repositories")
    folders |= {entry.path for entry in os.scandir(clones)} if os.path.isdir(clones) else set()
    for folder in sorted(folder for folder in folders if os.path.exists(os.path.join(folder, ".git"))):
        left = sorted(names_with_checkpoints(folder) - known)
        if left:
            listed = ", ".join(map(printable, left[:MAX_FINDINGS]))
            yield Finding(
                Severity.WARNING,
                f"{printable(folder)} has checkpoints of runs that are not listed: {listed}",
                f"remove them: git update-ref -d, for each ref below refs/tildone/{printable(left[0])}/",
            )


def put_findings(args: ParsedArgs, found: Iterable[Finding]) -> int:
    findings = list(found)
    if args.has("json"):
        put_data(
            checks=[{"status": each.severity.value, "message": each.what, "remedy": each.remedy} for each in findings]
        )
    else:
        for before, finding in zip([None, *findings], findings, strict=False):
            put_spans(finding_lines(finding, before))
        problems = sum(finding.severity is not Severity.OK for finding in findings)
        put(f"{format_count(problems, 'finding')} to act on." if problems else "No problems found.")
    return StoreError.exit_code if _have_errors(findings) else 0


def _have_errors(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


def _of_run(view: RunView, workers: Sequence[WorkerInfo], now: int, silence: int) -> Iterator[Finding]:
    lease, name = view.lease, hand_name(view.lease)
    if state_of(view, now) == LAPSED:
        is_long = now - max(lease.since, view.worker.seen if view.worker else 0) > silence
        yield Finding(
            Severity.ERROR if is_long else Severity.WARNING,
            f"the lease of {name} has lapsed; worker {printable(lease.worker)} does not renew it",
            "a running worker takes it over; if there is none: tildone fleet work",
        )
    elif lease.is_queued and lease.work.protocol > PROTOCOL:
        yield Finding(Severity.ERROR, f"{name} needs protocol {lease.work.protocol}", "update the workers")
    elif lease.is_queued and workers and not _takers(lease, workers):
        labels = ", ".join(map(printable, lease.work.labels))
        yield Finding(
            Severity.ERROR,
            f"{name} is queued, and no worker has its labels: {labels}",
            f"start one: tildone fleet work --labels {','.join(map(printable, lease.work.labels))}",
        )
    elif lease.is_queued and workers and all(worker.id in lease.refused for worker in _takers(lease, workers)):
        yield Finding(
            Severity.ERROR,
            f"{name} is queued, and every worker has refused it",
            f"see why: tildone fleet show {lease.run}; then start a worker that permits it: tildone fleet work",
        )
    elif lease.state is LeaseState.WAITING:
        yield Finding(Severity.WARNING, f"{name} waits for an answer", f"tildone fleet show {lease.run}")


def _takers(lease: Lease, workers: Sequence[WorkerInfo]) -> list[WorkerInfo]:
    return [worker for worker in workers if lease.work.fits(worker.labels)]


def doctor(args: ParsedArgs) -> int:
    fleet, at = open_existing_fleet(args, read_only=True), now()
    of_store = list(store_findings(fleet))
    of_runs = [*worker_findings(fleet, at, Severity.ERROR), *run_findings(fleet, at), *process_findings(fleet)]
    of_runs += checkpoint_findings(fleet, fleet.home)
    of_rows = list(row_findings(fleet))
    code = put_findings(args, [*of_store, *of_runs, *of_rows])
    return code if not code or _have_errors([*of_store, *of_rows]) else STUCK


MIN_LEASE_SECONDS = 2
HEARTBEATS, MARGINS, REAPERS = 3, 12, 30
"""How many of each a lease lasts. A worker that misses one heartbeat keeps its leases."""


def up(args: ParsedArgs) -> int:
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
    if not args.has("rebuild"):
        return _report(args, fleet)
    added = f"{format_count(fleet.leases.rebuild(), 'lease')} added from the logs of the plans"
    return _report(args, fleet, [Finding(Severity.OK, added)])


def _configure(fleet: Fleet, lease_seconds: int) -> None:
    """Store the times and the engine of all workers, and create the tables of the engine."""
    before, address = fleet.leases.settings(), fleet.settings.store
    engine = fleet.config.engine or before.engine or default_engine(address)
    check_engine(engine, address)
    prepare_engine(engine, address)
    if lease_seconds:
        # In the proportions of the default.
        lease = lease_seconds * 1000
        reaper, margin = min(2_000, lease // REAPERS), lease // MARGINS
        before = FleetSettings(lease, lease // HEARTBEATS, margin, reaper, margin)
    fleet.leases.configure(replace(before, engine=engine))


def parsed_limit(given: str) -> ProviderLimit:
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
    engine = engine_findings(fleet.leases.settings().engine, fleet.settings.store)
    code = put_findings(args, chain(more, store_findings(fleet), engine, worker_findings(fleet, now())))
    if not args.has("json") and not code and not fleet.leases.workers():
        put("Next: tildone fleet add PLAN, then a worker: tildone fleet work --allow PATTERN")
    return code


MAX_NAMED = 20
DEFAULT_AGE = "30d"
FOLDER = os.path.join("fleet", "reports")


def gc(args: ParsedArgs) -> int:
    """Write a report of each run that ended long ago, then remove the run."""
    min_age, words = parse_age(args.options.get("older-than", DEFAULT_AGE))
    folder = args.options.get("reports") or os.path.join(data_folder(os.environ), FOLDER)
    fleet = open_existing_fleet(args, read_only=args.has("dry-run"))
    old = _ended_runs(fleet, now() - min_age)
    removed = [] if args.has("dry-run") else [name for name, views in old.items() if _is_removed(fleet, folder, views)]
    if not args.has("dry-run"):
        for worker in fleet.leases.workers():
            # It has ended without saying so.
            if worker.seen < now() - min_age:
                fleet.leases.leave(worker.id)
        _remove_bad_rows(fleet)
    if args.has("json"):
        listed = [{"run": name, "removed": name in removed, "report": _path(folder, name)} for name in old]
        put_data(runs=listed)
    elif args.has("dry-run"):
        names = f": {', '.join([*old][:MAX_NAMED])}{', …' if len(old) > MAX_NAMED else ''}" if old else "."
        put(f"{format_count(len(old), 'run')} ended more than {words} ago{names}")
    elif removed:
        put(f"Removed {format_count(len(removed), 'run')}. The reports are in {printable(folder)}")
    else:
        put(f"No run ended more than {words} ago.")
    return 0


def _ended_runs(fleet: Fleet, before: int) -> dict[str, list[RunView]]:
    """Return the leases of the runs of which all hands ended before a time, by run."""
    runs: dict[str, list[RunView]] = {}
    for view in fleet.leases.look():
        runs.setdefault(view.lease.run, []).append(view)
    return {
        run: views
        for run, views in runs.items()
        if all(not view.lease.state.is_active and view.lease.since < before for view in views)
    }


def _is_removed(fleet: Fleet, folder: str, views: list[RunView]) -> bool:
    """Write the report of a run, then remove the run. Without the report, the run stays."""
    lease = views[0].lease
    make_private_folder(folder)
    leases = [view.lease for view in views]
    write_text(_path(folder, lease.run), report_of(fleet.store, views))
    try:
        for view in views:
            remove_workspace(fleet.home, view.lease)
    except (TildoneError, OSError) as error:
        put_notice(f"tildone: the checkpoints of {lease.run} could not be removed: {printable(str(error))}")
    if not fleet.leases.forget(lease.run):
        return False
    try:
        forget_attempts(fleet.leases.settings().engine, fleet.settings.store, leases)
    except TildoneError as error:
        # A worker removes them within an hour.
        put_notice(f"tildone: the attempts of {lease.run} could not be removed: {printable(str(error))}")
    return True


def _remove_bad_rows(fleet: Fleet) -> None:
    """Remove what somebody else has put into the tables. Nothing on the disk is touched: the names may be any paths."""
    for row in fleet.bad_rows:
        if row.table == "workers":
            fleet.leases.leave(row.name)
            put_notice(f"tildone: {bad_row_text(row)}; it is removed")
        elif row.table == "leases":
            is_removed = fleet.leases.forget(row.name)
            put_notice(f"tildone: {bad_row_text(row)}; it is {'removed' if is_removed else 'ignored'}")


def _path(folder: str, run: str) -> str:
    return report_path(folder, FileName.of(run, 0))
