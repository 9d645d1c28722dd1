"""`tildone todo undo`: the same as `tildone undo`."""

from __future__ import annotations

from tildone.cli.history.undo import run

__all__ = ["run"]
