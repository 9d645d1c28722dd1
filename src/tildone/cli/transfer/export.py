"""`tildone export`: the plan, or the session with all its history, into a file that others can read."""

from __future__ import annotations

import os
from itertools import islice

from tildone.cli.opening import open_for_reading, session_title, settings_for
from tildone.cli.output.screen import put, put_raw
from tildone.cli.output.warnings import aside
from tildone.cli.parsing.args import ParsedArgs
from tildone.cli.transfer.reading import CLAUDE, FORMS, JSON, MARKDOWN, PI, STREAM, TODO_TXT, ending_of
from tildone.config import nearest
from tildone.errors import Refused, UsageError
from tildone.files.atomic import read_text, write_text
from tildone.formats import markdown, todotxt
from tildone.formats.conversion import ExportedText
from tildone.log import archive
from tildone.log.archive import Archive
from tildone.log.events import PlanChanged
from tildone.typing import TYPE_CHECKING
from tildone.views.sanitize import printable

if TYPE_CHECKING:
    from tildone.session import Session

OUT = tuple(form for form in FORMS if form != CLAUDE)
RECENT = 200


def run(args: ParsedArgs) -> int:
    """Write the session in the format that is wanted, to a file or to standard output."""
    path = args.positional[0] if args.positional else STREAM
    form = _form(args.options.get("as"), path)
    session = open_for_reading(args)
    if form == PI:
        _save_pi(session, path, settings_for(args).project)
        put(f"Wrote the session to {printable(path)}")
        return 0
    written = _written(session, form)
    if path == STREAM:
        put_raw(written.text.removesuffix("\n"))
    else:
        if not args.has("force"):
            _spare(session, path, form)
        write_text(path, written.text)
        put(f"Wrote the {'session' if form == JSON else 'plan'} to {printable(path)}")
    aside(f"What is written otherwise in {form}", written.said, everything=args.has("verbose"))
    return 0


def _form(wanted: str | None, path: str) -> str:
    """The format to write in: as the person says, else as the file's name does.

    Raises:
        UsageError: there is no such format, or no telling which.
    """
    if wanted is not None and wanted not in OUT:
        raise UsageError(f"there is no format {wanted!r} to export; {nearest(wanted, OUT)}")
    if path == STREAM:
        if wanted == PI:
            raise UsageError("a session of pi's is a file: name one")
        return wanted or MARKDOWN
    form = wanted or ending_of(path)
    if form is None:
        raise UsageError(f"there is no telling which format {path} is to have; say --as {', '.join(OUT)}")
    return form


def _written(session: Session, form: str) -> ExportedText:
    if form == JSON:
        return ExportedText(archive.write(_whole(session)))
    plan = session.plan
    if not plan.phases:
        raise Refused("there is no plan to export; begin one with: tildone todo append TEXT")
    return todotxt.write(plan) if form == TODO_TXT else ExportedText(markdown.lossless_checklist(plan))


def _whole(session: Session) -> Archive:
    """All that the store has of the session.

    Raises:
        Refused: that is nothing.
    """
    # In this order: what is written meanwhile is among the events, and the place is one of them.
    place = session.store.session_head(session.name)
    events = tuple(session.store.events(session.name))
    if not events:
        raise Refused(f"{session_title(session.name)} has no events yet; start with: tildone todo append TEXT")
    return Archive(session.name, place, events)


def _save_pi(session: Session, path: str, project: str) -> None:
    # Late, because only this format needs it.
    from tildone.stores.pi.interchange import write_history  # noqa: PLC0415  see above

    whole = _whole(session)
    if os.path.lexists(path):
        raise Refused(f"{path} is there already, and a session of pi's is never replaced: name another")
    write_history(path, whole.session, project, whole.events, whole.session_head)


def _spare(session: Session, path: str, form: str) -> None:
    """Keep what is not ours.

    Raises:
        Refused: the file holds something that would be lost.
    """
    text = read_text(path)
    if text == "":
        return
    if form == MARKDOWN:
        kept = text is None or bool(markdown.read(text).problems)
        what = "more than a checklist"
    elif form == TODO_TXT:
        kept = text is None or not _was(session, text)
        what = "tasks that were never this plan"
    else:
        kept = text is None or not _is_part(session, text)
        what = "something else than this session"
    if kept:
        raise Refused(f"{path} holds {what}; to replace it, say --force")


def _was(session: Session, text: str) -> bool:
    """Whether a text is what was, or could have been, exported of this session not long ago."""
    recent = islice(session.store.history(session.name), RECENT)
    plans = (event.fact.plan for event in recent if isinstance(event.fact, PlanChanged))
    return any(todotxt.write(plan).text == text for plan in plans)


def _is_part(session: Session, text: str) -> bool:
    """Whether nothing is in an archive that is not in the session."""
    try:
        kept = archive.read(text)
    except (ValueError, RecursionError):
        return False
    here = {event.id for event in session.store.events(session.name)}
    return kept.session == session.name and here.issuperset(event.id for event in kept.events)
