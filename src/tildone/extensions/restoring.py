"""What a conversation remembers of its plan, against what the store holds."""

from __future__ import annotations

from collections.abc import Callable

from tildone.core.plan import Plan
from tildone.core.rules import Rules
from tildone.session import Session

OpenSession = Callable[[str], Session]

NO_RULES = Rules()
"""For plans that were made elsewhere: nothing is started, and nothing refused."""


def store_is_ahead(session: Session, remembered: Plan | None) -> bool:
    """Whether the store has been where the conversation left off, and may have gone on since.

    What was done to the plan meanwhile then stands.
    """
    return remembered is None or session.recently_had(remembered)
