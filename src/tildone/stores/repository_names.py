"""The names of the repositories of runs: one for each, whoever queues a run.

One run at a time works on a repository, which is found by comparing texts. So where the row of a run is made, the run
names its repository as the runs before it do. Two transactions that would give a new repository two names wait for each
other.
"""

from __future__ import annotations

import os

from tildone.log.fleet.names import is_repository, repository_key
from tildone.typing import TYPE_CHECKING
from tildone.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tildone.log.fleet.lease import NewRun
    from tildone.stores.lease_transaction import LeaseTransaction


def with_local_path(new: NewRun) -> NewRun:
    """Return a run with the path of its repository as it is on this machine: that of a folder, without links."""
    path = os.path.expanduser(new.work.repo)
    return replace(new, work=replace(new.work, repo=os.path.realpath(path))) if os.path.isabs(path) else new


def lock_repositories(tables: LeaseTransaction, runs: Iterable[NewRun]) -> None:
    """Let no other transaction name these repositories. In one order, so that no two callers wait for each other."""
    for name in sorted({_lock_name(new.work.repo) for new in runs if new.work.repo}):
        tables.lock(name)


def with_known_repository(tables: LeaseTransaction, new: NewRun) -> NewRun:
    """Return a run that names its repository as the runs before have named it, also those that have ended."""
    repo = new.work.repo
    lock_repositories(tables, [new])
    if not repo or tables.has_repository(repo):
        return new
    known = filter(is_repository, tables.repositories())
    same = (other for other in known if _lock_name(other) == _lock_name(repo))
    return replace(new, work=replace(new.work, repo=next(same, repo)))


def _lock_name(repo: str) -> str:
    return f"repository {repository_key(repo, os.path.realpath)}"
