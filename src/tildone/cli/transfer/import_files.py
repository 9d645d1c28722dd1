"""`tildone import` replaces the plan with those of files, and adds histories.

A watched file is polled, since the coding agents that write such files replace them, rewrite them in place, or write
several in a row. A half-written file must not be imported, so it is read only after two polls have found it unchanged,
and what was read counts only if the file is still unchanged after the read. A file that changes constantly is read
after `MAX_UNSTABLE_POLLS` all the same. Time stamps may be too coarse to tell two quick writes apart, so a file that
was fresh when it was read is read once more later.
"""

import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from shlex import quote
from typing import NoReturn

from tildone.app import importing
from tildone.app.opening import dialect_of_session, open_session, open_store, session_title
from tildone.base import NotFound, Refused, TildoneError, UsageError, replace
from tildone.base.files import STREAM
from tildone.cli import INTERRUPTED
from tildone.cli.opening import command_hint, open_for_editing, open_to_read, settings_for
from tildone.cli.output import columns, put, put_spans
from tildone.cli.output.prompts import plan_summary, print_warnings, put_data
from tildone.cli.table import ParsedArgs
from tildone.log.store import Store
from tildone.plan.formats import ConversionWarning, detection
from tildone.plan.history.changes import change_sentences, changes
from tildone.plan.model import Phase, Plan, with_source
from tildone.plan.text.amounts import format_count
from tildone.plan.text.lists import plan_lines
from tildone.plan.text.safe import printable

Fingerprint = tuple[tuple[str, int, int, int], ...]


def run(args: ParsedArgs) -> int:
    """Read the files; replace the plan of the session with the plans among them, and add the histories."""
    format_ = importing.checked_format(args.options.get("from"))
    args = _with_session(args)
    if args.has("watch"):
        return watch(args, format_)
    files = importing.read_files(args.positional, format_)
    histories = [file for file in files if isinstance(file, detection.HistoryFile)]
    plans = [file for file in files if isinstance(file, detection.PlanFile)]
    if len(histories) > 1 and "session" in args.options:
        raise UsageError("several histories do not fit into one session; import them one by one, or without --session")
    dry_run = args.has("dry-run")
    opened, into = partial(_store, args), args.options.get("session", "")
    done = [importing.import_history(file, opened, into, dry_run=dry_run) for file in histories]
    if plans:
        session = open_for_editing(args, dry_run=dry_run)
        done.append(importing.import_plan(session, _merged(plans), force=args.has("force"), dry_run=dry_run))
    _report(args, done)
    return 0


def _store(args: ParsedArgs) -> Store:
    settings = settings_for(args)
    return open_to_read(settings) if args.has("dry-run") else open_store(settings)


def _with_session(args: ParsedArgs) -> ParsedArgs:
    """The arguments with the value of --into as --session."""
    name = args.options.get("into")
    if name is None:
        return args
    if args.options.get("session", name) != name:
        raise UsageError("--into and --session name different sessions; use only one of them")
    return replace(args, options={**args.options, "session": name})


def _merged(plans: Sequence[detection.PlanFile]) -> detection.PlanFile:
    """One plan of several, in order. Tasks without a phase go into a phase that is named after their file."""
    if len(plans) == 1:
        return plans[0]
    phases: list[Phase] = []
    warnings: list[ConversionWarning] = []
    for file in plans:
        title = importing.file_title(file.path)
        stem = os.path.splitext(os.path.basename(os.path.abspath(file.path)))[0]
        name = title if file.path == STREAM else stem
        plan = with_source(file.plan, importing.source_of(file.path))
        phases += [replace(phase, name=phase.name or name) for phase in plan.phases]
        warnings += [replace(warning, message=f"{warning.message} ({title})") for warning in file.warnings]
        if any(not phase.name for phase in file.plan.phases):
            warnings.append(ConversionWarning(f"tasks without a phase in {title} are in phase “{name}”"))
    paths = ", ".join(importing.file_title(file.path) for file in plans)
    return detection.PlanFile(paths, plans[0].format, Plan(tuple(phases)), tuple(warnings))


