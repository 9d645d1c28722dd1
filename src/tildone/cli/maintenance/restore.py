"""`tildone restore`: restore the sessions of a backup. Later changes stay on another branch."""

from __future__ import annotations

import os
import sys
import tempfile
from shutil import copyfileobj

from tildone.app.opening import open_store
from tildone.app.who import PersonAct, check_person
from tildone.cli import INTERRUPTED
from tildone.cli.maintenance.backup import STREAM
from tildone.cli.maintenance.migrate import copied_data, report_lines
from tildone.cli.opening import is_same_store, open_existing_store, settings_for
from tildone.cli.output.data import put_data
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import put, put_notice
from tildone.cli.output.titles import session_meant, titled_sessions
from tildone.cli.parsing.table import ParsedArgs
from tildone.errors import StoreDamaged, UsageError
from tildone.files.private import REPLACED, open_private
from tildone.ids import local_time, now
from tildone.kit.formatting import format_count
from tildone.log.address import parse_address
from tildone.log.copying import copy, preview_copy
from tildone.log.findings import Severity
from tildone.stores import store_kind
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite.backup import open_backup
from tildone.typing import TYPE_CHECKING
from tildone.value import value
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.log.copying import CopyPreview
    from tildone.log.store import Store
    from tildone.stores.sqlite.store import SqliteStore

MAX_LISTED = 10


@value
class Report:
    """What was restored or would be: lines for a person, and the fields of the JSON output."""

    lines: tuple[str, ...]
    data: dict[str, object]


def run(args: ParsedArgs) -> int:
    """Restore the sessions of a backup, or one of them, or show what would change."""
    settings = settings_for(args)
    if not args.has("dry-run"):
        check_person(settings, PersonAct.RESTORE)
    from_stream = args.positional[0] == STREAM
    path = os.path.abspath(os.path.expanduser(args.positional[0]))
    if not from_stream and is_same_store(parse_address(path), settings.store):
        raise UsageError(f"{path} is the store itself; name a backup of it")
    with tempfile.TemporaryDirectory(prefix="tildone-") as scratch:
        title = "standard input" if from_stream else path
        source = open_backup(_saved_input(scratch) if from_stream else path, os.path.join(scratch, "migrated.db"))
        try:
            _verify(source, title)
            report = _report(source, settings, args, title)
        except KeyboardInterrupt:
            put_notice("Interrupted. Sessions that were restored are kept; rerun the command to resume.")
            return INTERRUPTED
        finally:
            source.close()
    if args.has("json"):
        put_data(dry_run=args.has("dry-run"), **report.data)
    else:
        put("\n".join(report.lines))
    return 0


def _saved_input(scratch: str) -> str:
    """Save standard input to a file, and return its path.

    Raises:
        UsageError: standard input is a terminal.
    """
    if sys.stdin.isatty():
        raise UsageError("tildone restore - reads a backup from standard input, as in: tildone restore - < plans.db")
    path = os.path.join(scratch, "standard input")
    with os.fdopen(open_private(path, REPLACED), "wb") as file:
        copyfileobj(sys.stdin.buffer, file)
    return path


def _verify(source: SqliteStore, title: str) -> None:
    """Verify the backup before the store is touched.

    Raises:
        StoreDamaged: the backup is damaged.
    """
    with ProgressLine() as progress:
        for finding in source.check(lambda done, total: progress("checking the backup", done, total)):
            if finding.severity is Severity.ERROR:
                raise StoreDamaged(f"{title} is damaged: {finding.what}")


def _report(source: Store, settings: Settings, args: ParsedArgs, title: str) -> Report:
    given = args.options.get("session")
    only = None if given is None else session_meant(given, source)
    return _preview(source, settings, only) if args.has("dry-run") else _restore(source, settings, title, only)


def _restore(source: Store, settings: Settings, title: str, only: str | None) -> Report:
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
    lines = report_lines(copied, f"Restored from {title}")
    if not copied.new and not moved:
        lines = ["Nothing changed: the store has everything in the backup."]
    if moved:
        names = _names(source)
        lines.append(
            f"{format_count(len(moved), 'session')} moved; the former state is on another branch: tildone log --all"
        )
        lines += _listed([names.get(name, printable(name)) for name in moved])
    if renamed is not None:
        lines.append(f"The damaged store was kept: {printable(renamed)}")
    return Report(tuple(lines), {**copied_data(copied), "moved": moved, "damaged_store": renamed})


def _replace_damaged(settings: Settings, error: StoreDamaged) -> tuple[Store, str]:
    """Rename a damaged store and open an empty one in its place; the new name of the damaged one is returned too."""
    kind = store_kind(settings.store)
    if not kind.replaceable(settings.store):
        raise error
    path = settings.store.location
    renamed = f"{path}.damaged-{local_time(now(), '%Y%m%d-%H%M%S')}"
    while os.path.exists(renamed):
        renamed += "+"
    put_notice(f"{printable(str(error))}\nThe store is renamed to {printable(renamed)}")
    for name in kind.files(settings.store):
        if os.path.exists(name):
            os.rename(name, renamed + name.removeprefix(path))
    return open_store(settings), renamed


def _preview(source: Store, settings: Settings, only: str | None) -> Report:
    """What would change."""
    lines: list[str] = []
    try:
        target = _existing_or_empty(settings)
        found = [each for each in preview_copy(source, target, only) if each.changes]
    except StoreDamaged as error:
        lines.append(f"The store would be renamed and started again: {printable(str(error))}")
        target = MemoryStore()
        found = [each for each in preview_copy(source, target, only) if each.changes]
    target.close()
    if found:
        names = _names(source)
        lines.append(f"{format_count(len(found), 'session')} would change:")
        lines += _listed([f"{names[each.name]}: {_description(each)}" for each in found], len(found))
    else:
        lines.append("Nothing would change: the store has everything in the backup.")
    return Report(tuple(lines), {"sessions": [_as_data(each) for each in found]})


def _existing_or_empty(settings: Settings) -> Store:
    """The store, or an empty one if there is none: a preview creates no store."""
    path = settings.store.path
    if path is not None and not os.path.exists(path):
        return MemoryStore()
    return open_existing_store(settings, read_only=True)


def _names(source: Store) -> dict[str, str]:
    """How lists name the sessions of a store: by their titles, with the names in parentheses."""
    return {
        each.info.name: printable(f"{each.title} ({each.short_name})" if each.short_name else each.title)
        for each in titled_sessions(source)
    }


def _description(each: CopyPreview) -> str:
    if each.new == each.events:
        return f"would be restored, with {format_count(each.events, 'event')}"
    parts = [f"would gain {format_count(each.new, 'event')}"] if each.new else []
    if each.head_before.head != each.head_after.head:
        parts.append("would return to its state in the backup; its current state would be on another branch")
    elif not parts:
        parts.append("would have another redo path")
    return ", and ".join(parts)


def _as_data(each: CopyPreview) -> dict[str, object]:
    moves = each.head_before.head is not None and each.head_before.head != each.head_after.head
    return {"name": each.name, "events": each.events, "new_events": each.new, "moves": moves}


def _listed(lines: list[str], max_lines: int = MAX_LISTED) -> list[str]:
    more = [f"  and {len(lines) - max_lines:,} more"] if len(lines) > max_lines else []
    return [*(f"  {line}" for line in lines[:max_lines]), *more]
