"""`tildone restore`: restore the sessions of a backup. Later changes stay on another branch."""

from __future__ import annotations

import os
import sys
import tempfile
import time

from tildone.cli import INTERRUPTED
from tildone.cli.maintenance.migrate import print_report
from tildone.cli.opening import is_same_store, open_existing_store, settings_for
from tildone.cli.output.amounts import counted
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import put
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import StoreDamaged, UsageError
from tildone.log.address import parse_address
from tildone.log.copying import copy, preview_copy
from tildone.log.findings import Severity
from tildone.stores import store_kind
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.backup import open_backup
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable
from tildone.wiring import open_store

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.log.copying import CopyPreview
    from tildone.log.store import Store
    from tildone.stores.sqlite.store import SqliteStore

MAX_LISTED = 10


def run(args: ParsedArgs) -> int:
    """Restore the sessions of a backup, or one of them, or show what would change."""
    settings = settings_for(args)
    path = os.path.abspath(os.path.expanduser(args.positional[0]))
    if is_same_store(parse_address(path), settings.store):
        raise UsageError(f"{path} is the store itself")
    with tempfile.TemporaryDirectory(prefix="tildone-") as scratch:
        source = open_backup(path, os.path.join(scratch, "backup.db"))
        try:
            _verify(source, path)
            if args.has("dry-run"):
                return _preview(source, settings, args.options.get("session"))
            return _restore(source, settings, path, args.options.get("session"))
        except KeyboardInterrupt:
            print("Interrupted. Sessions that were restored are kept; rerun the command to resume.", file=sys.stderr)
            return INTERRUPTED
        finally:
            source.close()


def _verify(source: SqliteStore, path: str) -> None:
    """Verify the backup before the store is touched.

    Raises:
        StoreDamaged: the backup is damaged.
    """
    with ProgressLine() as progress:
        for finding in source.check(lambda done, total: progress("checking the backup", done, total)):
            if finding.severity is Severity.ERROR:
                raise StoreDamaged(f"{path} is damaged: {finding.what}")


def _restore(source: Store, settings: Settings, path: str, only: str | None) -> int:
    try:
        target, renamed = open_store(settings), None
    except StoreDamaged as error:
        target, renamed = _replace_damaged(settings, error)
    try:
        former_heads = {info.name: target.session_head(info.name).head for info in target.sessions()}
        with ProgressLine() as progress:
            copied = copy(source, target, progress, only)
    except StoreDamaged as error:
        # The backup has been verified, so the store is damaged, although it could be opened.
        target.close()
        if renamed is not None:
            raise
        target, renamed = _replace_damaged(settings, error)
        former_heads = {}
        with ProgressLine() as progress:
            copied = copy(source, target, progress, only)
    moved = [name for name, head in former_heads.items() if target.session_head(name).head != head]
    target.close()
    if not copied.new and not moved:
        put("Nothing changed: the store has everything in the backup.")
    else:
        print_report(copied, f"Restored from {path}")
    if moved:
        put(f"{counted(len(moved), 'session')} moved; the former state is on another branch: tildone log --all")
        _list([printable(name) for name in moved])
    if renamed is not None:
        put(f"The damaged store was kept: {printable(renamed)}")
    return 0


def _replace_damaged(settings: Settings, error: StoreDamaged) -> tuple[Store, str]:
    """Rename a damaged store and open an empty one in its place; the new name of the damaged one is returned too."""
    kind = store_kind(settings.store)
    if not kind.replaceable(settings.store):
        raise error
    path = settings.store.location
    renamed = f"{path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    while os.path.exists(renamed):
        renamed += "+"
    print(f"{printable(str(error))}\nThe store is renamed to {printable(renamed)}", file=sys.stderr)
    for name in kind.files(settings.store):
        if os.path.exists(name):
            os.rename(name, renamed + name.removeprefix(path))
    return open_store(settings), renamed


def _preview(source: Store, settings: Settings, only: str | None) -> int:
    """Print what would change."""
    target = _existing_or_empty(settings)
    try:
        found = [each for each in preview_copy(source, target, only) if each.changes]
    except StoreDamaged as error:
        put(f"The store would be renamed and started again: {printable(str(error))}")
        found = [each for each in preview_copy(source, MemoryStore(), only) if each.changes]
    target.close()
    if not found:
        put("Nothing would change: the store has everything in the backup.")
        return 0
    put(f"{counted(len(found), 'session')} would change:")
    _list([_description(each) for each in found], len(found))
    return 0


def _existing_or_empty(settings: Settings) -> Store:
    """The store, or an empty one if there is none: a preview creates no store."""
    path = settings.store.path
    if path is not None and not os.path.exists(path):
        return MemoryStore()
    try:
        return open_existing_store(settings)
    except StoreDamaged as error:
        put(f"{printable(settings.store.redacted)} would be renamed and started again: {printable(str(error))}")
        return MemoryStore()


def _description(each: CopyPreview) -> str:
    if each.new == each.events:
        return f"{printable(each.name)}: would be restored, with {counted(each.events, 'event')}"
    parts = [f"would gain {counted(each.new, 'event')}"] if each.new else []
    if each.head_before.head != each.head_after.head:
        parts.append("would return to its state in the backup; its current state would be on another branch")
    elif not parts:
        parts.append("would have another redo path")
    return f"{printable(each.name)}: {', and '.join(parts)}"


def _list(lines: list[str], max_lines: int = MAX_LISTED) -> None:
    for line in lines[:max_lines]:
        put(f"  {line}")
    if len(lines) > max_lines:
        put(f"  and {len(lines) - max_lines:,} more")