def _report(args: ParsedArgs, done: Sequence[importing.Imported]) -> None:
    if args.has("json"):
        put_data(dry_run=args.has("dry-run"), imported=[as_data(args, each) for each in done])
        return
    current = settings_for(args).session
    for each in done:
        verb = "Would import" if args.has("dry-run") else "Imported"
        into = "" if each.session == current else f", into {printable(session_title(each.session))}"
        put(f"{verb} {printable(importing.file_title(each.file.path))}: {amount(each)}{into}")
        if args.has("dry-run"):
            put_spans(plan_lines(each.after, columns()))
        else:
            put(plan_summary(each.after) if each.new or each.before != each.after else "Nothing changed.")
        _mention_proposed(args, each)
        if each.session != current:
            put(f"To show it: tildone todo --session {quote(printable(each.session))}")
        warn_of_losses(each.file, verbose=args.has("verbose"))


def _mention_proposed(args: ParsedArgs, done: importing.Imported) -> None:
    """Say how the checks are approved that came with the plan and do not run yet."""
    count = len(importing.proposed_checks(settings_for(args), done.after))
    if not count:
        return
    is_file = done.file.format == detection.MARKDOWN and os.path.isfile(done.file.path)
    hint = f"tildone trust {quote(printable(done.file.path))}" if is_file else command_hint(args, "approve")
    what = "1 check is proposed and does not run" if count == 1 else f"{count} checks are proposed and do not run"
    put(f"{what} until you approve {'it' if count == 1 else 'them'}: {hint}")


def as_data(args: ParsedArgs, done: importing.Imported) -> dict[str, object]:
    return {
        "file": done.file.path,
        "format": done.file.format,
        "session": done.session,
        "phases": len(done.after.phases),
        "tasks": len(done.after.tasks),
        "changed": done.before != done.after,
        "proposed_checks": len(importing.proposed_checks(settings_for(args), done.after)),
        "new_events": done.new,
        "said": [warning.text() for warning in done.file.warnings],
    }


def amount(done: importing.Imported) -> str:
    if isinstance(done.file, detection.HistoryFile):
        total = len(done.file.events)
        return (
            format_count(total, "event")
            if done.new == total
            else f"{format_count(total, 'event')}, {done.new} of them new"
        )
    return f"{format_count(len(done.after.tasks), 'task')} in {format_count(len(done.after.phases), 'phase')}"


def warn_of_losses(file: detection.ImportFile, *, verbose: bool) -> None:
    print_warnings(f"Not imported from {importing.file_title(file.path)}", file.warnings, verbose=verbose)


POLL_SECONDS = 0.2
MAX_UNSTABLE_POLLS = 10

TIMESTAMP_NANOSECONDS = 2_000_000_000
"""The coarsest resolution of time stamps in file systems in use (FAT)."""


def watch(args: ParsedArgs, format_: str | None) -> int:
    if len(args.positional) != 1 or args.positional[0] == STREAM:
        raise UsageError("--watch requires one file or one folder")
    if args.has("dry-run"):
        raise UsageError("--watch and --dry-run exclude each other")
    path = args.positional[0]
    if _fingerprint(path) is None:
        raise NotFound(f"could not read {path}: no such file")
    follower = Follower(args, path, format_)
    try:
        follower.follow()
    except KeyboardInterrupt:
        follower.say(f"Stopped watching {printable(path)}.")
        return INTERRUPTED


