"""What an examination of a store finds."""

from __future__ import annotations

from enum import Enum

from tildone.value import value


class Health(Enum):
    """How much a finding matters."""

    FINE = "fine"
    ODD = "odd"
    BAD = "bad"


@value
class Finding:
    """One thing that was looked at, what a person should know of it, and what they can do about it."""

    health: Health
    what: str
    remedy: str = ""
