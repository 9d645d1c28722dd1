"""Where the results of a run are: its branch, and its files on this machine."""

from __future__ import annotations

import os

from tildone.log.fleet.repositories import is_address
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.cli.fleet.opening import Fleet
    from tildone.log.fleet.lease import Lease


def places_of(fleet: Fleet, lease: Lease) -> list[tuple[str, str]]:
    """Return the places of a run that has begun, by name: branch, folder, output, report. What is not here is left out.

    The files of a run are on the machine whose worker ran it.
    """
    repo = lease.work.repo
    has_branch = lease.epoch > 0 and (is_address(repo) or (repo and os.path.exists(os.path.join(repo, ".git"))))
    found = [("branch", f"tildone/{lease.run}")] if has_branch else []
    return [*found, *((name, path) for name, path in _files(fleet.home, lease) if os.path.exists(path))]


def _files(home: str, lease: Lease) -> Iterator[tuple[str, str]]:
    yield from (("folder", os.path.join(home, kind, lease.run)) for kind in ("worktrees", "folders"))
    # The newest output is that of the highest epoch that ran here.
    outputs = (os.path.join(home, "runs", f"{lease.run}.{epoch}.output") for epoch in range(lease.epoch, 0, -1))
    yield from (("output", path) for path in [next(filter(os.path.exists, outputs), "")] if path)
    yield "report", os.path.join(home, "reports", f"{lease.run}.md")