class FilePoll:
    """When a file is to be read: at first, and after it has changed and become stable."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._current = _fingerprint(path)
        self._read: Fingerprint | None = None
        self._was_read = self._was_fresh = False
        self._unstable_polls = 0

    def due(self) -> bool:
        """Poll the file; whether to read it now."""
        polled = _fingerprint(self._path)
        self._unstable_polls = 0 if polled == self._current else self._unstable_polls + 1
        self._current = polled
        if 0 < self._unstable_polls < MAX_UNSTABLE_POLLS:
            return False
        return not self._was_read or polled != self._read or (self._was_fresh and not _is_fresh(polled))

    def stable(self) -> bool:
        """Whether the file is unchanged since it was due, so that what was read of it is complete."""
        return self._unstable_polls > 0 or _fingerprint(self._path) == self._current

    def done(self) -> None:
        self._read, self._was_read, self._was_fresh = self._current, True, _is_fresh(self._current)
        self._unstable_polls = 0


class Follower:
    """Imports one file into the store again and again."""

    def __init__(self, args: ParsedArgs, path: str, format_: str | None) -> None:
        self._args = args
        self._path = path
        self._format = format_
        self._settings = settings_for(args)
        self._store = open_store(self._settings)
        self._poll = FilePoll(path)
        self._last: detection.ImportFile | None = None
        self._trouble = ""

    def follow(self) -> NoReturn:
        self.say(f"Watching {printable(self._path)}. Press Ctrl-C to stop.")
        while True:
            self.poll()
            time.sleep(POLL_SECONDS)

    def poll(self) -> None:
        if self._poll.due():
            self._read()

    def say(self, text: str) -> None:
        """Print a message at once; on standard error if standard output is for JSON."""
        print(text, file=sys.stderr if self._args.has("json") else sys.stdout, flush=True)

    def _read(self) -> None:
        """Read the file. One that cannot be read may be about to be written: wait for its next change."""
        try:
            file = importing.read_file(self._path, self._format)
        except TildoneError as error:
            if isinstance(error, UsageError):
                raise
            self._poll.done()
            self._warn(f"{self._path} does not exist" if isinstance(error, NotFound) else str(error))
            return
        if self._poll.stable():
            self._poll.done()
            self._import(file)

    def _import(self, file: detection.ImportFile) -> None:
        self._format = file.format
        last = self._last
        if last is None or _content(file) != _content(last):
            try:
                if isinstance(file, detection.HistoryFile):
                    done = importing.import_history(file, lambda: self._store, self._args.options.get("session", ""))
                else:
                    session = open_session(self._settings, dialect_of_session(self._settings, self._store), self._store)
                    done = importing.import_plan(session, file, force=self._args.has("force"))
            except Refused as error:
                self._warn(str(error))
                return
            self._report(done, first=last is None)
        self._last, self._trouble = file, ""
        if (last is None or last.warnings != file.warnings) and not self._args.has("json"):
            warn_of_losses(file, verbose=self._args.has("verbose"))

    def _report(self, done: importing.Imported, *, first: bool) -> None:
        """Print one line for each import that changed something."""
        if self._args.has("json"):
            put_data(**as_data(self._args, done))
            sys.stdout.flush()
        elif first:
            session = printable(session_title(done.session))
            self.say(f"Imported {printable(self._path)}: {amount(done)}, into {session}")
        elif done.new or done.before != done.after:
            what = change_sentences(changes(done.before, done.after)) or [amount(done)]
            self.say(f"{time.strftime('%H:%M:%S')}  {'; '.join(what)}")

    def _warn(self, trouble: str) -> None:
        """Print why the file cannot be imported now, unless that was printed last."""
        if trouble != self._trouble:
            self._trouble = trouble
            sys.stdout.flush()
            print(f"tildone: {printable(trouble)}; waiting for its next change", file=sys.stderr, flush=True)


def _fingerprint(path: str) -> Fingerprint | None:
    """The time stamps and sizes of a file, or of each file in a folder; None if it does not exist."""
    try:
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.endswith(".json"))
            return tuple(_stat(os.path.join(path, name)) for name in names)
        return (_stat(path),)
    except OSError:
        return None


def _stat(path: str) -> tuple[str, int, int, int]:
    found = os.stat(path)
    return path, found.st_mtime_ns, found.st_size, found.st_ino


def _is_fresh(fingerprint: Fingerprint | None) -> bool:
    """Whether a further change could leave the time stamps as they are."""
    now = time.time_ns()
    return any(now - changed < TIMESTAMP_NANOSECONDS for _, changed, _, _ in fingerprint or ())


def _content(file: detection.ImportFile) -> object:
    return (file.events, file.session_head) if isinstance(file, detection.HistoryFile) else file.plan
