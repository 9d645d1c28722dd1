"""JSON output: one object per command, with the version of its shape. `docs/reference/json.md` documents the shapes."""

from __future__ import annotations

from tildone.cli.output.screen import put_json
from tildone.log import codec

VERSION = 1
"""The version of every shape. Fields may be added to a shape; a field that changes or goes away needs a new version."""


def put_data(**fields: object) -> None:
    """Print one JSON object on one line: the version, then the fields."""
    put_json(codec.dump({"version": VERSION, **fields}))
