"""The base class of all dialect extensions, which runs any dialect in a host from its record alone.

It registers the tools, restores the plan when a conversation is opened or another branch of it is chosen, adds the plan
to the model's context at the start of a turn, and continues an agent that stops with open tasks. A dialect without a
module of its own in this package uses the skeleton unchanged; the others override single methods.

The conversation and the store may disagree about the plan: while a conversation is closed, people and other programs
may change its plan in the store. Which of the two is used depends on whether the plan is shared; see `restoring`. For a
plan of the conversation's own: if the store's history contains the last plan of the conversation, the store's plan is
used. Otherwise, and whenever another branch is chosen, the conversation's plan is used.

Others may change a shared plan in the middle of a turn. The model is told so before its next request.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tildone.config import Settings
from tildone.core.numbers import numbered
from tildone.core.ops import Write
from tildone.core.plan import Plan
from tildone.dialects.base import Dialect, Reply, Tool
from tildone.dialects.run_prompts import change_reminder
from tildone.dialects.snapshot import changed_in_details, plan_in_details, with_plan
from tildone.errors import StoreError
from tildone.extensions.restoring import (
    FORK,
    NO_RULES,
    NOT_RESTORED,
    OpenSession,
    has_changed,
    is_shared,
    plan_to_restore,
    records_of_plan,
    same_tasks,
    store_is_ahead,
)
from tildone.extensions.tools import definition, with_refusals
from tildone.formats.markdown.writer import bounded_checklist
from tildone.history.changes import changes
from tildone.history.sentences import change_sentences
from tildone.host.content import TextBlock
from tildone.host.events import TurnEnd
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
from tildone.host.queues import Delivery
from tildone.kit.components import Component, Item, KeyHint, RenderOptions, Text, ToolFooter, stacked
from tildone.kit.components.defaults import default_call
from tildone.kit.definition import ToolDefinition, ToolResult
from tildone.kit.keys import EXPAND
from tildone.kit.theme import Role
from tildone.log.events import Actor, Bound, StopFingerprint
from tildone.loop.decision import GiveUp, GoOn, Rest, Turn
from tildone.session import Session
from tildone.value import replace
from tildone.views import widget
from tildone.views.bounds import describe_bound
from tildone.views.limits import MAX_FRAME, MAX_START
from tildone.views.plain_list import NO_TODOS
from tildone.views.plan_lines import task_line

STATUS = "todos"
PLAN_CONTEXT = "tildone-context"
CHANGES = "tildone-changes"
LIMIT_NOTICE = "tildone-limit"

MAX_TASKS_SHOWN = 8
"""How many tasks are shown after every call. Of a longer plan, a collapsed result shows those that have changed."""


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
        self._conversation: str | None = None
        self._shown: Plan | None = None
        self._drawn = Plan()
        self._unreported: list[str] = []

    def register(self) -> None:
        """Register tools and event handlers with the host."""
        self.follow_conversation()
        self.register_tools()
        self.register_hooks()

    def follow_conversation(self) -> None:
        """Register the handlers that restore the plan when the conversation or its branch changes."""
        self.api.on(ConversationStart, self.conversation_opened)
        self.api.on(BranchChange, self.branch_chosen)
        self.api.on(TurnEnd, self.report_changes)

    def register_tools(self) -> None:
        """Offer the dialect's tools to the model."""
        for tool in self.dialect.tools:
            self.api.register_tool(self.definition(tool))

    def register_hooks(self) -> None:
        """Register the handlers of turn events."""
        self.api.on(BeforeAgentStart, self.add_context)
        self.api.on(BeforeSettle, self.nudge)

    def definition(self, tool: Tool) -> ToolDefinition:
        return self.define(
            tool,
            any_case_name=True,
            render_call=lambda args: default_call(self.definition(tool), args, name_all=True),
            render_result=render_plan,
        )

    def define(self, tool: Tool, **options: Any) -> ToolDefinition:
        """Return the definition of a tool that works on the session of this plan; see `extensions.tools`."""
        return definition(tool, self.call, lambda: self.session, self.dialect.refuse, **options)

    @property
    def session(self) -> Session:
        """The session of the plan, for the open conversation."""
        if self._session is None:
            self._session = self._open_session("")
        return self._session

    def call(self, session: Session, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Execute a model's call, and note what others changed before it: the reply shows the plan after both."""
        shared = is_shared(self.session, ctx.conversation)
        with suppress(StoreError):  # `execute` reports it
            self._unreported += self._changes_by_others() if shared else []
        reply = self.execute(session, tool, params, ctx)
        with suppress(StoreError):
            self._shown = self.session.plan if shared else None
        return reply

    def execute(self, session: Session, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Execute a model's call."""
        reply = session.execute(tool, params)
        self.show_status(ctx)
        if not self.dialect.needs_snapshots:
            return reply
        before, plan = self._drawn, self.session.plan
        self._drawn = before if reply.is_error else plan
        return replace(reply, details=with_plan(reply.details, plan, before))

    def conversation_opened(self, event: ConversationStart, ctx: ExtensionContext) -> None:
        """Restore the plan of the conversation, unless the store's plan is newer or is shared."""
        session = self.open(ctx)
        last_plan = self.dialect.recover(records_of_plan(ctx.conversation))
        if is_shared(session, ctx.conversation):
            self.follow_point(last_plan, ctx, chosen=event.reason == FORK)
        elif last_plan is not None and not store_is_ahead(session, last_plan):
            self.restore(last_plan)
        self._conversation = ctx.conversation.id
        self.show_status(ctx)

    def branch_chosen(self, _event: BranchChange, ctx: ExtensionContext) -> None:
        """Restore the plan at this point of the conversation; later changes on other branches do not apply."""
        session = self.open(ctx)
        plan = self.dialect.recover(records_of_plan(ctx.conversation))
        if is_shared(session, ctx.conversation):
            self.follow_point(plan, ctx, chosen=True)
        else:
            self.restore(plan or Plan())
        self.show_status(ctx)

    def follow_point(self, recovered: Plan | None, ctx: ExtensionContext, *, chosen: bool) -> None:
        """Move a shared plan to a point of the conversation that the person has chosen, if no one else changed it.

        Without a choice, only a plan that the store does not have is restored.
        """
        if not chosen and (recovered is None or self.session.state.head is not None):
            return
        view = ctx.conversation
        conversations = {name for name in (view.id, view.parent_id, self._conversation) if name}
        plan = plan_to_restore(self.session, recovered, conversations)
        if plan is not None:
            self.restore(plan)
        elif has_changed(self.session, conversations) and not same_tasks(recovered or Plan(), self.session.plan):
            ctx.ui.notify(NOT_RESTORED, "warning")

    def open(self, ctx: ExtensionContext) -> Session:
        """Open the session of the conversation's plan."""
        self._drawn = Plan()
        self._session = self._open_session(ctx.conversation.id)
        return self._session

    def restore(self, plan: Plan) -> None:
        """Replace the plan with this one. Limits apply to new writes only, so a restored plan is not checked."""
        self.session.change((Write(plan.phases),), Actor.IMPORT, NO_RULES)

    def report_changes(self, event: TurnEnd, ctx: ExtensionContext) -> None:
        """Tell the model, before its next request, what others changed in a shared plan since it last saw it."""
        if not event.tool_results or not is_shared(self.session, ctx.conversation):
            return
        found, self._unreported = [*self._unreported, *self._changes_by_others()], []
        if not found:
            return
        self.changes_reported()
        text = change_reminder(found, self.current_list())
        self.api.send_message(CustomMessage(CHANGES, text), deliver_as=Delivery.STEER)

    def changes_reported(self) -> None:
        """Record that the model knows the plan as it is now."""
        self.session.set_seen_head(self.session.state.head)

    def current_list(self) -> str:
        """Return the plan as the model knows it."""
        return self.session.context() or bounded_checklist(self.session.plan, MAX_START - MAX_FRAME)

    def _changes_by_others(self) -> list[str]:
        """Return what changed since the model last saw the plan, as sentences. From now on it counts as seen."""
        known, self._shown = self._shown, self.session.plan
        if known is None or known == self._shown:
            return []
        return change_sentences(changes(known, self._shown), numbers=self.dialect.numbered)

    def add_context(self, _event: BeforeAgentStart, _ctx: ExtensionContext) -> AgentStartReply | None:
        """Add the plan to the model's context, hidden from the person."""
        self._shown = self.session.plan
        content = self.session.context()
        if content is None:
            return None
        self.session.set_seen_head(self.session.state.head)
        return AgentStartReply(CustomMessage(PLAN_CONTEXT, content))

    def nudge(self, event: BeforeSettle, _ctx: ExtensionContext) -> KeepGoing | None:
        """Continue an agent that stops with open tasks, or tell the person why it is not continued."""
        stop = event.stop_reason
        files = StopFingerprint(self.session.parts.files())
        turn = Turn(aborted=stop == StopReason.ABORTED, errored=stop == StopReason.ERROR, fingerprint=files)
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


def render_plan(result: ToolResult, options: RenderOptions) -> Component | None:
    """Render the tasks of the plan after a call; None selects the default renderer.

    If there are many, a collapsed result shows those that have changed since the last one, and how many have not.
    """
    plan = None if options.is_error else plan_in_details(result.details)
    if plan is None:
        return None
    tasks = numbered(plan).tasks
    changed = [task for task in tasks if task.number in changed_in_details(result.details)]
    is_cut = not options.expanded and 0 < len(changed) < len(tasks) > MAX_TASKS_SHOWN
    listed = [Text(task_line(task)) for task in (changed if is_cut else tasks)] or [Text(NO_TODOS, Role.DIM)]
    rest = Item("", f"{len(tasks) - len(changed)} unchanged"), Item("", KeyHint(EXPAND, "to expand"))
    return with_refusals(stacked(*listed, ToolFooter(rest) if is_cut else None), result)


def limit_notice(bound: Bound, limit: float) -> str:
    """Return the message to the person that the agent is no longer continued."""
    why = f"{limit} iterations" if bound is Bound.NUDGES else describe_bound(bound, limit)
    return f"Auto-continue limit reached ({why}). Remaining todos were not completed. Take over manually."


def from_settings(dialect: Dialect, open_session: OpenSession, _settings: Settings) -> Callable[[ExtensionAPI], None]:
    """Return the extension for `tildone run`."""
    return skeleton(dialect, open_session)


EXTENSION = from_settings
