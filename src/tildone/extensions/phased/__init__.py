"""Phases in a host: `todo_write`, a panel, `/todo`, reminders, and the clearing of finished tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tildone.commands import edit_reminder
from tildone.config import Settings as Configuration
from tildone.core.plan import Plan
from tildone.core.query import TaskInPhase, open_tasks
from tildone.dialects.base import Dialect, Reply, Tool
from tildone.dialects.phased import DIALECT as PHASED
from tildone.dialects.phased.entries import SNAPSHOT, phases_in, phases_out
from tildone.dialects.phased.words import reminder
from tildone.extensions.clipboard import copy_to_clipboard
from tildone.extensions.phased.clearing import AutoClear
from tildone.extensions.phased.conversation_plan import ConversationPlan
from tildone.extensions.phased.settings import PhasedSettings
from tildone.extensions.phased.todo import DESCRIPTION, NAME, Copy, TodoCommand
from tildone.extensions.restoring import OpenSession
from tildone.extensions.skeleton import DialectExtension
from tildone.extensions.tools import definition
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
from tildone.host.runtime import Delivery
from tildone.kit.components import Component, RenderOptions, Text
from tildone.kit.definition import TextContent, ToolDefinition, ToolResult
from tildone.log.events import Directive
from tildone.session import Session
from tildone.views import phase_tree
from tildone.views.sanitize import escape_reminder_tags, printable

(TODO_WRITE,) = PHASED.tools

PANEL = "todos"
FAILED = "todo-write-error-reminder"
NEWS = "todo-changed-elsewhere"
LINE = "\n"


def phases(
    open_session: OpenSession,
    settings: PhasedSettings = PhasedSettings(),  # noqa: B008  frozen
    copy: Copy = copy_to_clipboard,
) -> Callable[[ExtensionAPI], None]:
    """The extension; `open_session` opens the plan's session for a conversation's id."""
    return lambda api: PhasedExtension(api, open_session, settings, copy).register()


class PhasedExtension(DialectExtension):
    """One host's phases."""

    def __init__(
        self, api: ExtensionAPI, open_session: OpenSession, settings: PhasedSettings, copy: Copy = copy_to_clipboard
    ) -> None:
        super().__init__(api, PHASED, open_session)
        self.settings = settings
        self.notebook = ConversationPlan(open_session)
        self.clearing = AutoClear(self.notebook, settings.clear_delay_ms, self.gone)
        self.command = TodoCommand(api, self.notebook, copy, self.changed)
        self._reminded = 0
        self._own: object = None

    def register(self) -> None:
        """Register with the host. Where phases are disabled, results of another `todo_write` still count."""
        self.follow_conversation()
        self.api.on(ConversationEnd, lambda *_: self.clearing.forget())
        self.api.on(ToolResultReady, self.take_over)
        if self.settings.enabled:
            self.register_tools()
            self.register_hooks()

    def definition(self, tool: Tool) -> ToolDefinition:
        """The tool with its renderers."""
        return definition(
            tool,
            self.execute,
            PHASED.refuse,
            render_call=lambda args: Text(phase_tree.write_call(args)),
            render_result=shown,
            discoverable=True,
            inherit=False,
            merged=True,
        )

    @property
    def session(self) -> Session:
        """The plan's session: that of the open conversation."""
        return self.notebook.session

    def register_hooks(self) -> None:
        """Register `/todo`, the panel, and what happens around a turn."""
        self.api.register_command(NAME, DESCRIPTION, self.command.run)
        self.api.on(ToolExecutionEnd, self.show_result)
        self.api.on(BeforeAgentStart, self.add_context)
        self.api.on(BeforeSettle, self.nudge)

    def conversation_opened(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        """Restore the plan of the conversation, without its finished tasks."""
        self.clearing.forget()
        self.notebook.open(ctx.conversation.id, ctx.conversation.branch_records())
        self._show(self.notebook.plan, ctx)

    def branch_chosen(self, _event: BranchChange, ctx: ExtensionContext) -> None:
        """Restore the plan of this point of the conversation, without its finished tasks."""
        self.clearing.forget()
        self.notebook.turn_to(ctx.conversation.branch_records())
        self._show(self.notebook.plan, ctx)

    def execute(self, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Carry out a model's call.

        The result of a call with a bad op does not count as state, so what its good ops changed is written to the
        conversation as a snapshot.
        """
        before = self.notebook.plan
        reply = self.notebook.call(tool, params)
        self._own = reply.details
        if reply.is_error and phases_in(reply.details["phases"]) != before:
            self.api.append_entry(SNAPSHOT, {"phases": reply.details["phases"]})
        self.clearing.plan_changed(ctx)
        return reply

    def take_over(self, event: ToolResultReady, ctx: ExtensionContext) -> None:
        """Repeat a failure of `todo_write` to the model; take over the plan of a result that is not ours."""
        if event.tool_name != TODO_WRITE.name:
            return
        result = event.result
        if event.is_error:
            self._remember_failure(result)
            return
        plan = plan_in(result.details)
        if plan is not None and result.details is not self._own:
            self.notebook.keep(plan)
            self.clearing.plan_changed(ctx)

    def show_result(self, event: ToolExecutionEnd, ctx: ExtensionContext) -> None:
        """Update the panel after a success, and warn the person of a failure."""
        if event.tool_name != TODO_WRITE.name:
            return
        if event.is_error:
            ctx.ui.notify(failure_warning(event.result), "warning")
            return
        plan = plan_in(event.result.details)
        if plan is not None:
            self._show(plan, ctx)

    def add_context(self, _event: BeforeAgentStart, _ctx: ExtensionContext) -> AgentStartReply | None:
        """Begin a prompt: reminders start again, and the model reads the plan if it was changed elsewhere."""
        self._reminded = 0
        if not self.notebook.unheard():
            return None
        plan = self.notebook.heard()
        self.api.append_entry(SNAPSHOT, {"phases": phases_out(plan)})
        return AgentStartReply(CustomMessage(NEWS, edit_reminder(plan)))

    def nudge(self, event: BeforeSettle, _ctx: ExtensionContext) -> KeepGoing | None:
        """Remind an agent that stops with work left, a few times per prompt."""
        plan = self.notebook.plan
        todo = [task for _, task in open_tasks(plan)]
        if not todo:
            self._reminded = 0
            return None
        left_alone = not self.settings.reminders or self.notebook.session.state.directive is not Directive.GO
        limit = 0 if left_alone else self.settings.reminders_max
        if self._reminded >= limit or not _stopped_by_itself(event):
            return None
        self._reminded += 1
        told = [{"content": task.text, "status": task.status.value} for task in todo]
        self.api.publish("todo_reminder", todos=told, attempt=self._reminded, maxAttempts=limit)
        content = (TextBlock(reminder(plan, self._reminded, limit)),)
        return KeepGoing([DeveloperMessage(content, attribution="agent")])

    def changed(self, ctx: ExtensionContext) -> None:
        """Follow a change that the person made."""
        self.clearing.plan_changed(ctx)
        self._show(self.notebook.plan, ctx)

    def gone(self, tasks: Sequence[TaskInPhase], ctx: ExtensionContext) -> None:
        """Tell listeners which finished tasks were cleared."""
        for found in tasks:
            self.api.publish("todo_auto_clear", phase=found.phase, content=found.task.text)
        self._show(self.notebook.plan, ctx)

    def _remember_failure(self, result: ToolResult) -> None:
        details: dict[str, Any] = {"toolName": TODO_WRITE.name}
        why = first_text(result)
        if why is not None:
            details["errorText"] = why
        content = failure_reminder(why or "")
        self.api.send_message(CustomMessage(FAILED, content, details=details), deliver_as=Delivery.NEXT_TURN)

    def _show(self, plan: Plan, ctx: ExtensionContext) -> None:
        if ctx.has_ui and self.settings.enabled:
            ctx.ui.set_widget(PANEL, phase_tree.panel(plan), "aboveEditor")


def shown(result: ToolResult, options: RenderOptions) -> Component | None:
    """How a result is drawn, in place of its call."""
    if options.is_partial:
        return None
    plan = plan_in(result.details) or Plan()
    draw = phase_tree.failure if options.is_error else phase_tree.result
    return Text(draw(plan, first_text(result), expanded=options.expanded))


def plan_in(details: object) -> Plan | None:
    """The plan in the details of a result, if there is one."""
    if not isinstance(details, Mapping):
        return None
    try:
        return phases_in(details.get("phases"))
    except ValueError:
        return None


def first_text(result: ToolResult) -> str | None:
    """The first text of a result."""
    return next((block.text for block in result.content if isinstance(block, TextContent)), None)


def failure_warning(result: ToolResult) -> str:
    """Warns the person that an update failed, and why, in one line."""
    texts = [block.text for block in result.content if isinstance(block, TextContent) and block.text]
    why = texts[0] if texts else "no reason given"
    return f"Todo update failed, the list may be out of date: {printable(why.partition(LINE)[0])}"


def failure_reminder(why: str) -> str:
    """Tells the model, a turn later, that its update failed."""
    because = f": {escape_reminder_tags(why)}" if why else "."
    return (
        f"<system-reminder>\nA todo_write failed{because}\n"
        "The user does not see its progress until a call succeeds: put it right.\n</system-reminder>"
    )


def _stopped_by_itself(event: BeforeSettle) -> bool:
    """Whether the agent ended its turn itself: no abort, no failure, no tool call pending."""
    if event.stop_reason in {StopReason.ABORTED, StopReason.ERROR}:
        return False
    last = last_answer(event.messages)
    return last is None or not tool_calls(last)


def from_settings(
    _dialect: Dialect, open_session: OpenSession, settings: Configuration
) -> Callable[[ExtensionAPI], None]:
    """The extension as `tildone run` loads it."""
    limit = {} if settings.max_nudges is None else {"todo.reminders.max": settings.max_nudges}
    return phases(open_session, PhasedSettings.from_mapping(dict(settings.phases) | limit))


EXTENSION = from_settings
