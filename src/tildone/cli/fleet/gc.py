"""`tildone fleet gc`: turn old runs into reports, and remove them from the list."""

from __future__ import annotations

import os

from tildone.app.settings import data_folder
from tildone.base import TildoneError
from tildone.base.files import write_text
from tildone.base.ids import now
from tildone.base.private import make_private_folder
from tildone.cli.fleet.opening import Fleet, open_existing_fleet
from tildone.cli.maintenance.prune import parse_age
from tildone.cli.output import put, put_notice
from tildone.cli.output.prompts import put_data
from tildone.cli.table import ParsedArgs
from tildone.fleet.engines import forget_attempts
from tildone.fleet.results import report_path, run_report
from tildone.fleet.workspaces import remove_workspace
from tildone.plan.events import latest_state
from tildone.plan.lists import RunView
from tildone.plan.names import FileName
from tildone.plan.text.amounts import format_count
from tildone.plan.text.runs import bad_row_text
from tildone.plan.text.safe import printable

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
        _remove_workers(fleet, now() - min_age)
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
    write_text(_path(folder, lease.run), _report(fleet, views))
    try:
        for view in views:
            remove_workspace(fleet.home, view.lease)
    except (TildoneError, OSError) as error:
        put_notice(f"tildone: the checkpoints of {lease.run} could not be removed: {printable(str(error))}")
    if not fleet.leases.forget(lease.run):
        return False
    try:
        leases = [view.lease for view in views]
        forget_attempts(fleet.leases.settings().engine, fleet.settings.store, leases)
    except TildoneError as error:
        # A worker removes them within an hour.
        put_notice(f"tildone: the attempts of {lease.run} could not be removed: {printable(str(error))}")
    return True


def _remove_workers(fleet: Fleet, before: int) -> None:
    """Remove the workers that were last seen before a time: they have ended without saying so."""
    for worker in fleet.leases.workers():
        if worker.seen < before:
            fleet.leases.leave(worker.id)


def _remove_bad_rows(fleet: Fleet) -> None:
    """Remove what somebody else has put into the tables. Nothing on the disk is touched: the names may be any paths."""
    for row in fleet.bad_rows:
        if row.table == "workers":
            fleet.leases.leave(row.name)
            put_notice(f"tildone: {bad_row_text(row)}; it is removed")
        elif row.table == "leases":
            is_removed = fleet.leases.forget(row.name)
            put_notice(f"tildone: {bad_row_text(row)}; it is {'removed' if is_removed else 'ignored'}")


def _report(fleet: Fleet, views: list[RunView]) -> str:
    session = views[0].lease.session
    state = latest_state(fleet.store.history(session))
    return run_report([view.lease for view in views], state.plan, list(fleet.store.events(session)), state.head)


def _path(folder: str, run: str) -> str:
    return report_path(folder, FileName.of(run, 0))
