"""Checks of the store: its content, who may read it, free space, and the processes that have it open."""

from __future__ import annotations

import os
import stat
from shlex import quote
from shutil import disk_usage

from tildone.agents.open_files import processes_with_open
from tildone.app.opening import open_store
from tildone.cli.maintenance.checks.modes import is_loose, loose_modes, loose_paths
from tildone.config import data_folder
from tildone.distribution import program, upgrade
from tildone.errors import NotFound, StoreBusy, StoreDamaged, StoreTooNew, TildoneError
from tildone.kit.text import clip_text
from tildone.log.findings import Finding, Severity
from tildone.stores import store_kind
from tildone.typing import TYPE_CHECKING
from tildone.views.amounts import size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tildone.cli.maintenance.checks.context import CheckContext
    from tildone.log.address import StoreAddress

LOW_SPACE_BYTES = 200_000_000
CRITICAL_SPACE_BYTES = 10_000_000
"""Below these amounts of free space, the finding is a warning or an error."""

STORE_TIMEOUT_SECONDS = 3.0
"""Short, because a store that does not answer is a finding too."""

MAX_PROCESSES_LISTED = 5
MAX_COMMAND_COLUMNS = 100


def store(context: CheckContext) -> Iterator[Finding]:
    """Whether the store can be opened, and whether its content is intact."""
    path = context.settings.store.path
    if path is not None and not os.path.exists(path):
        yield Finding(Severity.OK, f"there is no store at {path} yet; the first plan creates it")
        return
    try:
        yield from _check_store(context)
    except NotFound as error:
        yield Finding(Severity.OK, str(error))
    except TildoneError as error:
        yield Finding(Severity.ERROR, str(error), _remedy(context.settings.store, error))


def permissions(context: CheckContext) -> Iterator[Finding]:
    """Who may read and write the store, and the rest of tildone's own files."""
    path = context.settings.store.path
    found: list[str] = []
    if path is not None and os.path.exists(path):
        files = store_kind(context.settings.store).files(context.settings.store)
        found = [name for name in files if os.path.exists(name)]
    data = data_folder(os.environ)
    wrong = [*loose_modes([*loose_paths(data)], f"in {data}", fix=context.fix)]
    if path is not None and found:
        wrong += [finding for name in (os.path.dirname(path), *found) for finding in _access(name)]
        wrong += [finding for name in found for finding in _ownership(name, path)]
        if os.name == "posix" and _is_open_to_all(path):
            wrong += loose_modes([name for name in found if is_loose(name)], "of the store", fix=context.fix)
    if wrong or found:
        yield from wrong or [Finding(Severity.OK, "you can read and write the store, and other users cannot read it")]


def space(context: CheckContext) -> Iterator[Finding]:
    path = context.settings.store.path
    if path is None:
        return
    while not os.path.exists(path):
        path = os.path.dirname(path)
    free = disk_usage(path).free
    severity = (
        Severity.ERROR if free < CRITICAL_SPACE_BYTES else Severity.WARNING if free < LOW_SPACE_BYTES else Severity.OK
    )
    remedy = "" if severity is Severity.OK else f"free some space, or move the store: {program()} migrate FILE"
    yield Finding(severity, f"{size(free)} are free on the disk", remedy)


def other_processes(context: CheckContext) -> Iterator[Finding]:
    path = context.settings.store.path
    if path is None or not os.path.isfile(path):
        return
    found = processes_with_open(path)
    if found is None:
        yield Finding(Severity.OK, "this system does not tell which processes have the store open")
        return
    for holder in [holder for holder in found if holder.deleted][:MAX_PROCESSES_LISTED]:
        what = f"process {holder.pid} has a deleted store open: {clip_text(holder.command, MAX_COMMAND_COLUMNS)}"
        yield Finding(Severity.WARNING, what, "restart it if it does not switch to the new store by itself")
    active = [holder for holder in found if not holder.deleted]
    for holder in active[:MAX_PROCESSES_LISTED]:
        yield Finding(
            Severity.OK, f"process {holder.pid} has it open: {clip_text(holder.command, MAX_COMMAND_COLUMNS)}"
        )
    if len(active) > MAX_PROCESSES_LISTED:
        yield Finding(Severity.OK, f"{len(active) - MAX_PROCESSES_LISTED:,} more have it open")
    if not active:
        yield Finding(Severity.OK, "no other process has the store open")


def _check_store(context: CheckContext) -> Iterator[Finding]:
    opened = open_store(context.settings, timeout=STORE_TIMEOUT_SECONDS, read_only=True)
    try:
        yield from opened.check(lambda done, total: context.progress("checking the store", done, total))
    finally:
        opened.close()


def _remedy(store: StoreAddress, error: TildoneError) -> str:
    match error:
        case StoreTooNew():
            return upgrade()
        case StoreDamaged() if store_kind(store).replaceable(store):
            return f"restore a backup: {program()} restore FILE"
        case StoreBusy():
            return "wait, or see below which processes have it open"
        case _:
            return ""


def _access(name: str) -> Iterator[Finding]:
    """Whether a file or folder can be read and written."""
    is_folder = os.path.isdir(name)
    if not os.access(name, os.R_OK | (os.X_OK if is_folder else 0)):
        yield Finding(Severity.ERROR, f"you cannot read {name}", f"chmod u+r{'x' if is_folder else ''} {quote(name)}")
    if not os.access(name, os.W_OK):
        why = ", where SQLite writes its WAL" if is_folder else ""
        yield Finding(Severity.ERROR, f"you cannot write to {name}{why}", f"chmod u+w {quote(name)}")


def _ownership(name: str, path: str) -> Iterator[Finding]:
    """Whether all files of the store belong to the current user."""
    if os.name != "posix":
        return
    owner, expected = os.stat(name).st_uid, os.stat(path).st_uid
    if owner != expected:
        yield Finding(
            Severity.WARNING, f"{name} belongs to another user than the store", f"chown {expected} {quote(name)}"
        )
    elif name == path and owner != os.geteuid():
        yield Finding(Severity.WARNING, f"{path} belongs to user {owner}, and you are user {os.geteuid()}")


def _is_open_to_all(path: str) -> bool:
    """Whether other users can read the file and traverse every folder above it."""
    if not os.stat(path).st_mode & stat.S_IROTH:
        return False
    above = os.path.dirname(os.path.realpath(path))
    while os.stat(above).st_mode & stat.S_IXOTH:
        if above == os.path.dirname(above):
            return True
        above = os.path.dirname(above)
    return False
