"""`tildone migrate`: copy every session to another store."""

from __future__ import annotations

import os
import shlex

from tildone.app.opening import open_store
from tildone.base import StoreBusy, UsageError
from tildone.cli import INTERRUPTED
from tildone.cli.opening import is_same_store, open_existing_store, settings_at, settings_for
from tildone.cli.output import put, put_notice
from tildone.cli.output.prompts import exit_code_for, put_data
from tildone.cli.output.titles import ProgressLine
from tildone.cli.table import ParsedArgs
from tildone.log.copying import CopyResult, copy
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import printable


def run(args: ParsedArgs) -> int:
    """Copy the store in use to another one. Rerun it to copy what was written in the meantime."""
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
    """What was copied, how much of it is new, and its digest."""
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
