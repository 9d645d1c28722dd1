"""`tildone backup`, `restore` and `migrate`: every session in one file, and back, or in another store."""

import os
import shlex
import sys
import tempfile
from shutil import copyfileobj
from tempfile import TemporaryDirectory

from tildone.app.opening import open_store
from tildone.app.settings import Settings, data_folder
from tildone.app.who import PersonAct, check_person
from tildone.base import NotFound, Refused, StoreBusy, StoreDamaged, UsageError
from tildone.base.files import STREAM, publish
from tildone.base.ids import local_time, now
from tildone.base.private import REPLACED, make_private_folder, open_private
from tildone.cli import INTERRUPTED
from tildone.cli.opening import is_same_store, open_existing_store, open_to_read, settings_at, settings_for
from tildone.cli.output import on_terminal, put, put_notice
from tildone.cli.output.prompts import exit_code_for, put_data, put_done
from tildone.cli.output.titles import ProgressLine, session_meant, titled_sessions
from tildone.cli.table import ParsedArgs
from tildone.log.copying import CopyPreview, CopyResult, copy, preview_copy
from tildone.log.kept import Severity
from tildone.log.store import Store
from tildone.plan.text.amounts import format_count, size
from tildone.plan.text.safe import printable
from tildone.stores import StoreAddress, parse_address, store_kind
from tildone.stores.memory import MemoryStore
from tildone.stores.sqlite import SUFFIXES
from tildone.stores.sqlite.backup import finish_backup, open_backup
from tildone.stores.sqlite.store import SqliteStore


def run_migrate(args: ParsedArgs) -> int:
    here = settings_at(args, args.options["from"]) if "from" in args.options else settings_for(args)
    there = settings_at(args, args.positional[0])
    if is_same_store(here.store, there.store):
        raise UsageError(f"{here.store.redacted} cannot be copied to itself")
    source = open_existing_store(here, read_only=True)
    target = open_store(there)
    try:
        with ProgressLine() as progress:
            copied = copy(source, target, progress)
    except KeyboardInterrupt:
        put_notice("Interrupted. Sessions that were copied are kept; rerun the command to resume.")
        return INTERRUPTED
    finally:
        source.close()
        target.close()
    if args.has("json"):
        put_data(store=there.store.redacted, **copied_data(copied))
        return exit_code_for(copied.left_out) or (StoreBusy.exit_code if copied.changed_since else 0)
    if not copied.sessions and not copied.changed_since and not copied.left_out:
        put(f"{printable(here.store.redacted)} has no sessions: nothing was copied.")
        return 0
    put("\n".join(report_lines(copied, f"Copied to {there.store.redacted}")))
    if copied.changed_since:
        raise StoreBusy(f"{changed_sessions(copied)}; rerun the command to copy the rest")
    word = "set" if os.name == "nt" else "export"
    put(f"To use it from now on: {word} TILDONE_STORE={shlex.quote(printable(there.store.redacted))}")
    if there.store.redacted != str(there.store):
        put("Add the password and options of the address; they are not shown here.")
    return exit_code_for(copied.left_out)


def copied_data(copied: CopyResult) -> dict[str, object]:
    return {
        "sessions": copied.sessions,
        "events": copied.events,
        "new_events": copied.new,
        "sha256": copied.digest,
        "changed_meanwhile": list(copied.changed_since),
        "left_out": list(copied.left_out),
    }


def report_lines(copied: CopyResult, done: str) -> list[str]:
    new = "none of them new" if not copied.new else f"{copied.new:,} of them new"
    return total_lines(copied, done, "all of them new" if copied.new == copied.events else new)


def total_lines(copied: CopyResult, done: str, *more: str) -> list[str]:
    much = f"{format_count(copied.sessions, 'session')} with {format_count(copied.events, 'event')}"
    return [
        f"{printable(done)}: {', '.join((much, *more))}.",
        f"Both sides have the same content: sha256 {copied.digest}",
    ]


def changed_sessions(copied: CopyResult) -> str:
    names = ", ".join(printable(name) for name in copied.changed_since)
    return f"{format_count(len(copied.changed_since), 'session')} changed in the meantime: {names}"


FOLDER = "backups"


def run_backup(args: ParsedArgs) -> int:
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
        target = SqliteStore(draft)
        try:
            copied = _copied(source, target)
        finally:
            target.close()
        # An incomplete backup must have something in it, and takes the place of no other.
        if copied.left_out and not copied.sessions:
            raise StoreDamaged(f"nothing can be backed up: {copied.left_out[0]}")
        if copied.left_out and os.path.exists(path):
            reason = f"the new backup would be incomplete: {copied.left_out[0]}"
            raise StoreDamaged(f"{path} was not overwritten, because {reason}")
        finish_backup(draft)
        publish(draft, path)
    finally:
        # After a failure, the draft is still there.
        for suffix in SUFFIXES:
            if os.path.exists(f"{draft}{suffix}"):
                os.remove(f"{draft}{suffix}")
    return copied


def _copied(source: Store, target: Store, only: str | None = None) -> CopyResult:
    with ProgressLine() as progress:
        return copy(source, target, progress, only)


MAX_LISTED = 10


Report = tuple[list[str], dict[str, object]]
"""What was restored or would be: lines for a person, and the fields of the JSON output."""


def run_restore(args: ParsedArgs) -> int:
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
            given = args.options.get("session")
            only = None if given is None else session_meant(given, source)
            dry_run = args.has("dry-run")
            lines, data = _preview(source, settings, only) if dry_run else _restore(source, settings, title, only)
        except KeyboardInterrupt:
            put_notice("Interrupted. Sessions that were restored are kept; rerun the command to resume.")
            return INTERRUPTED
        finally:
            source.close()
    return put_done(args, "\n".join(lines), dry_run=dry_run, **data)


def _saved_input(scratch: str) -> str:
    if sys.stdin.isatty():
        raise UsageError("tildone restore - reads a backup from standard input, as in: tildone restore - < plans.db")
    path = os.path.join(scratch, "standard input")
    with os.fdopen(open_private(path, REPLACED), "wb") as file:
        copyfileobj(sys.stdin.buffer, file)
    return path


def _verify(source: SqliteStore, title: str) -> None:
    """Verify the backup before the store is touched. Raises StoreDamaged if the backup is damaged."""
    with ProgressLine() as progress:
        for finding in source.check(lambda done, total: progress("checking the backup", done, total)):
            if finding.severity is Severity.ERROR:
                raise StoreDamaged(f"{title} is damaged: {finding.what}")


def _restore(source: Store, settings: Settings, title: str, only: str | None) -> Report:
    try:
        target, renamed = open_store(settings), None
    except StoreDamaged as error:
        target, renamed = _replace_damaged(settings, error)
    try:
        former_heads = {info.name: target.session_head(info.name).head for info in target.sessions()}
        copied = _copied(source, target, only)
    except StoreDamaged as error:
        # The backup has been verified, so the store is damaged, although it could be opened.
        target.close()
        if renamed is not None:
            raise
        target, renamed = _replace_damaged(settings, error)
        former_heads, copied = {}, _copied(source, target, only)
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
    return lines, {**copied_data(copied), "moved": moved, "damaged_store": renamed}


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
    lines: list[str] = []
    try:
        target = open_to_read(settings)
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
    return lines, {"sessions": [_as_data(each) for each in found]}


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
