"""`tildone export` writes the plan, or the session with its whole history, to a file."""

import os
from itertools import islice

from tildone.app.opening import session_title
from tildone.base import Refused, UsageError, nearest
from tildone.base.files import STREAM, read_text, write_text
from tildone.base.private import SHARED_FILE
from tildone.cli.opening import open_for_reading, settings_for
from tildone.cli.output import on_terminal, put, put_json, put_raw
from tildone.cli.output.prompts import print_warnings
from tildone.cli.table import ParsedArgs
from tildone.log.session import Session
from tildone.plan.events import PlanChanged
from tildone.plan.formats import ExportedText, archive, detection, todotxt
from tildone.plan.formats.archive import Archive
from tildone.plan.formats.markdown import lossless_checklist
from tildone.plan.formats.markdown_reader import read_checklist
from tildone.plan.text.safe import printable
from tildone.stores.pi.history import write_history

EXPORT_FORMATS = tuple(each for each in detection.FORMATS if each != detection.CLAUDE)
MAX_EVENTS_COMPARED = 200
"""How many of the newest events are searched for the plan that a todo.txt file was exported from."""


def run(args: ParsedArgs) -> int:
    path = args.positional[0] if args.positional else STREAM
    format_ = _export_format(args.options.get("as"), path)
    session = open_for_reading(args)
    if format_ == detection.PI:
        _write_pi_session(session, path, settings_for(args).project)
        put(f"Wrote the session to {printable(path)}")
        return 0
    written = _written(session, format_, escaped=path == STREAM and not on_terminal())
    if path == STREAM:
        (put_json if format_ == detection.JSON else put_raw)(written.text.removesuffix("\n"))
    else:
        if not args.has("force"):
            _check_overwrite(session, path, format_)
        write_text(path, written.text, mode=SHARED_FILE)
        put(f"Wrote the {'session' if format_ == detection.JSON else 'plan'} to {printable(path)}")
    print_warnings(f"Not represented in {format_}", written.warnings, verbose=args.has("verbose"))
    return 0


def _export_format(given: str | None, path: str) -> str:
    if given is not None and given not in EXPORT_FORMATS:
        raise UsageError(f"there is no export format {given!r}; {nearest(given, EXPORT_FORMATS)}")
    if path == STREAM:
        if given == detection.PI:
            raise UsageError("a pi session cannot be written to standard output; name a file")
        return given or detection.MARKDOWN
    found = given or detection.format_of_name(path)
    if found is None:
        raise UsageError(f"the name {path} does not tell the format; use --as {', '.join(EXPORT_FORMATS)}")
    return found


def _written(session: Session, format_: str, *, escaped: bool) -> ExportedText:
    if format_ == detection.JSON:
        return ExportedText(archive.write(_whole_session(session)))
    plan = session.plan
    if not plan.phases:
        raise Refused("there is no plan to export; start one with: tildone todo add TEXT")
    return (
        todotxt.write(plan)
        if format_ == detection.TODO_TXT
        else ExportedText(lossless_checklist(plan, escaped=escaped))
    )


def _whole_session(session: Session) -> Archive:
    """Everything that the store has of the session."""
    # In this order: events written in between are included, and the head is one of them.
    session_head = session.store.session_head(session.name)
    events = tuple(session.store.events(session.name))
    if not events:
        raise Refused(f"{session_title(session.name)} has no events yet; start with: tildone todo add TEXT")
    return Archive(session.name, session_head, events)


def _write_pi_session(session: Session, path: str, project: str) -> None:
    whole = _whole_session(session)
    if os.path.lexists(path):
        raise Refused(f"{path} already exists, and a pi session is never overwritten; choose another name")
    write_history(path, whole.session, project, whole.events, whole.session_head)


def _check_overwrite(session: Session, path: str, format_: str) -> None:
    """Check that overwriting a file loses nothing."""
    text = read_text(path)
    if text == "":
        return
    if format_ == detection.MARKDOWN:
        foreign = text is None or bool(read_checklist(text).problems)
        what = "more than a checklist"
    elif format_ == detection.TODO_TXT:
        foreign = text is None or not _is_former_plan(session, text)
        what = "tasks that were never in this plan"
    else:
        foreign = text is None or not _is_part(session, text)
        what = "something other than this session"
    if foreign:
        raise Refused(f"{path} contains {what}; to overwrite it, use --force")


def _is_former_plan(session: Session, text: str) -> bool:
    recent = islice(session.store.history(session.name), MAX_EVENTS_COMPARED)
    plans = (event.fact.plan for event in recent if isinstance(event.fact, PlanChanged))
    return any(todotxt.write(plan).text == text for plan in plans)


def _is_part(session: Session, text: str) -> bool:
    try:
        held = archive.read(text)
    except (ValueError, RecursionError):
        return False
    here = {event.id for event in session.store.events(session.name)}
    return held.session == session.name and here.issuperset(event.id for event in held.events)
