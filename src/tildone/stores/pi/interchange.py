"""Import from, and export to, single session files of pi's format."""

from __future__ import annotations

import os

from tildone.errors import NotFound, StoreError
from tildone.files import durable
from tildone.files.private import SHARED_FILE
from tildone.log.tree import SessionHead
from tildone.stores.pi.drafts import Draft
from tildone.stores.pi.history import History
from tildone.stores.pi.outline import FileReplaced
from tildone.stores.pi.session_file import format_line, header
from tildone.typing import TYPE_CHECKING
from tildone.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tildone.log.events import Event
    from tildone.stores.pi.entries import PlanInEntry


@value
class PiHistory:
    """The events in a session file; `skipped_entries` counts the other entries by type."""

    session: str
    cwd: str
    events: tuple[Event, ...]
    session_head: SessionHead
    skipped_entries: tuple[tuple[str, int], ...]


def read_history(path: str, recover: PlanInEntry) -> PiHistory:
    """Read the events in a session file of any version. The file is not changed.

    Raises:
        NotFound: there is no such file.
        StoreDamaged: it is not a session file, or the parent of an event cannot be read.
        StoreTooNew: a newer pi wrote it.
        StoreError: it cannot be read.
    """
    history = History(path, recover)
    if not history.refresh():
        raise NotFound(f"no session file {path}")
    try:
        with history.outline:
            events = tuple(map(history.event, history.positions()))
            head, skipped = history.session_head(), history.skipped_entries()
    except FileReplaced as error:
        raise StoreError(f"{path} was changed while it was read: try again") from error
    cwd = history.outline.header.get("cwd")
    return PiHistory(history.session, cwd if isinstance(cwd, str) else "", events, head, skipped)


def write_history(path: str, session: str, cwd: str, events: Sequence[Event], head: SessionHead) -> None:
    """Write a new session file with these events and that head, completely or not at all.

    Each event must follow its parent.

    Raises:
        UnknownEvent: the parent of an event, or the head, is not among the events before it.
        StoreError: the file exists already, or it cannot be written.
    """
    newest = max((event.at for event in events), default=0)
    draft = Draft(None).filled(events, head, newest)
    content = format_line(header(session, cwd, draft.begun)) + draft.text
    durable.make_folder(os.path.dirname(path) or ".")
    try:
        # Exported to be shared, so unlike a store it has the permissions of any new file.
        durable.create(path, content, f"{path}.{os.urandom(6).hex()}.tmp", mode=SHARED_FILE)
    except FileExistsError as error:
        raise StoreError(f"{path} exists already and was not changed") from error
