"""The `phased` dialect in a host: `todo_write`, a panel, `/todo`, reminders, and the clearing of finished tasks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tildone.app import commands
from tildone.app.settings import Settings as Configuration
from tildone.app.slash import FILE, after_request, command, request_failed
from tildone.base import Refused, StoreError, UsageError, replace, value
from tildone.base.desktop import copy_to_clipboard
from tildone.base.private import REPLACED, open_shared, real_path_inside
from tildone.log.session import Session
from tildone.plan.changing import ClearResult, Schedule, clear_due, next_due, schedule, without_unproved
from tildone.plan.dialects import Dialect, Reply, Tool
from tildone.plan.dialects.phased import DIALECT as PHASED
from tildone.plan.dialects.phased import EDIT, SNAPSHOT, edit_reminder, phases_in, phases_out, reminder, resumed
from tildone.plan.events import Actor, Bound, Directive
from tildone.plan.formats.markdown_reader import read_checklist
from tildone.plan.model import Plan, Rules, TaskInPhase, open_tasks, same_content
from tildone.plan.ops import Write
from tildone.plan.reduce import Outcome, Step
from tildone.plan.text import phases as phase_tree
from tildone.plan.text.amounts import describe_bound
from tildone.plan.text.faults import describe_fault
from tildone.plan.text.safe import clipped, printable
from tildone.plan.text.safe import reminder as as_reminder
from tildone.plan.text.styles import THEME, Theme
from tildone.run import extension
from tildone.run.events import ToolExecutionEnd
from tildone.run.extensions.skeleton import (
    GO_ON,
    NO_RULES,
    DialectExtension,
    OpenSession,
    records_of_plan,
    store_is_ahead,
    with_refusals,
)
from tildone.run.host import ExtensionAPI, ExtensionContext
from tildone.run.kit.components import Component, RenderContext, RenderOptions, Text
from tildone.run.kit.defaults import told_spans
from tildone.run.kit.definition import TextContent, ToolDefinition, ToolResult
from tildone.run.messages import CustomMessage, DeveloperMessage, StopReason, TextBlock, last_answer, tool_calls
from tildone.run.turn_loop import Delivery

Entries = Sequence[Mapping[str, Any]]


class ConversationPlan:
    """The plan of one conversation.

    Other processes may change it in the store; `model_is_behind` reports whether the model has yet to see a change.
    """

    def __init__(self, open_session: OpenSession) -> None:
        self._open_session = open_session
        self._session: Session | None = None
        self._known = Plan()

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = self._open_session("")
        return self._session

    @property
    def plan(self) -> Plan:
        return self.session.plan

    def open(self, conversation: str, branch: Entries) -> None:
        """Open the plan of a conversation, without its finished tasks.

        If the conversation contains no plan, or the store's plan is newer, the store's plan is used and the model has
        yet to see it. Otherwise the conversation's plan is used.
        """
        self._session = self._open_session(conversation)
        last_plan = PHASED.recover(branch)
        store_ahead = store_is_ahead(self._session, last_plan)
        self.adopt(resumed(self.plan if store_ahead or last_plan is None else last_plan))
        if store_ahead:
            self._known = resumed(last_plan or Plan())

    def is_shared(self, conversation: str) -> bool:
        return self._open_session(conversation).name != conversation

    def open_shared(self, conversation: str, branch: Entries) -> Session:
        """Open a plan that others share, with its finished tasks. The model knows the plan in the conversation."""
        self._session = self._open_session(conversation)
        self._known = PHASED.recover(branch) or Plan()
        return self._session

    def change_branch(self, branch: Entries) -> None:
        self.adopt(resumed(PHASED.recover(branch) or Plan()))

    def adopt(self, plan: Plan) -> None:
        """Replace the plan, without checking it, by one that the model has seen."""
        if not same_content(plan, self.plan):
            self.session.change((Write(plan.phases),), Actor.IMPORT, NO_RULES)
        self._known = self.plan

    def latest(self, branch: Entries) -> Plan:
        """Return the plan to show to a person: the last recorded one, with tasks that were cleared since."""
        if self.model_is_behind():
            return self.plan
        recorded = PHASED.recover(branch)
        return recorded if recorded and recorded.phases else self.plan

    def model_is_behind(self) -> bool:
        """Return whether the plan was changed elsewhere and the model has not seen the change."""
        return not same_content(self.plan, self._known)

    def mark_seen(self) -> Plan:
        self._known = self.plan
        return self._known

    def call(self, session: Session, tool: Tool, params: Mapping[str, Any]) -> Reply:
        reply = session.execute(tool, params)
        self._known = phases_in(reply.details["phases"])
        return reply

    def edit(self, base: Plan, steps: Sequence[Step], rules: Rules) -> Outcome:
        """Apply a person's changes to `base`, the plan that the person was shown.

        If the plan is changed meanwhile, they are applied to the changed plan, so that no change is overwritten.
        """
        current = self.plan
        outcome = self.session.change(
            lambda plan: (Write(base.phases), *steps) if plan == current else steps, Actor.USER, rules
        )
        self._known = outcome.after
        return outcome

    def clear(self, scheduled: Schedule, now: int) -> ClearResult:
        """Remove the finished tasks that are due from the current plan, unless their checks have to pass again."""
        scheduled = without_unproved(scheduled, self.plan, self.session.stale)
        outcome = self.session.change(
            lambda plan: (Write(clear_due(plan, scheduled, now).plan.phases),), Actor.TIMER, NO_RULES
        )
        self._known = clear_due(self._known, scheduled, now).plan
        return clear_due(outcome.before, scheduled, now)


RETRY_MS = 5_000

ReportCleared = Callable[[Sequence[TaskInPhase], ExtensionContext], None]


class AutoClear:
    """Clears finished tasks from a conversation's plan after `delay_ms`, and reports which ones."""

    def __init__(self, conversation_plan: ConversationPlan, report: ReportCleared) -> None:
        self._conversation_plan = conversation_plan
        self.delay_ms = -1
        self._report = report
        self._schedule = Schedule()
        self._cancel_timer: Callable[[], None] | None = None

    def plan_changed(self, ctx: ExtensionContext) -> None:
        self._schedule = schedule(self._conversation_plan.plan, self._schedule, ctx.now(), self.delay_ms)
        self._start_timer(ctx)

    def forget(self) -> None:
        self._schedule = Schedule()
        self._stop_timer()

    def _start_timer(self, ctx: ExtensionContext) -> None:
        self._stop_timer()
        due = next_due(self._schedule)
        if due is not None:
            self._cancel_timer = ctx.after(max(0, due - ctx.now()), lambda: self._clear(ctx))

    def _clear(self, ctx: ExtensionContext) -> None:
        self._cancel_timer = None
        try:
            cleared = self._conversation_plan.clear(self._schedule, ctx.now())
        except StoreError:
            # There is no caller to report the error to: retry until the store is available.
            self._cancel_timer = ctx.after(RETRY_MS, lambda: self._clear(ctx))
            return
        self._schedule = cleared.schedule
        self._start_timer(ctx)
        if cleared.removed:
            self._report(cleared.removed, ctx)

    def _stop_timer(self) -> None:
        if self._cancel_timer is not None:
            self._cancel_timer()
        self._cancel_timer = None


