"""The base class of all dialect extensions, which runs any dialect in a host from its record alone.

It registers the tools, restores the plan when a conversation is opened or another branch of it is chosen, adds the plan
to the model's context at the start of a turn, and continues an agent that stops with open tasks. A dialect without a
module of its own in this package uses the skeleton unchanged; the others override single methods.

The conversation and the store may disagree about the plan: while a conversation is closed, people and other programs
may change its plan in the store. If the store's history contains the last plan of the conversation, the store's plan is
used. Otherwise, and whenever another branch is chosen, the conversation's plan is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tildone.config import Settings
from tildone.core.ops import Write
from tildone.core.plan import Plan
from tildone.dialects.base import Dialect, Reply, Tool
from tildone.dialects.snapshot import with_plan
from tildone.extensions.restoring import NO_RULES, OpenSession, store_is_ahead
from tildone.extensions.tools import definition
from tildone.host.content import TextBlock
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import (
    AgentStartReply,
    BeforeAgentStart,
    BeforeSettle,
    BranchChange,
    ConversationStart,
    KeepGoing,
)
from tildone.host.messages import CustomMessage, DeveloperMessage, StopReason
from tildone.kit.definition import ToolDefinition
from tildone.log.events import Actor, Bound
from tildone.loop.decision import GiveUp, GoOn, Rest, Turn
from tildone.session import Session
from tildone.value import replace
from tildone.views import widget
from tildone.views.bounds import describe_bound

STATUS = "todos"
PLAN_CONTEXT = "tildone-context"
LIMIT_NOTICE = "tildone-limit"


def skeleton(dialect: Dialect, open_session: OpenSession) -> Callable[[ExtensionAPI], None]:
    """Return the extension for a dialect; `open_session` opens the plan's session, given the id of a conversation."""
    return lambda api: DialectExtension(api, dialect, open_session).register()


class DialectExtension:
    """The plan of one host, in one dialect."""

    def __init__(self, api: ExtensionAPI, dialect: Dialect, open_session: OpenSession) -> None:
        self.api = api
        self.dialect = dialect
        self._open_session = open_session
        self._session: Session | None = None

    def register(self) -> None:
        """Register tools and event handlers with the host."""
        self.follow_conversation()
        self.register_tools()
        self.register_hooks()

    def follow_conversation(self) -> None:
        """Register the handlers that restore the plan when the conversation or its branch changes."""
        self.api.on(ConversationStart, self.conversation_opened)
        self.api.on(BranchChange, self.branch_chosen)

    def register_tools(self) -> None:
        """Offer the dialect's tools to the model."""
        for tool in self.dialect.tools:
            self.api.register_tool(self.definition(tool))

    def register_hooks(self) -> None:
        """Register the handlers of turn events."""
        self.api.on(BeforeAgentStart, self.add_context)
        self.api.on(BeforeSettle, self.nudge)

    def definition(self, tool: Tool) -> ToolDefinition:
        """Return the host's definition of a tool."""
        return definition(tool, self.execute, self.dialect.refuse, any_case_name=True)

    @property
    def session(self) -> Session:
        """The session of the plan, for the open conversation."""
        if self._session is None:
            self._session = self._open_session("")
        return self._session

    def execute(self, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Execute a model's call."""
        reply = self.session.execute(tool, params)
        self.show_status(ctx)
        if not self.dialect.needs_snapshots:
            return reply
        return replace(reply, details=with_plan(reply.details, self.session.plan))

    def conversation_opened(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        """Restore the plan of the conversation, unless the store's plan is newer."""
        session = self.open(ctx)
        last_plan = self.dialect.recover(ctx.conversation.branch_records())
        if last_plan is not None and not store_is_ahead(session, last_plan):
            self.restore(last_plan)
        self.show_status(ctx)

    def branch_chosen(self, _event: BranchChange, ctx: ExtensionContext) -> None:
        """Restore the plan at this point of the conversation; later changes on other branches do not apply."""
        self.open(ctx)
        self.restore(self.dialect.recover(ctx.conversation.branch_records()) or Plan())
        self.show_status(ctx)

    def open(self, ctx: ExtensionContext) -> Session:
        """Open the session of the conversation's plan."""
        self._session = self._open_session(ctx.conversation.id)
        return self._session

    def restore(self, plan: Plan) -> None:
        """Replace the plan with this one. Limits apply to new writes only, so a restored plan is not checked."""
        self.session.change((Write(plan.phases),), Actor.IMPORT, NO_RULES)

    def add_context(self, _event: BeforeAgentStart, _ctx: ExtensionContext) -> AgentStartReply | None:
        """Add the plan to the model's context, hidden from the person."""
        content = self.session.context()
        if content is None:
            return None
        self.session.set_seen_head(self.session.state.head)
        return AgentStartReply(CustomMessage(PLAN_CONTEXT, content))

    def nudge(self, event: BeforeSettle, _ctx: ExtensionContext) -> KeepGoing | None:
        """Continue an agent that stops with open tasks, or tell the person why it is not continued."""
        stop = event.stop_reason
        turn = Turn(aborted=stop == StopReason.ABORTED, errored=stop == StopReason.ERROR)
        verdict = self.session.turn_ended(turn)
        match verdict.decision:
            case GoOn():
                return KeepGoing([DeveloperMessage((TextBlock(verdict.prompt or ""),), attribution="agent")])
            case GiveUp(bound, limit):
                self.api.send_message(CustomMessage(LIMIT_NOTICE, limit_notice(bound, limit), display=True))
                return None
            case Rest():  # exhaustive
                return None

    def show_status(self, ctx: ExtensionContext) -> None:
        """Show the progress of the plan in the status bar."""
        if ctx.has_ui:
            ctx.ui.set_status(STATUS, widget.status_text(self.session.plan))


def limit_notice(bound: Bound, limit: int) -> str:
    """Return the message to the person that the agent is no longer continued."""
    why = f"{limit} iterations" if bound is Bound.NUDGES else describe_bound(bound, limit)
    return f"Auto-continue limit reached ({why}). Remaining todos were not completed. Take over manually."


def from_settings(dialect: Dialect, open_session: OpenSession, _settings: Settings) -> Callable[[ExtensionAPI], None]:
    """Return the extension for `tildone run`."""
    return skeleton(dialect, open_session)


EXTENSION = from_settings
