"""Noticing that the plan of a conversation is gone: its store was deleted or replaced by an empty one.

An empty session is normal at the beginning of a conversation. It is a loss if the conversation had a plan before, which
hooks remember outside of the data folder (`tildone.hooks.remembered`): whoever deletes the store often deletes that
folder as a whole.
"""

from __future__ import annotations

from tildone.agents.identity import digest
from tildone.errors import StoreError
from tildone.hooks.remembered import Remembered
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.agents.registry import Agent
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent


def note_plan(event: HookEvent, agent: Agent, settings: Settings) -> None:
    """Remember that the conversation has a plan."""
    Remembered(event.environ, agent.id).is_new(_fact(agent, settings))


def check_not_lost(event: HookEvent, agent: Agent, settings: Settings) -> None:
    """Check that a session without events never had a plan in this conversation.

    Raises:
        StoreError: it had one.
    """
    if Remembered(event.environ, agent.id).knows(_fact(agent, settings)):
        raise StoreError(f"{settings.store.redacted} no longer has the plan of this conversation; was it deleted?")


def _fact(agent: Agent, settings: Settings) -> str:
    return f"plan-{digest(f'{settings.store} {agent.session}')}"