def first_text(result: ToolResult) -> str | None:
    return next((block.text for block in result.content if isinstance(block, TextContent)), None)


CLEAR_DELAY = "tasks.todoClearDelay"
NEVER, DEFAULT_SECONDS = -1, 60


@value
class PhasedSettings:
    """Settings of the phased dialect in a host.

    Unless `enabled`, there is neither a tool nor a command. `reminders_max` limits the reminders per prompt to an agent
    that stops with open tasks. A finished task is cleared after `clear_delay` seconds: immediately if that is 0, never
    if it is negative. By default, a minute in a conversation's own list, and never in a plan that others share.
    """

    enabled: bool = True
    reminders: bool = True
    reminders_max: int = 3
    clear_delay: float | None = None

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> PhasedSettings:
        """Read settings from a mapping by their public names; other keys are ignored."""
        default = cls()
        return cls(
            enabled=_flag(settings, "todo.enabled", default.enabled),
            reminders=_flag(settings, "todo.reminders", default.reminders),
            reminders_max=int(_number(settings, "todo.reminders.max", default.reminders_max)),
            clear_delay=_number(settings, CLEAR_DELAY, 0) if CLEAR_DELAY in settings else None,
        )

    def clear_delay_ms(self, *, shared: bool) -> int:
        default = NEVER if shared else DEFAULT_SECONDS
        return int((default if self.clear_delay is None else self.clear_delay) * 1000)


