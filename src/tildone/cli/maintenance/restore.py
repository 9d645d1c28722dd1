"""`tildone restore`: the sessions of a backup put back. Nothing that came after is lost."""

from __future__ import annotations

import os
import sys
import tempfile
import time

from tildone.cli import INTERRUPTED
from tildone.cli.address import existing, is_same
from tildone.cli.maintenance.migrate import report
from tildone.cli.opening import settings_for
from tildone.cli.output.amounts import many
from tildone.cli.output.progress import Progress
from tildone.cli.output.screen import put
from tildone.cli.parsing.args import ParsedArgs
from tildone.errors import StoreDamaged, UsageError
from tildone.log.address import parse_address
from tildone.log.copying import copy, preview_copy
from tildone.log.health import Health
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

LISTED = 10


def run(args: ParsedArgs) -> int:
    """Put the sessions of a backup back, or one of them, or say what that would do."""
    settings = settings_for(args)
    path = os.path.abspath(os.path.expanduser(args.positional[0]))
    if is_same(parse_address(path), settings.store):
        raise UsageError(f"{path} is the store itself")
    with tempfile.TemporaryDirectory(prefix="tildone-") as scratch:
        source = open_backup(path, os.path.join(scratch, "backup.db"))
        try:
            _look_through(source, path)
            if args.has("dry-run"):
                return _foretell(source, settings, args.options.get("session"))
            return _put_back(source, settings, path, args.options.get("session"))
        except KeyboardInterrupt:
            print("Stopped. What was put back stays; to go on, give the same command again.", file=sys.stderr)
            return INTERRUPTED
        finally:
            source.close()


def _look_through(source: SqliteStore, path: str) -> None:
    """Make sure that the backup is whole, before anything is done with it."""
    with Progress() as progress:
        for finding in source.check(lambda done, total: progress("looking through the backup", done, total)):
            if finding.health is Health.BAD:
                raise StoreDamaged(f"{path} is damaged: {finding.what}")


def _put_back(source: Store, settings: Settings, path: str, only: str | None) -> int:
    try:
        target, aside = open_store(settings), None
    except StoreDamaged as error:
        target, aside = _begun_anew(settings, error)
    try:
        stood = {info.name: target.session_head(info.name).head for info in target.sessions()}
        with Progress() as progress:
            copied = copy(source, target, progress, only)
    except StoreDamaged as error:
        # The backup has been looked through, so this is the store: it could be opened, and no more than that.
        target.close()
        if aside is not None:
            raise
        target, aside = _begun_anew(settings, error)
        stood = {}
        with Progress() as progress:
            copied = copy(source, target, progress, only)
    moved = [name for name, head in stood.items() if target.session_head(name).head != head]
    target.close()
    if not copied.new and not moved:
        put("Nothing changed: all of it was there.")
    else:
        report(copied, f"Put back from {path}")
    if moved:
        put(f"Where {many(len(moved), 'session')} stood before is another branch now: tildone log --all")
        _list([printable(name) for name in moved])
    if aside is not None:
        put(f"The damaged store is kept: {printable(aside)}")
    return 0


def _begun_anew(settings: Settings, error: StoreDamaged) -> tuple[Store, str]:
    """An empty store in the place of a damaged one, and where that one is now."""
    kind = store_kind(settings.store)
    if not kind.replaceable(settings.store):
        raise error
    path = settings.store.location
    aside = f"{path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    while os.path.exists(aside):
        aside += "+"
    print(f"{printable(str(error))}\nIt is moved aside to {printable(aside)}", file=sys.stderr)
    for name in kind.files(settings.store):
        if os.path.exists(name):
            os.rename(name, aside + name.removeprefix(path))
    return open_store(settings), aside


def _foretell(source: Store, settings: Settings, only: str | None) -> int:
    """Say what would change."""
    target = _as_it_is(settings)
    try:
        found = [each for each in preview_copy(source, target, only) if each.changes]
    except StoreDamaged as error:
        put(f"The store would be moved aside and begun anew: {printable(str(error))}")
        found = [each for each in preview_copy(source, MemoryStore(), only) if each.changes]
    target.close()
    if not found:
        put("Nothing would change: all of it is there.")
        return 0
    put(f"{many(len(found), 'session')} would change:")
    _list([_told(each) for each in found], len(found))
    return 0


def _as_it_is(settings: Settings) -> Store:
    """The store, or an empty one where there is none: asking makes none."""
    path = settings.store.path
    if path is not None and not os.path.exists(path):
        return MemoryStore()
    try:
        return existing(settings)
    except StoreDamaged as error:
        put(f"{printable(settings.store.redacted)} would be moved aside and begun anew: {printable(str(error))}")
        return MemoryStore()


def _told(each: CopyPreview) -> str:
    if each.new == each.events:
        return f"{printable(each.name)}: would be here again, with {many(each.events, 'event')}"
    parts = [f"would get {many(each.new, 'event')}"] if each.new else []
    if each.now.head != each.then.head:
        parts.append("would stand where it stood in the backup; where it stands now would be another branch")
    elif not parts:
        parts.append("would have another way forward")
    return f"{printable(each.name)}: {', and '.join(parts)}"


def _list(lines: list[str], most: int = LISTED) -> None:
    for line in lines[:most]:
        put(f"  {line}")
    if len(lines) > most:
        put(f"  and {len(lines) - most:,} more")
