"""The refusal of a request that others have overtaken."""

from __future__ import annotations

from tildone.base import Refused


class Conflict(Refused):
    """Others have changed what the request is about, or are at it; nothing changed. Whoever asked should look again."""
