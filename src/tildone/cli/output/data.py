"""JSON output: one object per command, with the version of its shape. `docs/reference/json.md` documents the shapes."""

from __future__ import annotations

import time

from tildone.cli.output.screen import put
from tildone.log import codec

VERSION = 1
"""The version of every shape. Fields may be added to a shape; a field that changes or goes away needs a new version."""

_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999: later times have no four-digit year."""


def put_data(**fields: object) -> None:
    """Print one JSON object on one line: the version, then the fields."""
    put(codec.dump({"version": VERSION, **fields}))


def timestamp(at: int) -> str:
    """Format milliseconds since 1970 as an ISO 8601 time in UTC: `2026-03-01T12:00:00.000Z`."""
    seconds, milliseconds = divmod(min(max(at, 0), _LATEST_MS), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03d}Z"