def _flag(settings: Mapping[str, Any], name: str, default: object) -> bool:
    given = settings.get(name, default)
    if isinstance(given, bool):
        return given
    raise UsageError(f"{name} must be true or false")


def _number(settings: Mapping[str, Any], name: str, default: float) -> float:
    given = settings.get(name, default)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given
    raise UsageError(f"{name} must be a number")


Copy = Callable[[str], bool]

NAME = "todo"
DESCRIPTION = "Show or change the plan; /todo help tells how"
NOTIFICATION_KINDS = {commands.Level.STATUS: "info", commands.Level.WARNING: "warning", commands.Level.ERROR: "error"}

EDITOR_TITLE = "The plan, as Markdown"
CONFLICT_TITLE = "The plan changed while you edited it: what you save now takes its place"


class TodoCommand:
    """The `/todo` command of one host. `changed` is called after the person has changed the plan."""

    def __init__(
        self,
        api: ExtensionAPI,
        conversation_plan: ConversationPlan,
        copy: Copy,
        changed: Callable[[ExtensionContext], None],
    ) -> None:
        self._api = api
        self._conversation_plan = conversation_plan
        self.copy = copy
        self._changed = changed

    async def run(self, typed: str, ctx: ExtensionContext) -> None:
        base = self._latest(ctx)
        answer = command(typed, base)
        match answer.request:
            case commands.OpenEditor() as request:
                base, answer = await self._edit(request, base, ctx)
            case commands.CopyText(text) as request:
                copied = await asyncio.to_thread(self.copy, text)
                answer = (
                    after_request(request)
                    if copied
                    else request_failed(request, "no clipboard can be reached from here")
                )
            case commands.WriteFile() as request:
                answer = _write_file(request, ctx.cwd)
            case commands.ReadFile() as request:
                answer = _read_file(request, ctx.cwd)
            case None:  # exhaustive
                pass
        for message in self._commit(base, answer, ctx):
            ctx.ui.notify(message.text, NOTIFICATION_KINDS[message.level])

    async def _edit(
        self, request: commands.OpenEditor, base: Plan, ctx: ExtensionContext
    ) -> tuple[Plan, commands.Answer]:
        """Let the person edit the plan; return the plan that is replaced, and the answer.

        The editor opens again if the text cannot be parsed and the person agrees, or if the plan was changed meanwhile,
        so that no change is lost.
        """
        title, draft = EDITOR_TITLE, request.text
        while True:
            typed = await ctx.ui.editor(title, draft)
            if typed is None:
                return base, request_failed(request, "the editor was closed without saving, or there is none")
            draft, answer = typed, after_request(request, typed.removesuffix("\n"))
            if answer.failure is commands.FailureReason.UNREADABLE:
                if not await ctx.ui.confirm("Edit it again?", answer.messages[0].text):
                    return base, answer
            elif base == (now := self._latest(ctx)):
                return base, answer
            else:
                title, base = CONFLICT_TITLE, now

    def _commit(self, base: Plan, answer: commands.Answer, ctx: ExtensionContext) -> tuple[commands.Message, ...]:
        """Apply the changes, record them in the conversation, report them to the model; return the messages to show."""
        if answer.steps is None:
            return answer.messages
        outcome = self._conversation_plan.edit(base, answer.steps, replace(answer.rules(PHASED.rules), atomic=True))
        if outcome.faults:
            return commands.refusal(
                commands.FailureReason.UNMATCHED, "; ".join(map(describe_fault, outcome.faults))
            ).messages
        self._api.append_entry(EDIT, {"phases": phases_out(outcome.after)})
        content = (TextBlock(edit_reminder(outcome.after)),)
        self._api.send_message(DeveloperMessage(content, attribution="user"))
        self._changed(ctx)
        return answer.messages

    def _latest(self, ctx: ExtensionContext) -> Plan:
        return self._conversation_plan.latest(records_of_plan(ctx.conversation))


def _write_file(request: commands.WriteFile, directory: str) -> commands.Answer:
    path = os.path.join(directory, request.path)
    try:
        if request.path == FILE:
            real_path_inside(directory, path)
        if not _is_replaceable(path):
            return request_failed(request, "it holds more than a checklist; name another file")
        with os.fdopen(open_shared(path, REPLACED), "wb") as file:
            file.write(request.text.encode())
    except Refused as error:
        return request_failed(request, str(error))
    except OSError as error:
        return request_failed(request, error.strerror or str(error))
    return after_request(request)


