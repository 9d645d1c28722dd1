"""Noticing that a plan is gone: its store was deleted, or replaced by an empty one.

A missing store, or an empty session, is normal at the beginning. It is a loss if there was a plan before, which is
remembered outside of the data folder, because whoever deletes the store often deletes that folder as a whole: for a
conversation by its hooks (`tildone.hooks.remembered`), and for a project, also after a restart of the machine, by a
mark (`tildone.config.held`). The person and the model are told once in each conversation.
"""

from __future__ import annotations

import os

from tildone.agents.identity import digest
from tildone.hooks.remembered import Remembered
from tildone.integrations.record import HookPoint, ReplyKind
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.agents.identity import AgentId
    from tildone.agents.registry import Agent
    from tildone.config import Settings
    from tildone.hooks.event import HookEvent

TOLD = "told-lost"
"""The fact that this conversation has been told."""


def note_plan(event: HookEvent, agent: Agent, settings: Settings) -> None:
    """Remember that the conversation has a plan, and that the project has one."""
    Remembered(event.environ, agent.id).is_new(_fact(agent, settings))
    if settings.held_mark and not os.path.exists(settings.held_mark):
        from tildone.config.held import note_held  # noqa: PLC0415  once in a project

        note_held(settings)


def check_told(event: HookEvent, agent_id: AgentId, settings: Settings) -> None:
    """Check that this conversation has been told that the plan of the project was lost.

    Raises:
        PlanLost: it has not.
    """
    if not Remembered(event.environ, agent_id).knows(TOLD):
        raise _lost(settings)


def check_not_lost(event: HookEvent, agent: Agent, settings: Settings) -> None:
    """Check that a session without events never had a plan in this conversation.

    Raises:
        PlanLost: it had one.
    """
    if Remembered(event.environ, agent.id).knows(_fact(agent, settings)):
        check_told(event, agent.id, settings)


def loss_reply(event: HookEvent, pid: int, problem: str) -> str:
    """Return the reply that tells the person and the model; empty if they know, or cannot be told now.

    An agent that stops goes on once, so that its model can say it where the person reads.
    """
    from tildone.dialects.native import PLAN_LOST  # noqa: PLC0415  only for a reply
    from tildone.hooks.reply import rendered_together  # noqa: PLC0415  the same
    from tildone.hooks.troubles import postpone_notice  # noqa: PLC0415  the same

    if not Remembered(event.environ, event.agent_id(pid)).is_new(TOLD):
        return ""
    notice = f"tildone: {problem} To bring back a backup: tildone restore"
    postpone_notice(event, pid, notice)
    to_model = ReplyKind.CONTINUE if event.point is HookPoint.STOP else ReplyKind.ADD_CONTEXT
    return rendered_together(event, {ReplyKind.NOTIFY: notice, to_model: PLAN_LOST.format(problem)})


def _fact(agent: Agent, settings: Settings) -> str:
    return f"plan-{digest(f'{settings.store} {agent.session}')}"


def _lost(settings: Settings) -> Exception:
    # Late, because few stores get lost.
    from tildone.config.held import PlanLost  # noqa: PLC0415  see above

    return PlanLost(settings.store.redacted)
