"""The findings of a check of a store."""

from __future__ import annotations

from enum import Enum

from tildone.value import value


class Severity(Enum):
    """How much a finding matters."""

    OK = "fine"
    WARNING = "odd"
    ERROR = "bad"


@value
class Finding:
    """One finding: how serious it is, what it is, and what to do about it."""

    severity: Severity
    what: str
    remedy: str = ""
