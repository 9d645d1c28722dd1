"""Decides which plan is used when a conversation is opened: the conversation's or the store's."""

from __future__ import annotations

from collections.abc import Callable

from tildone.core.plan import Plan
from tildone.core.rules import Rules
from tildone.session import Session

OpenSession = Callable[[str], Session]

NO_RULES = Rules()
"""The rules for plans that are restored or imported: no limits, and no task is started automatically."""


def store_is_ahead(session: Session, last_plan: Plan | None) -> bool:
    """Return whether the store's history contains the last plan of the conversation, and may continue after it."""
    return last_plan is None or session.recently_had(last_plan)
