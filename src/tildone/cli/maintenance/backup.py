"""`tildone backup`: write every session to one SQLite file, whatever the kind of the store."""

from __future__ import annotations

import os
import sys

from tildone.cli import INTERRUPTED
from tildone.cli.maintenance.migrate import changed_sessions, copied_data, total_lines
from tildone.cli.opening import is_same_store, open_existing_store, settings_for
from tildone.cli.output.data import put_data
from tildone.cli.output.left_out import exit_code_for
from tildone.cli.output.progress import ProgressLine
from tildone.cli.output.screen import on_terminal, put, put_notice
from tildone.cli.parsing.table import ParsedArgs
from tildone.config import data_folder
from tildone.errors import NotFound, Refused, StoreDamaged, UsageError
from tildone.files.atomic import publish
from tildone.files.private import make_private_folder
from tildone.ids import local_time, now
from tildone.kit.formatting import format_count
from tildone.log.address import parse_address
from tildone.log.copying import copy
from tildone.stores.sqlite import SUFFIXES
from tildone.stores.sqlite.backup import finish_backup
from tildone.stores.sqlite.store import SqliteStore
from tildone.typing import TYPE_CHECKING
from tildone.views.amounts import size
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.config import Settings
    from tildone.log.address import StoreAddress
    from tildone.log.copying import CopyResult
    from tildone.log.store import Store

FOLDER = "backups"
STREAM = "-"
"""In place of a file: standard input or output."""


def run(args: ParsedArgs) -> int:
    """Write the backup: complete and verified, except for sessions that are damaged, or not at all."""
    to_stream = args.positional == (STREAM,)
    if to_stream and args.has("json"):
        raise UsageError("tildone backup - writes the backup to standard output; it takes no --json")
    if to_stream and on_terminal():
        raise UsageError("a backup is binary: redirect standard output, as in: tildone backup - | gzip > plans.db.gz")
    settings = settings_for(args)
    source = open_existing_store(settings, read_only=True)
    try:
        if to_stream:
            return _to_standard_output(source)
        return _to_file(source, settings, args)
    except KeyboardInterrupt:
        put_notice("Interrupted. No backup was written.")
        return INTERRUPTED
    finally:
        source.close()


def _to_file(source: Store, settings: Settings, args: ParsedArgs) -> int:
    path = _path(settings.store, args.positional[0] if args.positional else None)
    if is_same_store(parse_address(path), settings.store):
        raise UsageError(f"{path} is the store itself; choose another file")
    if os.path.exists(path) and not args.has("force"):
        raise Refused(f"{path} already exists; to overwrite it, use --force")
    if not args.positional:
        make_private_folder(os.path.dirname(path))
    copied = _write(source, path)
    length = os.path.getsize(path)
    if args.has("json"):
        put_data(file=path, bytes=length, **copied_data(copied))
        return exit_code_for(copied.left_out)
    put("\n".join(total_lines(copied, f"Wrote {path} ({size(length)})")))
    _warn_of_changes(copied)
    put(f"To restore it: tildone restore {printable(path)}")
    return exit_code_for(copied.left_out)


def _to_standard_output(source: Store) -> int:
    # Late, because it loads a lot, and most backups are files.
    from shutil import copyfileobj  # noqa: PLC0415  see above
    from tempfile import TemporaryDirectory  # noqa: PLC0415  see above

    with TemporaryDirectory(prefix="tildone-") as scratch:
        path = os.path.join(scratch, "backup.db")
        copied = _write(source, path)
        with open(path, "rb") as file:
            copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    much = f"{format_count(copied.sessions, 'session')} with {format_count(copied.events, 'event')}"
    put_notice(f"Wrote {much} to standard output. To restore it: tildone restore -")
    _warn_of_changes(copied)
    return exit_code_for(copied.left_out)


def _warn_of_changes(copied: CopyResult) -> None:
    if copied.changed_since:
        put_notice(f"{changed_sessions(copied)}; their last changes are not in the backup")


def _path(store: StoreAddress, given: str | None) -> str:
    """The path of the backup. In a folder, the file is named after the current time."""
    name = f"tildone-{local_time(now(), '%Y%m%d-%H%M%S')}.db"
    if given is None:
        beside = data_folder(os.environ) if store.path is None else os.path.dirname(store.path)
        return os.path.join(beside, FOLDER, name)
    path = os.path.abspath(os.path.expanduser(given))
    if os.path.isdir(path):
        return os.path.join(path, name)
    if not os.path.isdir(os.path.dirname(path)):
        raise NotFound(f"the folder does not exist: {os.path.dirname(path)}")
    return path


def _write(source: Store, path: str) -> CopyResult:
    draft = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.urandom(4).hex()}.part")
    try:
        with ProgressLine() as progress:
            target = SqliteStore(draft)
            try:
                copied = copy(source, target, progress)
            finally:
                target.close()
        _check_worth(copied, path)
        finish_backup(draft)
        publish(draft, path)
    finally:
        # After a failure, the draft is still there.
        for suffix in SUFFIXES:
            if os.path.exists(f"{draft}{suffix}"):
                os.remove(f"{draft}{suffix}")
    return copied


def _check_worth(copied: CopyResult, path: str) -> None:
    """Check that an incomplete backup has something in it, and takes the place of no other.

    Raises:
        StoreDamaged: it does not.
    """
    if copied.left_out and not copied.sessions:
        raise StoreDamaged(f"nothing can be backed up: {copied.left_out[0]}")
    if copied.left_out and os.path.exists(path):
        reason = f"the new backup would be incomplete: {copied.left_out[0]}"
        raise StoreDamaged(f"{path} was not overwritten, because {reason}")