def _is_replaceable(path: str) -> bool:
    """Return whether the file can be overwritten without loss: it does not exist, or contains only a checklist."""
    try:
        with open(path, "rb") as file:
            return not read_checklist(file.read().decode("utf-8-sig")).problems
    except FileNotFoundError:
        return True
    except UnicodeDecodeError:
        return False


def _read_file(request: commands.ReadFile, directory: str) -> commands.Answer:
    try:
        with open(os.path.join(directory, request.path), "rb") as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        return request_failed(request, error.strerror or str(error))
    except UnicodeDecodeError:
        return request_failed(request, "it is not UTF-8 text")
    return after_request(request, text)


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
    return lambda api: PhasedExtension(api, open_session, settings, copy, dialect).register()


class PhasedExtension(DialectExtension):
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
        self._own_phases: object = None

    def register(self) -> None:
        """Register with the host. If phases are disabled, results of another `todo_write` still count."""
        self.follow_conversation()
        self.api.on(extension.ConversationEnd, lambda *_: self.clearing.forget())
        self.api.on(extension.ToolResultReady, self.process_result)
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
        return self.conversation_plan.session

    def register_hooks(self) -> None:
        self.api.register_command(NAME, DESCRIPTION, self.command.run)
        self.api.on(ToolExecutionEnd, self.show_result)
        self.api.on(extension.BeforeAgentStart, self.add_context)
        self.api.on(extension.BeforeSettle, self.nudge)

    def open(self, ctx: ExtensionContext) -> Session:
        return self.conversation_plan.open_shared(ctx.conversation.id, records_of_plan(ctx.conversation))

    def restore(self, plan: Plan) -> None:
        self.conversation_plan.adopt(plan)

    def conversation_opened(self, event: extension.ConversationStart, ctx: ExtensionContext) -> None:
        """Restore the plan of the conversation, without its finished tasks; a shared plan keeps them."""
        self.clearing.forget()
        shared = self.conversation_plan.is_shared(ctx.conversation.id)
        self.clearing.delay_ms = self.settings.clear_delay_ms(shared=shared)
        if shared:
            super().conversation_opened(event, ctx)
        else:
            self.conversation_plan.open(ctx.conversation.id, records_of_plan(ctx.conversation))
        self._show_panel(self.conversation_plan.plan, ctx)

    def branch_chosen(self, event: extension.BranchChange, ctx: ExtensionContext) -> None:
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
        plan = self.conversation_plan.mark_seen()
        self.api.append_entry(SNAPSHOT, {"phases": phases_out(plan)})

    def execute(self, session: Session, tool: Tool, params: dict[str, Any], ctx: ExtensionContext) -> Reply:
        """Execute a model's call.

        `recover` ignores the result of a call with an invalid op, so the changes of its valid ops are written to the
        conversation as a snapshot.
        """
        before = self.conversation_plan.plan
        reply = self.conversation_plan.call(session, tool, params)
        self._own_phases = reply.details.get("phases")
        if reply.is_error and not same_content(phases_in(reply.details["phases"]), before):
            self.api.append_entry(SNAPSHOT, {"phases": reply.details["phases"]})
        self.clearing.plan_changed(ctx)
        return reply

    def process_result(self, event: extension.ToolResultReady, ctx: ExtensionContext) -> None:
        """Report a failed `todo_write` to the model; adopt the plan from a result of another extension."""
        if event.tool_name != TODO_WRITE.name:
            return
        result = event.result
        if event.is_error:
            details: dict[str, Any] = {"toolName": TODO_WRITE.name}
            why = first_text(result)
            if why is not None:
                details["errorText"] = why
            failed = f"A todo_write failed: {clipped(why)}" if why else "A todo_write failed."
            content = as_reminder(f"{failed}\nThe user does not see its progress until a call succeeds: put it right.")
            self.api.send_message(CustomMessage(FAILURE_TYPE, content, details=details), deliver_as=Delivery.NEXT_TURN)
            return
        plan = plan_in(result.details)
        if plan is not None and _phases(result.details) is not self._own_phases:
            self.conversation_plan.adopt(plan)
            self.clearing.plan_changed(ctx)

    def show_result(self, event: ToolExecutionEnd, ctx: ExtensionContext) -> None:
        if event.tool_name != TODO_WRITE.name:
            return
        if event.is_error:
            blocks = event.result.content
            texts = [block.text for block in blocks if isinstance(block, TextContent) and block.text]
            why, _, _ = texts[0].partition("\n") if texts else ("no reason given", "", "")
            ctx.ui.notify(f"Todo update failed, the list may be out of date: {printable(why)}", "warning")
            return
        plan = plan_in(event.result.details)
        if plan is not None:
            self._show_panel(plan, ctx)

    def add_context(
        self, _event: extension.BeforeAgentStart, _ctx: ExtensionContext
    ) -> extension.AgentStartReply | None:
        """Reset the count of reminders, and report the plan to the model if it was changed elsewhere."""
        self._reminder_count = 0
        self._shown = self.conversation_plan.plan
        if not self.conversation_plan.model_is_behind():
            return None
        plan = self.conversation_plan.mark_seen()
        self.api.append_entry(SNAPSHOT, {"phases": phases_out(plan)})
        return extension.AgentStartReply(CustomMessage(EDIT_TYPE, edit_reminder(plan)))

    def nudge(self, event: extension.BeforeSettle, ctx: ExtensionContext) -> extension.KeepGoing | None:
        """Remind an agent that stops with open tasks, a limited number of times per prompt."""
        plan = self.conversation_plan.plan
        remaining = [task for _, task in open_tasks(plan)]
        if not remaining:
            self._reminder_count = 0
            return None
        disabled = not self.settings.reminders or self.conversation_plan.session.state.directive is not Directive.GO
        limit = 0 if disabled else self.settings.reminders_max
        last = last_answer(event.messages)
        is_broken_off = event.stop_reason in {StopReason.ABORTED, StopReason.ERROR}
        if not limit or is_broken_off or (last is not None and tool_calls(last)):
            return None
        if self._reminder_count >= limit:
            self.conversation_plan.session.let_go(Bound.TOTAL, limit)
            ctx.ui.notify(f"Not continued: {describe_bound(Bound.TOTAL, limit)}. {GO_ON}", "warning")
            return None
        self._reminder_count += 1
        todos = [{"content": task.text, "status": task.status.value} for task in remaining]
        self.api.publish("todo_reminder", todos=todos, attempt=self._reminder_count, maxAttempts=limit)
        content = (TextBlock(reminder(plan, self._reminder_count, limit)),)
        return extension.KeepGoing([DeveloperMessage(content, attribution="agent")])

    def changed(self, ctx: ExtensionContext) -> None:
        self.clearing.plan_changed(ctx)
        self._show_panel(self.conversation_plan.plan, ctx)

    def tasks_cleared(self, tasks: Sequence[TaskInPhase], ctx: ExtensionContext) -> None:
        for entry in tasks:
            self.api.publish("todo_auto_clear", phase=entry.phase, content=entry.task.text)
        self._show_panel(self.conversation_plan.plan, ctx)

    def _show_panel(self, plan: Plan, ctx: ExtensionContext) -> None:
        if ctx.has_ui and self.settings.enabled:
            ctx.ui.set_widget(PANEL, phase_tree.panel(plan), "aboveEditor")


def render_result(
    result: ToolResult, options: RenderOptions, _theme: Theme = THEME, context: RenderContext | None = None
) -> Component | None:
    if options.is_partial:
        return None
    plan, args = plan_in(result.details) or Plan(), context and context.args
    if options.is_error:
        return Text(phase_tree.failure(plan, first_text(result), args, expanded=options.expanded))
    told = [told_spans(line) for line in result.told]
    text = first_text(result)
    tree = phase_tree.result(plan, text, args, expanded=options.expanded, refused=result.failed, told=told)
    return with_refusals(Text(tree), result)


def _phases(details: object) -> object:
    return details.get("phases") if isinstance(details, Mapping) else None


def plan_in(details: object) -> Plan | None:
    try:
        return phases_in(_phases(details)) if isinstance(details, Mapping) else None
    except ValueError:
        return None


def from_settings(
    dialect: Dialect, open_session: OpenSession, settings: Configuration
) -> Callable[[ExtensionAPI], None]:
    limit = {} if settings.max_nudges is None else {"todo.reminders.max": settings.max_nudges}
    return phases(open_session, PhasedSettings.from_mapping(dict(settings.phases) | limit), dialect=dialect)


EXTENSION = from_settings
