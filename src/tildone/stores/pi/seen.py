"""What readers have seen of a session, in a small file beside the session file.

pi reads only `*.jsonl` files, so it does not notice this one. The file is replaced as a whole under the folder's lock,
and read without it. It is not flushed to disk: if it is lost or damaged, a model is told the plan once more.
"""

from __future__ import annotations

import os

from tildone.errors import StoreError
from tildone.files.atomic import remove_if_there, replace_file
from tildone.files.durable import store_error
from tildone.files.private import PRIVATE_FILE
from tildone.log import codec
from tildone.log.seen import with_seen
from tildone.stores.pi.folder import file_safe

SUFFIX = ".seen"


def seen_path(folder: str, session: str) -> str:
    """Return the path of the file for a session."""
    return os.path.join(folder, f".{file_safe(session)}{SUFFIX}")


def read_seen(folder: str, session: str) -> dict[str, str]:
    """Return the heads that readers have seen, by reader; empty if there is no file or it is of another session."""
    try:
        with open(seen_path(folder, session), encoding="ascii") as file:
            record = codec.parse_strictly(file.read())
        is_own = record["session"] == session
        return {str(reader): str(head) for reader, head in record["seen"].items()} if is_own else {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def write_seen(folder: str, session: str, reader: str, head: str | None) -> None:
    """Record the head that a reader has seen, if it differs; None removes it. The caller holds the folder's lock.

    Raises:
        StoreError: the file cannot be written.
    """
    heads = read_seen(folder, session)
    if heads.get(reader) == head:
        return
    path = seen_path(folder, session)
    text = codec.dump({"session": session, "seen": with_seen(heads, reader, head)})
    try:
        replace_file(path, text.encode(), mode=PRIVATE_FILE, durable=False)
    except OSError as error:
        raise store_error(path, error) from error


def note_seen(folder: str, session: str, reader: str, head: str) -> None:
    """Record that a reader has seen an event that was just appended. Failure is harmless: the event is on disk."""
    try:
        write_seen(folder, session, reader, head)
    except StoreError:
        return


def remove_seen(folder: str, session: str) -> None:
    """Remove the file of a session that is deleted.

    Raises:
        StoreError: the file cannot be removed.
    """
    path = seen_path(folder, session)
    try:
        remove_if_there(path)
    except OSError as error:
        raise store_error(path, error) from error
