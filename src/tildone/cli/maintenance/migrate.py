"""`tildone migrate`: everything in one store taken over by another."""

from __future__ import annotations

import os
import shlex
import sys

from tildone.cli import INTERRUPTED
from tildone.cli.address import existing, is_same, settings_at
from tildone.cli.opening import settings_for
from tildone.cli.output.amounts import many
from tildone.cli.output.progress import Progress
from tildone.cli.output.screen import put
from tildone.cli.parsing.args import ParsedArgs
from tildone.errors import StoreBusy, UsageError
from tildone.log.copying import copy
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable
from tildone.wiring import open_store

if TYPE_CHECKING:
    from tildone.log.copying import CopyResult


def run(args: ParsedArgs) -> int:
    """Copy the store that is in use into another. Made again, it brings what came meanwhile."""
    here = settings_at(args, args.options["from"]) if "from" in args.options else settings_for(args)
    there = settings_at(args, args.positional[0])
    if is_same(here.store, there.store):
        raise UsageError(f"{here.store.redacted} can't be copied into itself")
    source = existing(here)
    target = open_store(there)
    try:
        with Progress() as progress:
            copied = copy(source, target, progress)
    except KeyboardInterrupt:
        print("Stopped. What was copied stays; to go on, give the same command again.", file=sys.stderr)
        return INTERRUPTED
    finally:
        source.close()
        target.close()
    if not copied.sessions and not copied.went_on:
        put(f"There is no session in {printable(here.store.redacted)} yet: nothing was copied.")
        return 0
    report(copied, f"Copied to {there.store.redacted}")
    if copied.went_on:
        raise StoreBusy(f"{went_on(copied)}; to bring the rest, give the same command again")
    word = "set" if os.name == "nt" else "export"
    put(f"To use it from now on: {word} TILDONE_STORE={shlex.quote(printable(there.store.redacted))}")
    if there.store.redacted != str(there.store):
        put("What is left out of the address here (a password, options) belongs there, too.")
    return 0


def report(copied: CopyResult, done: str) -> None:
    """Say what was done, how much that came to, and by what it can be known."""
    new = "none of them new" if not copied.new else f"{copied.new:,} of them new"
    sum_up(copied, done, "all of them new" if copied.new == copied.events else new)


def sum_up(copied: CopyResult, done: str, *more: str) -> None:
    """The same, without saying how much was new."""
    much = f"{many(copied.sessions, 'session')} with {many(copied.events, 'event')}"
    put(f"{printable(done)}: {', '.join((much, *more))}.")
    put(f"Compared on both sides: sha256 {copied.digest}")


def went_on(copied: CopyResult) -> str:
    """Which sessions the copy has not kept up with."""
    names = ", ".join(printable(name) for name in copied.went_on)
    return f"{many(len(copied.went_on), 'session')} went on meanwhile: {names}"
