"""Whether the plan of a conversation or that of the store counts when the conversation is opened."""

from __future__ import annotations

from collections.abc import Callable

from tildone.core.plan import Plan
from tildone.core.rules import Rules
from tildone.session import Session

OpenSession = Callable[[str], Session]

NO_RULES = Rules()
"""For plans that are restored or imported: no limits, and no task is started automatically."""


def store_is_ahead(session: Session, remembered: Plan | None) -> bool:
    """Whether the store has held the plan that the conversation ended with, and may have gone on from it."""
    return remembered is None or session.recently_had(remembered)
