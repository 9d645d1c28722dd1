"""`tildone todo undo`: the same as `tildone undo`."""

from __future__ import annotations

from tildone.cli.history.moving import undo as run

__all__ = ["run"]
