"""Subagents: agents that the model of a host starts, each in a conversation and a host of its own.

Theory of operation. A call of the `task` tool opens a host for the subagent, sends it the prompt and waits until it
has ended: with the tool `yield`, or with an answer. Its parent learns three things while it works: that it begins a
turn (`SubagentTurn`), which tools it is about to call (`ToolCallRequest`), so that extensions which block calls block
those of subagents, too, and what its answers cost (`SUBAGENT_USAGE`). The tools are the parent's own, under the same
permissions.

A subagent always ends. The abort of the parent's turn aborts it, and a turn that it begins afterwards is aborted at its
start. A failure of its model is a failed result. Its requests count towards the bounds of the parent. Only so many run
at the same time; the others wait for one to end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from tildone.app.opening import open_agents, open_session
from tildone.app.settings import Settings
from tildone.base import StoreError, TildoneError, replace, value
from tildone.base.ids import now
from tildone.log.session import Session
from tildone.log.store import Store
from tildone.plan.dialects import BY_HAND
from tildone.plan.model import Task
from tildone.plan.text.amounts import format_count
from tildone.plan.text.safe import MAX_FRAME, MAX_START, bounded_list, clipped, printable, shown_text, single_line
from tildone.plan.text.styles import clip_text
from tildone.run import events, extension
from tildone.run.codec import encode_usage, reported_usage
from tildone.run.extensions.skeleton import request_bounds
from tildone.run.host import Extension, ExtensionAPI, ExtensionContext, Host
from tildone.run.kit.components import Component, ToolCallHeader
from tildone.run.kit.definition import (
    AbortSignal,
    OnUpdate,
    ToolDefinition,
    ToolResult,
    error_result,
    keep_head,
    send_update,
    text_result,
)
from tildone.run.messages import (
    SUBAGENT_PREAMBLE,
    AssistantMessage,
    JsonObject,
    StopReason,
    ToolResultMessage,
    Usage,
    add_usage,
    last_answer,
    text_of,
)
from tildone.run.tools.builtin import argument
from tildone.run.transcript import Conversations, Transcript
from tildone.stores.agents import AgentId, AgentRegistry
from tildone.stores.assignment import end, register, subagent_id, subagent_of, subagent_session

MAX_NAME = 40


class SubagentUI(extension.OtherUI):
    """The UI of the parent, for one subagent. The status bar and the panels are the parent's."""

    def __init__(self, ui: extension.UI, name: str) -> None:
        super().__init__(ui, f"Subagent “{clip_text(printable(single_line(name)), MAX_NAME)}”: ")

    def set_status(self, key: str, text: str | None) -> None: ...

    def set_widget(self, key: str, lines: Sequence[str] | None, placement: str | None = None) -> None: ...


TASK = "task"
"""The name of the tool that starts a subagent."""

SUBAGENT_USAGE = "subagent_usage"
"""The type of the event that reports the `usage` of one answer of a subagent."""

MAX_CONCURRENT = 4

ABORTED = "Error: aborted"
STOPPED = "Error: the subagent was stopped before it had finished"
NO_ANSWER = "The subagent ended without an answer."


@value
class SubagentTask:
    """What a subagent is to do: a short name for people, and the prompt."""

    description: str
    prompt: str


@value
class OpenedSubagent:
    """The host of a subagent. `ended` records its end, and returns its list as text; empty if it has none."""

    host: Host
    ended: Callable[[], str]


OpenSubagent = Callable[[SubagentTask], OpenedSubagent]


def subagent_host(parent: Host, transcript: Transcript, name: str) -> Host:
    """Return a host for a subagent: the parent's model, its active tools that are inherited, and its permissions."""
    host = Host(
        model=parent.model,
        transcript=transcript,
        cwd=parent.cwd,
        now=parent.now,
        ui=SubagentUI(parent.ui, name),
        mode=parent.mode,
        tools=parent.active_tools(),
        retry=parent.retry,
        preamble=SUBAGENT_PREAMBLE,
        after=parent.after,
        include_yield=True,
        permission_scope=parent.permission_scope,
        # Its calls end before that of the parent is cancelled, so that the parent gets its result.
        abort_grace=parent.abort_grace / 4,
    )
    host.inactive = set(parent.inactive)
    return host


