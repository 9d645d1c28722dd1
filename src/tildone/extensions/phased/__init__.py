"""The `phased` dialect in a host: `todo_write`, a panel, `/todo`, reminders, and the clearing of finished tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tildone.config import Settings as Configuration
from tildone.core.numbers import same_content
from tildone.core.plan import Plan
from tildone.core.query import TaskInPhase, open_tasks
from tildone.dialects.base import Dialect, Reply, Tool
from tildone.dialects.phased import DIALECT as PHASED
from tildone.dialects.phased.entries import SNAPSHOT, phases_in, phases_out
from tildone.dialects.phased.words import edit_reminder, reminder
from tildone.extensions.clipboard import copy_to_clipboard
from tildone.extensions.phased.clearing import AutoClear
from tildone.extensions.phased.conversation_plan import ConversationPlan
from tildone.extensions.phased.failures import failure_reminder, failure_warning, first_text
from tildone.extensions.phased.settings import PhasedSettings
from tildone.extensions.phased.todo import DESCRIPTION, NAME, Copy, TodoCommand
from tildone.extensions.request_bounds import GO_ON
from tildone.extensions.restoring import OpenSession, records_of_plan
from tildone.extensions.skeleton import DialectExtension
from tildone.extensions.tools import with_refusals
from tildone.host.content import TextBlock
from tildone.host.events import ToolExecutionEnd
from tildone.host.extension_api import ExtensionAPI
from tildone.host.extension_context import ExtensionContext
from tildone.host.extension_events import (
    AgentStartReply,
    BeforeAgentStart,
    BeforeSettle,
    BranchChange,
    ConversationEnd,
    ConversationStart,
    KeepGoing,
    ToolResultReady,
)
from tildone.host.messages import CustomMessage, DeveloperMessage, StopReason, last_answer, tool_calls
from tildone.host.queues import Delivery
from tildone.kit.components import Component, RenderContext, RenderOptions, Text
from tildone.kit.definition import ToolDefinition, ToolResult
from tildone.kit.theme import THEME, Theme
from tildone.log.events import Bound, Directive
from tildone.session import Session
from tildone.views import phase_tree
from tildone.views.bounds import describe_bound

(TODO_WRITE,) = PHASED.tools

PANEL = "todos"
FAILURE_TYPE = "todo-write-error-reminder"
EDIT_TYPE = "todo-changed-elsewhere"


def phases(
    open_session: OpenSession,
    settings: PhasedSettings = PhasedSettings(),  # noqa: B008  frozen
    copy: Copy = copy_to_clipboard,
    dialect: Dialect = PHASED,
) -> Callable[[ExtensionAPI], None]:
    """Return the extension; `open_session` opens the plan's session, given the id of a conversation."""
    return lambda api: PhasedExtension(api, open_session, settings, copy, dialect).register()


