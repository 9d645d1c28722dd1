"""The findings of a check of a store."""

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
    """One finding: how serious it is, what it is, and what to do about it."""

    health: Health
    what: str
    remedy: str = ""