class Subagents:
    def __init__(self, parent: Host, open_subagent: OpenSubagent, max_concurrent: int = MAX_CONCURRENT) -> None:
        self._parent = parent
        self._open = open_subagent
        self._slots = asyncio.Semaphore(max_concurrent)

    async def run(
        self, task: SubagentTask, call_id: str, signal: AbortSignal | None, on_update: OnUpdate | None
    ) -> ToolResult:
        """Let a subagent do the task, and return its result for the model of the parent."""
        signal = signal or AbortSignal()
        async with self._slots:
            signal.raise_if_aborted()
            opened = self._open(task)
            work = _Work(self._parent, opened.host, call_id, signal, on_update)
            try:
                await work.complete(task.prompt)
            finally:
                # A countdown to another turn has no effect any more.
                await opened.host.interrupt()
                await opened.host.close()
                listed = opened.ended()
            return work.result(task, listed)


class _Work:
    """The work of one subagent: what it reports to its parent, and its result."""

    def __init__(self, parent: Host, host: Host, call_id: str, signal: AbortSignal, on_update: OnUpdate | None) -> None:
        self._parent = parent
        self._host = host
        self._call_id = call_id
        self._signal = signal
        self._on_update = on_update
        self._requests = self._tool_calls = 0
        self._usage = Usage()
        host.listen(self._follow)
        host.load([(TASK, self._register)])

    async def complete(self, prompt: str) -> None:
        host = self._host
        unsubscribe = self._signal.on_abort(lambda: host.request_abort(self._signal.reason or ABORTED))
        try:
            await host.start()
            host.send_user(prompt)
            await host.settled()
            while host.pending and host.yielded is None:
                await host.pending.released()
                await host.settled()
        finally:
            unsubscribe()

    def result(self, task: SubagentTask, listed: str) -> ToolResult:
        """Return what the subagent has reported, or why it has failed."""
        outcome = self._outcome()
        kept = keep_head(outcome.text)
        parts = [kept.content]
        if kept.truncated:
            parts.append(f"(cut: {kept.output_lines} of {format_count(kept.total_lines, 'line')})")
        if listed:
            parts.append(f"The subagent's list:\n{listed}")
        details = {
            "description": task.description,
            "conversation": self._host.transcript.id,
            "requests": self._requests,
            "toolCalls": self._tool_calls,
            "usage": encode_usage(self._usage),
        }
        return replace(text_result("\n\n".join(parts), details), is_error=outcome.is_error)

    def _outcome(self) -> ToolResult:
        if self._signal.aborted:
            return error_result(ABORTED)
        if self._host.yielded is not None:
            return self._host.yielded
        answer = last_answer(self._host.transcript.messages())
        if answer is None or answer.stop_reason == StopReason.ABORTED:
            return error_result(STOPPED)
        if answer.failed:
            return error_result(f"Error: the subagent's model failed: {answer.error_message}")
        return text_result(text_of(answer).strip() or NO_ANSWER)

    def _register(self, api: ExtensionAPI) -> None:
        api.on(events.TurnStart, self._begin_turn)
        api.on(extension.ToolCallRequest, self._ask_parent)

    async def _begin_turn(self, _event: events.TurnStart, ctx: ExtensionContext) -> None:
        self._requests += 1
        await self._parent.dispatcher.emit(extension.SubagentTurn(self._call_id))
        if self._signal.aborted:
            ctx.abort()

    async def _ask_parent(self, event: extension.ToolCallRequest, _ctx: ExtensionContext) -> extension.Reply | None:
        """Return the reply of the parent's extensions to a call: a refusal, or else the last one."""
        replies = await self._parent.dispatcher.emit(event)
        refusals = [reply for reply in replies if isinstance(reply, extension.BlockCall)]
        return next(iter([*refusals, *reversed(replies)]), None)

    def _follow(self, event: events.PublicEvent) -> None:
        match event:
            case events.MessageEnd(AssistantMessage(usage=usage)) if usage is not None:
                self._usage = add_usage(self._usage, usage)
                report = {"toolCallId": self._call_id, "usage": encode_usage(usage)}
                self._parent.publish(events.CustomEvent(SUBAGENT_USAGE, report))
            case events.ToolExecutionStart():
                self._tool_calls += 1
                send_update(self._on_update, text_result(f"Task: {format_count(self._tool_calls, 'tool call')}"))
            case events.ExtensionError():
                self._parent.publish(event)
            case _:
                pass


def usage_of_subagents(result: ToolResultMessage) -> Usage | None:
    """Return the usage of the subagent that gave this result; None if it is the result of another tool."""
    return reported_usage(result.details) if result.tool_name == TASK else None


PlanExtension = Callable[[Settings, Host, AgentId], Extension]
"""Returns the extension of the parent's dialect, for the session that the settings name, a host and its agent."""


