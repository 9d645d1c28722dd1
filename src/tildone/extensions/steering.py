"""Steering of the host's agent: after `tildone stop`, its turn ends before the next request or tool call.

While a conversation is open, its agent is registered in the project, so that other processes can steer it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from tildone.agents.identity import AgentId
from tildone.agents.processes import start_time
from tildone.agents.registry import Agent, AgentRegistry
from tildone.dialects.native import STOPPED
from tildone.errors import StoreError
from tildone.extensions.restoring import OpenSession
from tildone.host.events import TurnStart
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import (
    BlockCall,
    ConversationEnd,
    ConversationStart,
    SubagentTurn,
    ToolCallRequest,
)
from tildone.log.events import Directive
from tildone.session import Session

NOTICE = "Stopped (tildone stop). To go on: tildone resume"


def steering(open_session: OpenSession, agents: AgentRegistry | None) -> Callable[[ExtensionAPI], None]:
    """Return the extension. Without a registry of agents, other processes cannot steer this one."""
    return lambda api: Steering(api, open_session, agents).register()


class Steering:
    """The steering of one host."""

    def __init__(self, api: ExtensionAPI, open_session: OpenSession, agents: AgentRegistry | None) -> None:
        self.api = api
        self._open_session = open_session
        self._agents = agents
        self._session: Session | None = None
        self._id: AgentId | None = None

    def register(self) -> None:
        """Register the event handlers."""
        self.api.on(ConversationStart, self.register_agent)
        self.api.on(TurnStart, self.check_directive)
        self.api.on(SubagentTurn, self.check_directive)
        self.api.on(ToolCallRequest, self.check_directive)
        self.api.on(ConversationEnd, self.remove_agent)

    def register_agent(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        """Add the agent of the opened conversation to the registry."""
        self.remove_agent()
        self._session = self._open_session(ctx.conversation.id)
        self._id = AgentId("tildone", ctx.conversation.id)
        if self._agents is not None:
            pid = os.getpid()
            # Failure is harmless: the agent works, but other processes cannot find it.
            with suppress(StoreError):
                self._agents.save(
                    Agent(self._id, self._session.name, pid=pid, last_active=ctx.now(), started=start_time(pid))
                )

    def remove_agent(self, *_: object) -> None:
        """Remove the agent from the registry when its conversation is closed or another one is opened."""
        if self._agents is not None and self._id is not None:
            with suppress(StoreError):
                self._agents.remove(self._id)

    def check_directive(
        self, _event: TurnStart | SubagentTurn | ToolCallRequest, ctx: ExtensionContext
    ) -> BlockCall | None:
        """Abort the turn if the agent was told to stop."""
        if self._session is None or self._session.state.directive is not Directive.STOP:
            return None
        ctx.abort()
        ctx.ui.notify(NOTICE, "warning")
        return BlockCall(STOPPED)
