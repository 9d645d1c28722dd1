"""The findings of a check of a store."""

from __future__ import annotations

from enum import Enum

from tildone.value import value


class Severity(Enum):
    """How serious a finding is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "problem"


@value
class Finding:
    """One result of a check: its severity, what was found, and what to do about it."""

    severity: Severity
    what: str
    remedy: str = ""