class SubagentOpener:
    """Opens the subagents of one host, whose agent is `parent_id()` and whose plan `settings()` names.

    `opened` is called with the host of each.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        store: Store,
        conversations: Conversations,
        parent: Host,
        parent_id: Callable[[], AgentId],
        plan_extension: PlanExtension,
    ) -> None:
        self._settings = settings
        self._store = store
        self._conversations = conversations
        self._parent = parent
        self._parent_id = parent_id
        self._plan_extension = plan_extension
        self.opened: Callable[[Host], None] | None = None

    def open(self, task: SubagentTask) -> OpenedSubagent:
        """Return the host of a subagent, which continues without a countdown while its own list has open tasks."""
        transcript = self._conversations.new_of_subagent(self._parent.transcript)
        host = subagent_host(self._parent, transcript, task.description)
        above = self._settings()
        settings = replace(above, session=subagent_session(above.session, transcript.id), countdown=0)
        session = open_session(settings, BY_HAND, self._store)
        agents = open_agents(above) if self._store.durable else None
        record = _Record(agents, session, self._parent_id(), transcript.id, task.description)
        plan = self._plan_extension(settings, host, record.id)
        bounds = request_bounds(lambda _conversation: session)
        failures = host.load([("plan", plan), ("request bounds", bounds), ("record", record.follow)])
        if failures:
            raise TildoneError(f"the {failures[0].extension} extension cannot be loaded: {failures[0].error}")
        if self.opened:
            self.opened(host)
        return OpenedSubagent(host, lambda: record.end(yielded=host.yielded is not None))


class _Record:
    """The record of a subagent, which appears with its list."""

    def __init__(
        self, agents: AgentRegistry | None, session: Session, parent: AgentId, own: str, description: str
    ) -> None:
        self.id = subagent_id(parent, own)
        self._agents = agents
        self._session = session
        self._parent = parent
        self._own = own
        self._description = description
        self._is_registered = False

    def follow(self, api: ExtensionAPI) -> None:
        api.on(events.ToolExecutionEnd, lambda *_: self._register())

    def end(self, *, yielded: bool) -> str:
        """Record the end, and return the list as text."""
        if self._agents is not None and self._is_registered:
            # Failure is harmless: the list is shown as that of a subagent at work until the run ends.
            with suppress(StoreError):
                end(self._agents, self.id, now())
        if yielded:
            # It has ended: a nudge did not reach it.
            self._session.retract_nudge()
        tasks = self._session.plan.tasks
        return "\n".join(bounded_list([(task, _line(task)) for task in tasks], MAX_START - MAX_FRAME))

    def _register(self) -> None:
        """Add the record once there is a list. Without its parent's record nobody could find it."""
        agents = self._agents
        parent = agents.get(self._parent) if agents is not None and not self._is_registered else None
        if agents is None or parent is None or not self._session.plan.tasks:
            return
        # Failure is harmless: the subagent works, but nobody sees its list.
        with suppress(StoreError):
            register(agents, subagent_of(agents, parent, self._own, now()), self._description)
            self._is_registered = True


def _line(task: Task) -> Callable[[int], str]:
    return lambda size: f"- [{task.status.checkbox}] {clipped(shown_text(task.text), size)}"


DESCRIPTION = """\
Let a subagent do a self-contained piece of work, such as a search through many files or a change that can be made \
separately. It knows nothing of this conversation and of your plan: the prompt has to say everything it needs, and \
what it should report. It has the same tools, except this one, and works in the same folder. You read only its report. \
Several calls in one message run at the same time."""

PARAMETERS = {
    "type": "object",
    "properties": {
        "description": {"type": "string", "description": "What the subagent does, in three to five words"},
        "prompt": {"type": "string", "description": "The whole task, and what is to be reported"},
    },
    "required": ["description", "prompt"],
    "additionalProperties": False,
}


def task_tool(subagents: Subagents) -> ToolDefinition:
    """Return the tool for the subagents of one host. Subagents do not inherit it."""

    async def execute(
        call_id: str, params: JsonObject, signal: AbortSignal | None, on_update: OnUpdate | None, _ctx: object
    ) -> ToolResult:
        return await subagents.run(SubagentTask(params["description"], params["prompt"]), call_id, signal, on_update)

    return ToolDefinition(
        name=TASK,
        label="Task",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Let a subagent do a self-contained piece of work",
        render_call=_call,
        inherit=False,
    )


def _call(args: object) -> Component:
    return ToolCallHeader("Task", main_arg=argument(args, "description"))
