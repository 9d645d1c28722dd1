"""Phases in a host: `todo_write`, a panel, `/todo`, reminders, and finished tasks that leave by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tildone.commands import edit_reminder
from tildone.core.plan import Plan
from tildone.core.query import TaskInPhase, open_tasks
from tildone.dialects.base import Reply, Tool
from tildone.dialects.phased import DIALECT as PHASED
from tildone.dialects.phased.entries import SNAPSHOT, phases_in, phases_out
from tildone.dialects.phased.words import reminder
from tildone.extensions.clipboard import copied
from tildone.extensions.memory import OpenSession
from tildone.extensions.phased.clearing import SelfClearing
from tildone.extensions.phased.notebook import Notebook
from tildone.extensions.phased.settings import Settings
from tildone.extensions.phased.todo import DESCRIPTION, NAME, Copy, TodoCommand
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
from tildone.kit.definition import TextContent, ToolResult
from tildone.log.events import Directive
from tildone.views import phase_tree
from tildone.views.sanitize import escape_reminder_tags, printable

(TODO_WRITE,) = PHASED.tools

PANEL = "todos"
FAILED = "todo-write-error-reminder"
NEWS = "todo-changed-elsewhere"
LINE = "\n"


def phases(
    open_session: OpenSession,
    settings: Settings = Settings(),  # noqa: B008  frozen
    copy: Copy = copied,
) -> Callable[[ExtensionAPI], None]:
    """The extension, keeping its plan in the session that `open_session` gives for a conversation's id."""
    return lambda api: Phases(api, open_session, settings, copy).plug_in()


class Phases:
    """One host's phases."""

    def __init__(self, api: ExtensionAPI, open_session: OpenSession, settings: Settings, copy: Copy = copied) -> None:
        self.api = api
        self.settings = settings
        self.notebook = Notebook(open_session)
        self.clearing = SelfClearing(self.notebook, settings.clear_delay_ms, self.gone)
        self.command = TodoCommand(api, self.notebook, copy, self.changed)
        self._reminded = 0
        self._own: object = None

    def plug_in(self) -> None:
        """Tool, command and handlers. Where phases are not wanted, results of another `todo_write` still count."""
        self.api.on(ConversationStart, self.read_again)
        self.api.on(BranchChange, self.turn_to)
        self.api.on(ConversationEnd, lambda *_: self.clearing.forget())
        self.api.on(ToolResultReady, self.take_over)
        if not self.settings.enabled:
            return
        self.api.register_tool(
            definition(
                TODO_WRITE,
                self.carry_out,
                PHASED.refuse,
                render_call=lambda args: Text(phase_tree.write_call(args)),
                render_result=shown,
                discoverable=True,
                inherit=False,
                merged=True,
            )
        )
        self.api.register_command(NAME, DESCRIPTION, self.command.run)
        self.api.on(ToolExecutionEnd, self.show_result)
        self.api.on(BeforeAgentStart, self.begin)
        self.api.on(BeforeSettle, self.remind)

    def read_again(self, _event: ConversationStart, ctx: ExtensionContext) -> None:
        """Another conversation: the plan is what that remembers, without what was finished."""
        self.clearing.forget()
        self.notebook.open(ctx.conversation.id, ctx.conversation.branch_records())
        self._show(self.notebook.plan, ctx)

    def turn_to(self, _event: BranchChange, ctx: ExtensionContext) -> None:
        """Another branch of the conversation, the same way."""
        self.clearing.forget()
        self.notebook.turn_to(ctx.conversation.branch_records())
        self._show(self.notebook.plan, ctx)

    def carry_out(self, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """A model's call. What a call with one bad op has changed is written down: its result does not count."""
        before = self.notebook.plan
        reply = self.notebook.call(tool, params)
        self._own = reply.details
        if reply.is_error and phases_in(reply.details["phases"]) != before:
            self.api.append_entry(SNAPSHOT, {"phases": reply.details["phases"]})
        self.clearing.plan_changed(ctx)
        return reply

    def take_over(self, event: ToolResultReady, ctx: ExtensionContext) -> None:
        """A result of `todo_write`: a failed one is told of again, a good one that is not ours becomes the plan."""
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
        """The panel follows what succeeded; of what failed the person is told."""
        if event.tool_name != TODO_WRITE.name:
            return
        if event.is_error:
            ctx.ui.notify(failure_warning(event.result), "warning")
            return
        plan = plan_in(event.result.details)
        if plan is not None:
            self._show(plan, ctx)

    def begin(self, _event: BeforeAgentStart, _ctx: ExtensionContext) -> AgentStartReply | None:
        """A new prompt: reminders start again, and the model hears of a plan that was changed behind its back."""
        self._reminded = 0
        if not self.notebook.unheard():
            return None
        plan = self.notebook.heard()
        self.api.append_entry(SNAPSHOT, {"phases": phases_out(plan)})
        return AgentStartReply(CustomMessage(NEWS, edit_reminder(plan)))

    def remind(self, event: BeforeSettle, _ctx: ExtensionContext) -> KeepGoing | None:
        """An agent that stops with something left to do is told so, a few times."""
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
        """The person has changed the plan."""
        self.clearing.plan_changed(ctx)
        self._show(self.notebook.plan, ctx)

    def gone(self, tasks: Sequence[TaskInPhase], ctx: ExtensionContext) -> None:
        """Finished tasks have left the plan."""
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
    """A result in a transcript, in place of the call it belongs to."""
    if options.is_partial:
        return None
    plan = plan_in(result.details) or Plan()
    draw = phase_tree.failure if options.is_error else phase_tree.result
    return Text(draw(plan, first_text(result), expanded=options.expanded))


def plan_in(details: object) -> Plan | None:
    """The plan that a result tells of, if it tells of one."""
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
    """What tells the person that an update did not get through: why, in a line."""
    texts = [block.text for block in result.content if isinstance(block, TextContent) and block.text]
    why = texts[0] if texts else "no reason given"
    return f"Todo update failed, the list may be out of date: {printable(why.partition(LINE)[0])}"


def failure_reminder(why: str) -> str:
    """What tells the model, a turn later, that its update did not get through."""
    because = f": {escape_reminder_tags(why)}" if why else "."
    return (
        f"<system-reminder>\nA todo_write failed{because}\n"
        "The user does not see its progress until a call succeeds: put it right.\n</system-reminder>"
    )


def _stopped_by_itself(event: BeforeSettle) -> bool:
    """Whether the agent had nothing more to say: nobody stopped it, nothing failed, and no call is open."""
    if event.stop_reason in {StopReason.ABORTED, StopReason.ERROR}:
        return False
    last = last_answer(event.messages)
    return last is None or not tool_calls(last)