class PhasedExtension(DialectExtension):
    """The phases of one host."""

    def __init__(
        self,
        api: ExtensionAPI,
        open_session: OpenSession,
        settings: PhasedSettings,
        copy: Copy = copy_to_clipboard,
        dialect: Dialect = PHASED,
    ) -> None:
        super().__init__(api, dialect, open_session)
        self.settings = settings
        self.conversation_plan = ConversationPlan(open_session)
        self.clearing = AutoClear(self.conversation_plan, self.tasks_cleared)
        self.command = TodoCommand(api, self.conversation_plan, copy, self.changed)
        self._reminder_count = 0
        self._own_details: object = None

    def register(self) -> None:
        """Register with the host. If phases are disabled, results of another `todo_write` still count."""
        self.follow_conversation()
        self.api.on(ConversationEnd, lambda *_: self.clearing.forget())
        self.api.on(ToolResultReady, self.process_result)
        if self.settings.enabled:
            self.register_tools()
            self.register_hooks()

    def definition(self, tool: Tool) -> ToolDefinition:
        return self.define(
            tool,
            render_call=lambda args: Text(phase_tree.write_call(args)),
            render_result=render_result,
            discoverable=True,
            inherit=False,
            merged=True,
        )

    @property
    def session(self) -> Session:
        """The session of the plan, for the open conversation."""
        return self.conversation_plan.session

    def register_hooks(self) -> None:
        """Register `/todo`, and the handlers of tool results and turn events."""
        self.api.register_command(NAME, DESCRIPTION, self.command.run)
        self.api.on(ToolExecutionEnd, self.show_result)
        self.api.on(BeforeAgentStart, self.add_context)
        self.api.on(BeforeSettle, self.nudge)

    def open(self, ctx: ExtensionContext) -> Session:
        """Open the session of a shared plan."""
        return self.conversation_plan.open_shared(ctx.conversation.id, records_of_plan(ctx.conversation))

    def restore(self, plan: Plan) -> None:
        """Replace the plan with one that the conversation contains."""
        self.conversation_plan.adopt(plan)

    def conversation_opened(self, event: ConversationStart, ctx: ExtensionContext) -> None:
        """Restore the plan of the conversation, without its finished tasks; a shared plan keeps them."""
        self.clearing.forget()
        shared = self.conversation_plan.is_shared(ctx.conversation.id)
        self.clearing.delay_ms = self.settings.clear_delay_ms(shared=shared)
        if shared:
            super().conversation_opened(event, ctx)
        else:
            self.conversation_plan.open(ctx.conversation.id, records_of_plan(ctx.conversation))
        self._show_panel(self.conversation_plan.plan, ctx)

    def branch_chosen(self, event: BranchChange, ctx: ExtensionContext) -> None:
        """Restore the plan at this point of the conversation, without its finished tasks; a shared plan keeps them."""
        self.clearing.forget()
        if self.conversation_plan.is_shared(ctx.conversation.id):
            super().branch_chosen(event, ctx)
        else:
            self.conversation_plan.change_branch(records_of_plan(ctx.conversation))
        self._show_panel(self.conversation_plan.plan, ctx)

    def show_status(self, ctx: ExtensionContext) -> None:
        """Nothing to do: the panel shows the progress."""

    def changes_reported(self) -> None:
        """Record in the conversation that the model knows the plan as it is now."""
        plan = self.conversation_plan.mark_seen()
        self.api.append_entry(SNAPSHOT, {"phases": phases_out(plan)})

    def execute(self, session: Session, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Execute a model's call.

        `recover` ignores the result of a call with an invalid op, so the changes of its valid ops are written to the
        conversation as a snapshot.
        """
        before = self.conversation_plan.plan
        reply = self.conversation_plan.call(session, tool, params)
        self._own_details = reply.details
        if reply.is_error and not same_content(phases_in(reply.details["phases"]), before):
            self.api.append_entry(SNAPSHOT, {"phases": reply.details["phases"]})
        self.clearing.plan_changed(ctx)
        return reply

    def process_result(self, event: ToolResultReady, ctx: ExtensionContext) -> None:
        """Report a failed `todo_write` to the model; adopt the plan from a result of another extension."""
        if event.tool_name != TODO_WRITE.name:
            return
        result = event.result
        if event.is_error:
            self._report_failure(result)
            return
        plan = plan_in(result.details)
        if plan is not None and result.details is not self._own_details:
            self.conversation_plan.adopt(plan)
            self.clearing.plan_changed(ctx)

    def show_result(self, event: ToolExecutionEnd, ctx: ExtensionContext) -> None:
        """Update the panel after a success, or warn the person of a failure."""
        if event.tool_name != TODO_WRITE.name:
            return
        if event.is_error:
            ctx.ui.notify(failure_warning(event.result), "warning")
            return
        plan = plan_in(event.result.details)
        if plan is not None:
            self._show_panel(plan, ctx)

    def add_context(self, _event: BeforeAgentStart, _ctx: ExtensionContext) -> AgentStartReply | None:
        """Reset the count of reminders, and report the plan to the model if it was changed elsewhere."""
        self._reminder_count = 0
        self._shown = self.conversation_plan.plan
        if not self.conversation_plan.model_is_behind():
            return None
        plan = self.conversation_plan.mark_seen()
        self.api.append_entry(SNAPSHOT, {"phases": phases_out(plan)})
        return AgentStartReply(CustomMessage(EDIT_TYPE, edit_reminder(plan)))

    def nudge(self, event: BeforeSettle, ctx: ExtensionContext) -> KeepGoing | None:
        """Remind an agent that stops with open tasks, a limited number of times per prompt."""
        plan = self.conversation_plan.plan
        remaining = [task for _, task in open_tasks(plan)]
        if not remaining:
            self._reminder_count = 0
            return None
        disabled = not self.settings.reminders or self.conversation_plan.session.state.directive is not Directive.GO
        limit = 0 if disabled else self.settings.reminders_max
        if not limit or not _stopped_by_itself(event):
            return None
        if self._reminder_count >= limit:
            self.conversation_plan.session.let_go(Bound.TOTAL, limit)
            ctx.ui.notify(f"Not continued: {describe_bound(Bound.TOTAL, limit)}. {GO_ON}", "warning")
            return None
        self._reminder_count += 1
        todos = [{"content": task.text, "status": task.status.value} for task in remaining]
        self.api.publish("todo_reminder", todos=todos, attempt=self._reminder_count, maxAttempts=limit)
        content = (TextBlock(reminder(plan, self._reminder_count, limit)),)
        return KeepGoing([DeveloperMessage(content, attribution="agent")])

    def changed(self, ctx: ExtensionContext) -> None:
        """Update the panel and the schedule after a person's change."""
        self.clearing.plan_changed(ctx)
        self._show_panel(self.conversation_plan.plan, ctx)

    def tasks_cleared(self, tasks: Sequence[TaskInPhase], ctx: ExtensionContext) -> None:
        """Publish an event for each finished task that was cleared."""
        for entry in tasks:
            self.api.publish("todo_auto_clear", phase=entry.phase, content=entry.task.text)
        self._show_panel(self.conversation_plan.plan, ctx)

    def _report_failure(self, result: ToolResult) -> None:
        details: dict[str, Any] = {"toolName": TODO_WRITE.name}
        why = first_text(result)
        if why is not None:
            details["errorText"] = why
        content = failure_reminder(why or "")
        self.api.send_message(CustomMessage(FAILURE_TYPE, content, details=details), deliver_as=Delivery.NEXT_TURN)

    def _show_panel(self, plan: Plan, ctx: ExtensionContext) -> None:
        if ctx.has_ui and self.settings.enabled:
            ctx.ui.set_widget(PANEL, phase_tree.panel(plan), "aboveEditor")


def render_result(
    result: ToolResult, options: RenderOptions, _theme: Theme = THEME, context: RenderContext | None = None
) -> Component | None:
    """Render a result with the ops of its call, which it replaces on the screen."""
    if options.is_partial:
        return None
    plan, args = plan_in(result.details) or Plan(), context and context.args
    if options.is_error:
        return Text(phase_tree.failure(plan, first_text(result), args, expanded=options.expanded))
    tree = phase_tree.result(plan, first_text(result), args, expanded=options.expanded, refused=result.failed)
    return with_refusals(Text(tree), result)


def plan_in(details: object) -> Plan | None:
    if not isinstance(details, Mapping):
        return None
    try:
        return phases_in(details.get("phases"))
    except ValueError:
        return None


def _stopped_by_itself(event: BeforeSettle) -> bool:
    """Return whether the agent ended its turn itself: no abort, no failure, no pending tool call."""
    if event.stop_reason in {StopReason.ABORTED, StopReason.ERROR}:
        return False
    last = last_answer(event.messages)
    return last is None or not tool_calls(last)


def from_settings(
    dialect: Dialect, open_session: OpenSession, settings: Configuration
) -> Callable[[ExtensionAPI], None]:
    """Return the extension for `tildone run`."""
    limit = {} if settings.max_nudges is None else {"todo.reminders.max": settings.max_nudges}
    return phases(open_session, PhasedSettings.from_mapping(dict(settings.phases) | limit), dialect=dialect)


EXTENSION = from_settings
