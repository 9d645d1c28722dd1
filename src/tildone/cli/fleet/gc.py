"""`tildone fleet gc`: turn old runs into reports, and remove them from the list."""

from __future__ import annotations

import os

from tildone.cli.fleet.opening import Fleet, open_existing_fleet
from tildone.cli.fleet.report import report_of
from tildone.cli.maintenance.prune import parse_age
from tildone.cli.output.amounts import counted
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import put, put_notice
from tildone.cli.parsing.table import ParsedArgs
from tildone.config import data_folder
from tildone.errors import TildoneError
from tildone.files.atomic import write_text
from tildone.fleet.worktrees import Repository
from tildone.ids import now
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.log.fleet.workers import RunView

DEFAULT_AGE = "30d"
FOLDER = os.path.join("fleet", "reports")


def run(args: ParsedArgs) -> int:
    """Write a report of each run that ended long ago, then remove the run.

    Raises:
        UsageError: the age is invalid.
        NotFound: there is no store.
    """
    min_age, words = parse_age(args.options.get("older-than", DEFAULT_AGE))
    folder = args.options.get("reports") or os.path.join(data_folder(os.environ), FOLDER)
    fleet = open_existing_fleet(args, read_only=args.has("dry-run"))
    old = _ended_runs(fleet, now() - min_age)
    removed = [] if args.has("dry-run") else [name for name, views in old.items() if _is_removed(fleet, folder, views)]
    if args.has("json"):
        listed = [{"run": name, "removed": name in removed, "report": _path(folder, name)} for name in old]
        put_data(runs=listed)
    elif args.has("dry-run"):
        put(f"{counted(len(old), 'run')} ended more than {words} ago{': ' if old else '.'}{', '.join(old)}")
    elif removed:
        put(f"Removed {counted(len(removed), 'run')}. The reports are in {printable(folder)}")
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
        if all(not view.lease.state.is_living and view.lease.since < before for view in views)
    }


def _is_removed(fleet: Fleet, folder: str, views: list[RunView]) -> bool:
    """Write the report of a run, then remove the run. Without the report, the run stays."""
    lease = views[0].lease
    os.makedirs(folder, exist_ok=True)
    write_text(_path(folder, lease.run), report_of(fleet, views))
    try:
        _remove_files(fleet, lease.work.repo, lease.run)
    except (TildoneError, OSError) as error:
        put_notice(f"tildone: the checkpoints of {lease.run} could not be removed: {printable(str(error))}")
    return fleet.leases.forget(lease.run)


def _remove_files(fleet: Fleet, repo: str, run: str) -> None:
    home = fleet.config.worktrees or os.path.join(data_folder(os.environ), "fleet")
    if repo and os.path.isdir(repo):
        Repository(repo, home).remove(run)


def _path(folder: str, run: str) -> str:
    return os.path.join(folder, f"{run}.md")
