"""`Conflict`: what a person saw is no longer so, or somebody else is at it."""

from tildone.base.errors import Refused


class Conflict(Refused):
    """Others have changed what the request is about, or are at it; nothing changed. Whoever asked should look again."""
