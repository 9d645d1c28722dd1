"""Importing files: a plan replaces the plan of a session, a history is added to its events.

Files are read from disk or standard input; their format is detected.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

from tildone.app.edits import replace_plan
from tildone.app.opening import check_approvals, session_title
from tildone.app.settings import Settings
from tildone.base import NotFound, Refused, StoreError, TildoneError, UsageError, nearest, replace, value
from tildone.base.files import STREAM
from tildone.base.private import REPLACED, open_private
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan import codec
from tildone.plan.dialects import plan_in_entry
from tildone.plan.events import Event, PlanChanged, by_id, latest_state
from tildone.plan.formats import ConversionWarning, ImportedPlan, claude_tasks, detection
from tildone.plan.model import Check, Plan, with_imported_proofs, with_source
from tildone.stores.pi.history import read_history

_TASK_FILE = re.compile(r"[0-9]+\.json")
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@value
class Imported:
    """The result of importing a file: the session, and the plan there before and after.

    `new` is how many events of a history the session did not have; a plan has no events.
    """

    file: detection.ImportFile
    session: str
    before: Plan
    after: Plan
    new: int | None = None


def import_plan(session: Session, file: detection.PlanFile, *, force: bool = False, dry_run: bool = False) -> Imported:
    """Replace the plan of a session, only with `force` by an empty one. Raises Refused if that violates its rules."""
    if not file.plan.tasks and session.plan.tasks and not force:
        raise Refused(f"{file_title(file.path)} contains no tasks; to empty the plan, use --force or: tildone todo rm")
    outcome = replace_plan(session, with_source(file.plan, source_of(file.path)), dry_run=dry_run)
    return Imported(file, session.name, outcome.before, outcome.after)


def import_history(
    file: detection.HistoryFile, opened: Callable[[], Store], session: str = "", *, dry_run: bool = False
) -> Imported:
    """Add a history to a session, by default the one that it names, and move the head to its head.

    A proof in it that this session does not have already is stale until its check is run here. Raises Refused if the
    history is empty, StoreError if the session has different events with the same ids.
    """
    if not file.events:
        raise Refused(f"{file_title(file.path)} contains no plan")
    store, session = opened(), session or file.session
    before = latest_state(store.history(session)).plan
    here = by_id(store.events(session))
    file = replace(file, events=tuple(_own_or_foreign(event, here) for event in file.events))
    if dry_run:
        return Imported(file, session, before, file.plan, sum(event.id not in here for event in file.events))
    try:
        new = store.import_events(session, file.events, file.session_head)
    except StoreError as error:
        here = by_id(store.events(session))
        if all(here.get(event.id, event) == event for event in file.events):
            raise
        hint = f"import {file_title(file.path)} into another with --session"
        raise StoreError(f"{session_title(session)} has different events with the same ids; {hint}") from error
    return Imported(file, session, before, file.plan, new)


def proposed_checks(settings: Settings, plan: Plan) -> list[Check]:
    """Return the checks in a plan that nobody has approved, so that they do not run."""
    approvals = check_approvals(settings)
    checks = (plan.check, *(task.check for task in plan.tasks))
    return [check for check in checks if check is not None and not approvals.is_allowed(check)]


def _own_or_foreign(event: Event, here: Mapping[str, Event]) -> Event:
    """Return the event of the session if it is the same, else that of the file, whose proofs prove nothing here."""
    if not isinstance(event.fact, PlanChanged):
        return event
    foreign = replace(event, fact=replace(event.fact, plan=with_imported_proofs(event.fact.plan)))
    own = here.get(event.id)
    return own if own is not None and own in (event, foreign) else foreign


def checked_format(format_: str | None) -> str | None:
    """The format that the command line names, if any. Raises UsageError if there is no such format."""
    if format_ is not None and format_ not in detection.FORMATS:
        raise UsageError(f"there is no format {format_!r}; {nearest(format_, detection.FORMATS)}")
    return format_


def file_title(path: str) -> str:
    return "standard input" if path == STREAM else path


def source_of(path: str) -> str:
    """The file as the source of tasks: a model is told its name, but not where it is."""
    return file_title(path) if path == STREAM else f"the file {os.path.basename(os.path.abspath(path))}"


def read_files(paths: Sequence[str], format_: str | None) -> list[detection.ImportFile]:
    """What the files contain; several task files of Claude Code from one folder are one list.

    Raises TildoneError if a file cannot be read.
    """
    single = [path for path in paths if format_ in (None, detection.CLAUDE) and _is_task_file(path)]
    folders = {os.path.dirname(os.path.abspath(path)) for path in single}
    if len(single) == 1 or len(folders) != 1:
        return [read_file(path, format_) for path in paths]
    others = [read_file(path, format_) for path in paths if path not in single]
    return [_task_files(os.path.dirname(single[0]) or ".", single), *others]


def read_file(path: str, format_: str | None) -> detection.ImportFile:
    """What a file or a task folder contains; the format is detected unless it is given.

    Raises:
        NotFound: the file does not exist.
        Refused: its content is not in the format.
        UsageError: the format cannot be detected.
        TildoneError: the file cannot be read.
    """
    if path != STREAM and os.path.isdir(path):
        if format_ not in (None, detection.CLAUDE):
            raise Refused(f"{path} is a folder, but a {format_} import is a file")
        return _task_folder(path)
    raw = _bytes(path)
    if format_ == detection.PI:
        return _pi_session(path, raw)
    text = _text(path, raw)
    format_ = format_ or _detected(path, text)
    if format_ == detection.PI:
        return _pi_session(path, raw)
    try:
        return detection.parse_file(path, format_, text)
    except (ValueError, RecursionError) as error:
        raise Refused(f"could not read {file_title(path)} as {format_}: {detection.reason(error)}") from error


def _detected(path: str, text: str) -> str:
    found = detection.detect_format(path, text)
    if found is not None:
        return found
    if detection.format_of_name(path) == detection.JSON:
        raise Refused(
            f"could not read {path}: {detection.json_error(text) or 'it is neither a session nor a list of tasks'}"
        )
    raise UsageError(f"cannot detect the format of {file_title(path)}; use --from {', '.join(detection.FORMATS)}")


def _pi_session(path: str, raw: bytes) -> detection.HistoryFile:
    # A pipe can be read only once.
    if path != STREAM and os.path.isfile(path):
        history = read_history(path, plan_in_entry)
    else:
        with TemporaryDirectory(prefix="tildone-") as folder:
            copy = os.path.join(folder, "session.jsonl")
            with os.fdopen(open_private(copy, REPLACED), "wb") as file:
                file.write(raw)
            history = read_history(copy, plan_in_entry)
    # Entries of a conversation that do not belong to the plan.
    skipped = (
        f"{count} {('entry', 'entries')[count != 1]} of type {kind} not imported"
        if kind != "message"
        else f"{count} {('message', 'messages')[count != 1]} not imported"
        for kind, count in history.skipped_entries
    )
    warnings = tuple(map(ConversionWarning, skipped))
    return detection.HistoryFile(path, detection.PI, history.session, history.events, history.session_head, warnings)


def _is_task_file(path: str) -> bool:
    if not _TASK_FILE.fullmatch(os.path.basename(path)):
        return False
    try:
        return claude_tasks.is_task_file(codec.parse_strictly(_text(path, _bytes(path))))
    except (TildoneError, ValueError):
        return False


def _task_folder(path: str) -> detection.PlanFile:
    names = sorted(os.listdir(path))
    files = [os.path.join(path, name) for name in names if name.endswith(".json") and not name.startswith(".")]
    if not files and not {".lock", ".highwatermark"}.intersection(names):
        raise Refused(f"{path} contains no tasks of Claude Code; name the folder of one session in ~/.claude/tasks")
    return _task_files(path, files)


def _task_files(folder: str, files: Sequence[str]) -> detection.PlanFile:
    held: list[Any] = []
    for path in files:
        try:
            data = codec.parse_strictly(_text(path, _bytes(path)))
        except NotFound:
            # Deleted since the folder was listed.
            continue
        except ValueError as error:
            raise Refused(f"could not read {path}: {error}") from error
        if claude_tasks.is_todo_list(data):
            raise Refused(f"{path} is a whole list of todos; import that file, not its folder")
        if not claude_tasks.is_task_file(data):
            raise Refused(f"{path} is not a task of Claude Code: it has no subject")
        held.append(data)
    taken: ImportedPlan = claude_tasks.read_task_files(held)
    return detection.PlanFile(folder, detection.CLAUDE, taken.plan, taken.warnings)


def _bytes(path: str) -> bytes:
    try:
        if path == STREAM:
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError as error:
        raise NotFound(f"could not read {path}: {error.strerror}") from error
    except OSError as error:
        raise TildoneError(f"could not read {file_title(path)}: {error.strerror or error}") from error


def _text(path: str, raw: bytes) -> str:
    """The text of a file: UTF-8 or UTF-16, with or without a byte order mark."""
    try:
        return raw.decode(_BOMS.get(raw[:2], "utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Refused(f"could not read {file_title(path)}: it is not UTF-8 text") from error
