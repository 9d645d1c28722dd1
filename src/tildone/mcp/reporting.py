"""How an error is reported: to the client, and to the person who reads standard error."""

from __future__ import annotations

import sys

from tildone.errors import TildoneError
from tildone.views.sanitize import printable


def client_message(error: Exception) -> str:
    """The error as a client may see it: the message of a bug may contain anything, so only its type is named."""
    return str(error) if isinstance(error, TildoneError) else f"tildone itself is at fault: {type(error).__name__}"


def log_error(error: Exception) -> None:
    """Write the error to standard error, in one line."""
    message = str(error) if isinstance(error, TildoneError) else repr(error)
    sys.stderr.write(f"tildone mcp: {printable(message)}\n")
