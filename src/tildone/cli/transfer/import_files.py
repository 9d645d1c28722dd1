"""`tildone import`: import plans and histories from the files of other programs."""

from __future__ import annotations

import os
from functools import partial
from shlex import quote

from tildone.app.importing import (
    STREAM,
    Imported,
    checked_format,
    file_title,
    import_history,
    import_plan,
    proposed_checks,
    read_files,
    source_of,
)
from tildone.app.opening import open_store, session_title
from tildone.cli.opening import open_for_editing, open_to_read, settings_for
from tildone.cli.output.data import put_data
from tildone.cli.output.screen import columns, put, put_spans
from tildone.cli.output.summary import plan_summary
from tildone.cli.output.warnings import print_warnings
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.plan.hints import command_hint
from tildone.core.origins import with_source
from tildone.core.plan import Phase, Plan
from tildone.errors import UsageError
from tildone.formats.conversion import ConversionWarning
from tildone.formats.detection import MARKDOWN, HistoryFile, ImportFile, PlanFile
from tildone.kit.formatting import format_count
from tildone.log.store import Store
from tildone.typing import TYPE_CHECKING
from tildone.value import replace
from tildone.views.plan_lines import plan_lines
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(args: ParsedArgs) -> int:
    """Read the files; replace the plan of the session with the plans among them, and add the histories."""
    format_ = checked_format(args.options.get("from"))
    args = _with_session(args)
    if args.has("watch"):
        # Late, because few imports are followed by others.
        from tildone.cli.transfer.watch import watch  # noqa: PLC0415  see above

        return watch(args, format_)
    files = read_files(args.positional, format_)
    histories = [file for file in files if isinstance(file, HistoryFile)]
    plans = [file for file in files if isinstance(file, PlanFile)]
    if len(histories) > 1 and "session" in args.options:
        raise UsageError("several histories do not fit into one session; import them one by one, or without --session")
    dry_run = args.has("dry-run")
    opened, into = partial(_store, args), args.options.get("session", "")
    done = [import_history(file, opened, into, dry_run=dry_run) for file in histories]
    if plans:
        session = open_for_editing(args, dry_run=dry_run)
        done.append(import_plan(session, _merged(plans), force=args.has("force"), dry_run=dry_run))
    _report(args, done)
    return 0


def _store(args: ParsedArgs) -> Store:
    settings = settings_for(args)
    return open_to_read(settings) if args.has("dry-run") else open_store(settings)


def _with_session(args: ParsedArgs) -> ParsedArgs:
    """The arguments with the value of --into as --session.

    Raises:
        UsageError: both are given, with different names.
    """
    name = args.options.get("into")
    if name is None:
        return args
    if args.options.get("session", name) != name:
        raise UsageError("--into and --session name different sessions; use only one of them")
    return replace(args, options={**args.options, "session": name})


def _merged(plans: Sequence[PlanFile]) -> PlanFile:
    """One plan of several, in order. Tasks without a phase go into a phase that is named after their file."""
    if len(plans) == 1:
        return plans[0]
    phases: list[Phase] = []
    warnings: list[ConversionWarning] = []
    for file in plans:
        title = file_title(file.path)
        stem = os.path.splitext(os.path.basename(os.path.abspath(file.path)))[0]
        name = title if file.path == STREAM else stem
        plan = with_source(file.plan, source_of(file.path))
        phases += [replace(phase, name=phase.name or name) for phase in plan.phases]
        warnings += [replace(warning, message=f"{warning.message} ({title})") for warning in file.warnings]
        if any(not phase.name for phase in file.plan.phases):
            warnings.append(ConversionWarning(f"tasks without a phase in {title} are in phase “{name}”"))
    paths = ", ".join(file_title(file.path) for file in plans)
    return PlanFile(paths, plans[0].format, Plan(tuple(phases)), tuple(warnings))


def _report(args: ParsedArgs, done: Sequence[Imported]) -> None:
    if args.has("json"):
        put_data(dry_run=args.has("dry-run"), imported=[as_data(args, each) for each in done])
        return
    current = settings_for(args).session
    for each in done:
        verb = "Would import" if args.has("dry-run") else "Imported"
        put(f"{verb} {printable(file_title(each.file.path))}: {amount(each)}{_target(each.session, current)}")
        if args.has("dry-run"):
            _print_plan(each.after)
        else:
            put(plan_summary(each.after) if each.new or each.before != each.after else "Nothing changed.")
        _mention_proposed(args, each)
        if each.session != current:
            put(f"To show it: tildone todo --session {quote(printable(each.session))}")
        warn_of_losses(each.file, verbose=args.has("verbose"))


def _mention_proposed(args: ParsedArgs, done: Imported) -> None:
    """Say how the checks are approved that came with the plan and do not run yet."""
    count = len(proposed_checks(settings_for(args), done.after))
    if not count:
        return
    is_file = done.file.format == MARKDOWN and os.path.isfile(done.file.path)
    hint = f"tildone trust {quote(printable(done.file.path))}" if is_file else command_hint(args, "approve")
    what = "1 check is proposed and does not run" if count == 1 else f"{count} checks are proposed and do not run"
    put(f"{what} until you approve {'it' if count == 1 else 'them'}: {hint}")


def _print_plan(plan: Plan) -> None:
    put_spans(plan_lines(plan, columns()))


def _target(session: str, current: str) -> str:
    return "" if session == current else f", into {printable(session_title(session))}"


def as_data(args: ParsedArgs, done: Imported) -> dict[str, object]:
    """The result, for JSON output."""
    return {
        "file": done.file.path,
        "format": done.file.format,
        "session": done.session,
        "phases": len(done.after.phases),
        "tasks": len(done.after.tasks),
        "changed": done.before != done.after,
        "proposed_checks": len(proposed_checks(settings_for(args), done.after)),
        "new_events": done.new,
        "said": [warning.text() for warning in done.file.warnings],
    }


def amount(done: Imported) -> str:
    if isinstance(done.file, HistoryFile):
        total = len(done.file.events)
        return (
            format_count(total, "event")
            if done.new == total
            else f"{format_count(total, 'event')}, {done.new} of them new"
        )
    return f"{format_count(len(done.after.tasks), 'task')} in {format_count(len(done.after.phases), 'phase')}"


def warn_of_losses(file: ImportFile, *, verbose: bool) -> None:
    print_warnings(f"Not imported from {file_title(file.path)}", file.warnings, verbose=verbose)
