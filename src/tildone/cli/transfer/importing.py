"""Imports the content of a file: a plan replaces the plan of the session, a history is added to its events."""

from __future__ import annotations

from tildone.app.edits import replace_plan
from tildone.app.opening import check_approvals, open_store
from tildone.cli.opening import open_to_read, session_title, settings_for
from tildone.cli.output.warnings import print_warnings
from tildone.cli.parsing.table import ParsedArgs
from tildone.cli.transfer.reading import file_title, source_of
from tildone.core.origins import with_imported_proofs, with_source
from tildone.core.plan import Plan
from tildone.errors import Refused, StoreError
from tildone.formats.detection import HistoryFile, ImportFile, PlanFile
from tildone.kit.formatting import format_count
from tildone.log.events import PlanChanged
from tildone.log.state import latest_state
from tildone.log.tree import by_id
from tildone.typing import TYPE_CHECKING
from tildone.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tildone.core.check import Check
    from tildone.log.events import Event
    from tildone.log.store import Store
    from tildone.session import Session


@value
class Imported:
    """The result of importing a file: the session, and the plan there before and after.

    `new` is how many events of a history the session did not have; a plan has no events.
    """

    file: ImportFile
    session: str
    before: Plan
    after: Plan
    new: int | None = None


def import_plan(session: Session, file: PlanFile, args: ParsedArgs) -> Imported:
    """Replace the plan of the session.

    Raises:
        Refused: the new plan is empty, or violates the session's rules.
    """
    if not file.plan.tasks and session.plan.tasks and not args.has("force"):
        raise Refused(f"{file_title(file.path)} contains no tasks; to empty the plan, use --force or: tildone todo rm")
    wanted = with_source(file.plan, source_of(file.path))
    outcome = replace_plan(session, wanted, dry_run=args.has("dry-run"))
    return Imported(file, session.name, outcome.before, outcome.after)


def import_history(args: ParsedArgs, file: HistoryFile, store: Store | None = None) -> Imported:
    """Add a history to the session that it names, or that the command line names, and move the head to its head.

    A proof in it that this session does not have already is stale until its check is run here.

    Raises:
        Refused: the history is empty.
        StoreError: the session has different events with the same ids.
    """
    if not file.events:
        raise Refused(f"{file_title(file.path)} contains no plan")
    settings = settings_for(args)
    store = store or (open_to_read(settings) if args.has("dry-run") else open_store(settings))
    session = args.options.get("session", file.session)
    before = latest_state(store.history(session)).plan
    here = by_id(store.events(session))
    file = replace(file, events=tuple(_own_or_foreign(event, here) for event in file.events))
    if args.has("dry-run"):
        return Imported(file, session, before, file.plan, sum(event.id not in here for event in file.events))
    try:
        new = store.import_events(session, file.events, file.session_head)
    except StoreError as error:
        if not _have_conflict(store, session, file):
            raise
        hint = f"import {file_title(file.path)} into another with --session"
        raise StoreError(f"{session_title(session)} has different events with the same ids; {hint}") from error
    return Imported(file, session, before, file.plan, new)


def _own_or_foreign(event: Event, here: Mapping[str, Event]) -> Event:
    """Return the event of the session if it is the same, else that of the file, whose proofs prove nothing here."""
    if not isinstance(event.fact, PlanChanged):
        return event
    foreign = replace(event, fact=replace(event.fact, plan=with_imported_proofs(event.fact.plan)))
    own = here.get(event.id)
    return own if own is not None and own in (event, foreign) else foreign


def _have_conflict(store: Store, session: str, file: HistoryFile) -> bool:
    here = by_id(store.events(session))
    return any(here.get(event.id, event) != event for event in file.events)


def proposed_checks(args: ParsedArgs, done: Imported) -> list[Check]:
    """Return the checks in the plan that nobody has approved, so that they do not run."""
    checks = [check for check in (done.after.check, *(task.check for task in done.after.tasks)) if check is not None]
    if not checks:
        return []
    approvals = check_approvals(settings_for(args))
    return [check for check in checks if not approvals.is_allowed(check)]


def as_data(args: ParsedArgs, done: Imported) -> dict[str, object]:
    """The result, for JSON output."""
    return {
        "file": done.file.path,
        "format": done.file.format,
        "session": done.session,
        "phases": len(done.after.phases),
        "tasks": len(done.after.tasks),
        "changed": done.before != done.after,
        "proposed_checks": len(proposed_checks(args, done)),
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
