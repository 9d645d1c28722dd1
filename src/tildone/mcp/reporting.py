"""Reporting an error to the client, and to the person who reads standard error."""

from __future__ import annotations

import sys

from tildone.errors import RunFenced, TildoneError
from tildone.views.sanitize import printable


def client_message(error: Exception, *, repeated: bool = False) -> str:
    """Return the message for the client. For a bug, it names only the type: the error's text may contain anything.

    If `repeated`, the agent knows that its run is another worker's, and is refused in few words.
    """
    if isinstance(error, RunFenced):
        # Late, because only agents of a fleet are told so.
        from tildone.dialects.native import FENCED, STILL_FENCED  # noqa: PLC0415  see above

        return STILL_FENCED if repeated else FENCED
    return str(error) if isinstance(error, TildoneError) else f"tildone itself is at fault: {type(error).__name__}"


def log_error(error: Exception) -> None:
    """Write the error to standard error, in one line."""
    message = str(error) if isinstance(error, TildoneError) else repr(error)
    sys.stderr.write(f"tildone mcp: {printable(message)}\n")
